"""Settings that would fail on the cluster are refused in seconds, with the remedy."""

import sys
import time
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote.launch import cluster_of


def prepare(address, output, *options):
    """Checks a job; returns its options."""
    chosen = PipelineOptions(["--runner=FlinkRunner", f"--flink_master={address}", *options])
    cluster_of(chosen).prepare(str(output), [])
    return chosen.get_all_options()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            ["--flink_version=1.20"],
            "--flink_version=1.20 does not fit the cluster, which is Flink 1.19.3; leave it out",
            id="version",
        ),
        pytest.param(
            ["--parallelism=64"],
            "has 4 slots, but --parallelism=64 needs as many; start more TaskManagers",
            id="parallelism",
        ),
        pytest.param(
            ["--environment_type=LOOPBACK"],
            "LOOPBACK serves one TaskManager, and there are 2; use PROCESS",
            id="loopback",
        ),
        pytest.param(
            ["--environment_type=DOCKER"],
            "Beam's own image for workers does not have this package; pass",
            id="image",
        ),
        pytest.param(
            ["--flink_job_server_jar=/nowhere/server.jar"],
            "FLINK=1.19`, or pass --flink_job_server_jar",
            id="jar",
        ),
    ],
)
def test_refused_in_seconds(cluster, tmp_path, options, message):
    started = time.monotonic()
    with pytest.raises(ConfigError) as error:
        prepare(cluster.address, tmp_path, *options)
    assert message in str(error.value)
    assert time.monotonic() - started < 10


def test_a_package_that_is_not_installed(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/bin/python")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(ConfigError, match="which /nowhere/bin/python does not have; install"):
        prepare(cluster.address, tmp_path)


def test_what_the_cluster_says_is_filled_in(cluster, tmp_path):
    chosen = prepare(f"http://{cluster.address}/", tmp_path)
    assert chosen["flink_version"] == "1.19"
    assert chosen["parallelism"] == 4
    assert chosen["environment_type"] == "PROCESS"
    assert "beam-tfrecords-worker" in chosen["environment_config"]
    assert chosen["environment_cache_millis"] > 0
    assert chosen["flink_submit_uber_jar"]
    assert Path(chosen["flink_job_server_jar"]).stat().st_size < 1 << 16


def test_workers_in_containers_need_beams_classes_in_the_jar_of_the_job(cluster, tmp_path):
    """They fetch files that these find next to themselves."""
    chosen = prepare(
        cluster.address, tmp_path, "--environment_type=DOCKER", "--environment_config=a"
    )
    assert chosen["flink_job_server_jar"].endswith("flink-job-server-1.19.jar")


def test_another_service_is_not_a_cluster(cluster, bucket, tmp_path):
    _, store = bucket
    with pytest.raises(ConfigError, match="is not the REST interface of Flink"):
        prepare(store.endpoint, tmp_path)
