"""Builds with `--runner=DataflowRunner`: the submitted job and the output of its workers."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOOD = ROOT / "examples/data/blood"
IMAGE = "europe-docker.pkg.dev/project/images/pipeline:1"


@pytest.fixture
def table(tmp_path):
    """A table of 20 rows plus a row with a cell too many."""
    path = tmp_path / "words" / "words.csv"
    path.parent.mkdir()
    rows = "".join(f"{number},word{number}\n" for number in range(20))
    path.write_text(f"x,word\n{rows}20,word20,more\n")
    return path


def staged(job):
    return {package["name"] for package in job.workers["packages"]}


def test_images_with_boxes(build, service, cloud, local_digests, remote_digests):
    """The job requests the options' resources; its workers write the local build's bytes."""
    url = service.put_folder(f"{cloud}/blood", BLOOD)

    done = build(
        url,
        *("--num-shards=3", "--setup_file=./setup.py", f"--sdk_container_image={IMAGE}"),
        *("--machine_type=n2-standard-8", "--num_workers=4", "--max_num_workers=40"),
        "--autoscaling_algorithm=THROUGHPUT_BASED",
    )

    assert done.returncode == 0, done.stderr
    directory = f"{cloud}/data/blood/1.0.0"
    assert done.stdout == f"{directory}\n"
    job = service.jobs[-1]
    assert f"https://console.cloud.google.com/dataflow/jobs/us-central1/{job.id}" in done.stderr
    assert (job.project, job.location, job.name[:6]) == ("test-project", "us-central1", "blood-")
    assert "workflow.tar.gz" in staged(job)
    (image,) = job.workers["sdkHarnessContainerImages"]
    assert image["containerImage"] == IMAGE
    assert (job.workers["machineType"], job.workers["numWorkers"]) == ("n2-standard-8", 4)
    # 2 means throughput-based. The client writes the enumeration's number or its name.
    scaling = job.workers["autoscalingSettings"]
    assert scaling["algorithm"] in (2, "AUTOSCALING_ALGORITHM_BASIC")
    assert scaling["maxNumWorkers"] == 40
    assert remote_digests(directory) == local_digests(BLOOD, num_shards=3)
    assert not [key for key in service.keys(f"{cloud}/data") if "/." in key]


@pytest.mark.nightly
def test_a_table_with_a_reject(build, service, cloud, table, local_digests, remote_digests):
    """The package is found without --setup_file; one bad row fails the build or is left out."""
    url = f"{service.put_folder(f'{cloud}/words', table.parent)}/words.csv"

    refused = build(url)
    service.wait(service.jobs[-1])  # it is cancelled once its problem is known
    built = build(url, "--max-bad-fraction=0.1")

    assert refused.returncode == 3, refused.stderr
    assert "1 of 21 records invalid (limit: 0)" in refused.stderr
    rejects = f"{cloud}/data/words/1.0.0/failed-rejects.jsonl"
    assert f"the rejects are listed in {rejects}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "workflow.tar.gz" in staged(service.jobs[-1])
    assert (built.returncode, built.stdout) == (0, f"{cloud}/data/words/1.0.0\n"), built.stderr
    expected = local_digests(table, max_bad_fraction=0.1)
    assert remote_digests(f"{cloud}/data/words/1.0.0") == expected
