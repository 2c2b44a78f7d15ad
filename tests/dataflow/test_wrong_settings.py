"""Settings that would fail on Dataflow after minutes are reported in seconds, with remedy."""

import json
import time

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.running.remote.launch import cluster_of
from tfrecord_dataset.store import clients

IN_TIME_S = 10


@pytest.fixture
def prepare(service, cloud):
    """prepare(options={}, output=…, inputs=…) checks a job with otherwise valid settings."""

    def check(changed=None, output=f"{cloud}/data", inputs=(f"{cloud}/pets",)):
        options = {
            "--runner": "DataflowRunner",
            "--project": "my-project",
            "--region": "us-central1",
            "--temp_location": f"{cloud}/temporary",
            "--dataflow_endpoint": service.endpoint,
            "--no_auth": "",
            **(changed or {}),
        }
        given = [f"{name}={value}" if value else name for name, value in options.items()]
        absent = [name for name, value in (changed or {}).items() if value is None]
        beams = PipelineOptions([each for each in given if each not in absent])
        start = time.monotonic()
        try:
            cluster_of(beams).prepare(output, inputs)
        finally:
            assert time.monotonic() - start < IN_TIME_S
        return beams

    return check


def test_right_settings(prepare):
    assert prepare().get_all_options()["setup_file"].endswith("/setup.py")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--project": None}, "Missing required option: project"),
        ({"--temp_location": None}, "Missing GCS path option: temp_location"),
        ({"--temp_location": "gs://no-such-bucket/x"}, "there is no bucket gs://no-such-bucket"),
        ({"--num_workers": "4", "--max_num_workers": "2"}, r"num_workers \(4\) cannot exceed"),
    ],
)
def test_a_wrong_setting(prepare, monkeypatch, changed, message):
    monkeypatch.delenv("CLOUDSDK_COMPUTE_REGION", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")  # no gcloud that could supply a region

    with pytest.raises(ConfigError, match=message):
        prepare(changed)


def test_nothing_answers(prepare):
    with pytest.raises(UnavailableError, match="nothing answers at --dataflow_endpoint="):
        prepare({"--dataflow_endpoint": "http://localhost:1"})


def test_a_region_of_the_environment(prepare, monkeypatch):
    monkeypatch.setenv("CLOUDSDK_COMPUTE_REGION", "europe-west4")
    assert prepare({"--region": None}).get_all_options()["region"] == "europe-west4"


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"output": "/data"}, "--output /data is on this machine, which Dataflow's workers do not"),
        ({"inputs": ["/pets"]}, "the input /pets is on this machine"),
        ({"output": "gs://no-such-bucket/data"}, "there is no bucket gs://no-such-bucket"),
    ],
)
def test_a_place_that_workers_do_not_see(prepare, places, message):
    with pytest.raises(ConfigError, match=message):
        prepare(**places)


@pytest.mark.parametrize("key", [None, "", "{}", "missing"])
def test_no_credentials(prepare, monkeypatch, tmp_path, key):
    """No credentials at all, or an invalid key file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLOUDSDK_CONFIG", raising=False)
    clients.is_in_a_cloud.cache_clear()
    message = "credentials for Google Cloud.* run gcloud auth application-default login"
    if key is not None:
        path = tmp_path / "key.json"
        if key != "missing":
            path.write_text(key)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
        message = f"the credentials for Google Cloud cannot be used: .*{path}"

    with pytest.raises(ConfigError, match=message):
        prepare({"--no_auth": None})


def test_a_service_that_refuses(prepare, service, monkeypatch):
    monkeypatch.setattr(service, "refusal", "Dataflow API has not been used in project my-project")

    with pytest.raises(
        ConfigError, match=r"403 Dataflow API has not been used.*enable the Dataflow"
    ):
        prepare()


def test_the_command_ends_with_2_before_anything_is_started(build, service, cloud, tmp_path):
    before = dict(service.objects), len(service.jobs)
    (tmp_path / "words.jsonl").write_text(json.dumps({"word": "a"}))

    done = build(tmp_path / "words.jsonl", "--project=My_Project")

    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "error: Dataflow would not take these options: Invalid Project ID" in done.stderr
    assert (dict(service.objects), len(service.jobs)) == before
