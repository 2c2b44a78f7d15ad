"""What would fail on the cluster is refused before a job starts, in seconds, with the remedy."""

import sys
import time

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from flink_cluster import free_port

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.running.remote.clusters import cluster_of


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
            "/nowhere/server.jar does not exist; leave it out and run `make flink-jar FLINK=1.19`",
            id="jar",
        ),
        pytest.param(
            ["--job_server_java_launcher=no-java"],
            "needs Java, and there is no 'no-java'; install Java 17",
            id="java",
        ),
    ],
)
def test_refused_in_seconds(cluster, tmp_path, options, message):
    options = ["--runner=FlinkRunner", f"--flink_master={cluster.address}", *options]
    started = time.monotonic()
    with pytest.raises(ConfigError) as error:
        cluster_of(PipelineOptions(options)).prepare(str(tmp_path), [])
    assert message in str(error.value)
    assert time.monotonic() - started < 10


def test_a_package_that_is_not_installed(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/bin/python")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    options = PipelineOptions(["--runner=FlinkRunner", f"--flink_master={cluster.address}"])
    with pytest.raises(ConfigError, match="which /nowhere/bin/python does not have; install"):
        cluster_of(options).prepare(str(tmp_path), [])


def test_a_bucket_that_is_not_there(cluster, bucket):
    options = PipelineOptions(["--runner=FlinkRunner", f"--flink_master={cluster.address}"])
    with pytest.raises(ConfigError, match="no-such-bucket"):
        cluster_of(options).prepare("s3://no-such-bucket/out", [])


def test_what_the_cluster_says_is_filled_in(cluster, tmp_path):
    options = PipelineOptions(["--runner=FlinkRunner", f"--flink_master=http://{cluster.address}/"])
    cluster_of(options).prepare(str(tmp_path), [])
    chosen = options.get_all_options()
    assert chosen["flink_version"] == "1.19"
    assert chosen["parallelism"] == 4
    assert chosen["environment_type"] == "PROCESS"
    assert "beam-tfrecords-worker" in chosen["environment_config"]
    assert chosen["environment_cache_millis"] > 0
    assert chosen["flink_job_server_jar"].endswith("flink-job-server-1.19.jar")


def test_another_service_is_not_a_cluster(cluster, bucket, tmp_path):
    _, store = bucket
    address = store.environment()["AWS_ENDPOINT_URL"]
    options = PipelineOptions(["--runner=FlinkRunner", f"--flink_master={address}"])
    with pytest.raises(ConfigError, match="is not the REST interface of Flink"):
        cluster_of(options).prepare(str(tmp_path), [])


def test_nobody_answers(tmp_path):
    address = f"localhost:{free_port()}"
    options = PipelineOptions(["--runner=FlinkRunner", f"--flink_master={address}"])
    with pytest.raises(UnavailableError, match="nothing answers at --flink_master"):
        cluster_of(options).prepare(str(tmp_path), [])
