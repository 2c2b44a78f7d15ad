"""Problems detected before a remote job starts, without a cluster, each with its remedy."""

import re
import socket
import sys
import time

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, SetupOptions

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.running.remote import dataflow, preflight
from beam_pipeline.running.remote.launch import cluster_of


@pytest.fixture
def nobody():
    """A local address on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port = listener.getsockname()[1]
    return f"localhost:{port}"


def prepared(*options):
    beams = PipelineOptions(list(options))
    start = time.monotonic()
    try:
        cluster_of(beams).prepare("/data", [])
    finally:
        assert time.monotonic() - start < 10
    return beams


@pytest.mark.parametrize(
    ("runner", "option"),
    [("Flink", "flink_master"), ("Flink", "job_endpoint"), ("Portable", "job_endpoint")],
)
def test_a_dead_endpoint_is_named(nobody, runner, option):
    """It may answer later: exit code 1, after which a Kubernetes Job retries."""
    message = f"nothing answers at --{option}={nobody} .*start the (cluster|job server)"
    with pytest.raises(UnavailableError, match=message) as error:
        prepared(f"--runner={runner}Runner", f"--{option}={nobody}")
    assert error.value.exit_code == 1


@pytest.mark.parametrize("address", ["localhost", "localhost:http", "flink://"])
def test_no_address(address):
    with pytest.raises(ConfigError, match="is not an address such as localhost:8081"):
        preflight.check_reachable(address, f"--flink_master={address}", "start it")


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        (socket.gethostname(), True),
        ("192.0.2.7", False),  # reserved for documentation
        ("no-such-host.invalid", False),
    ],
)
def test_this_machine(host, here):
    assert preflight.is_this_machine(host) == here


def test_an_output_that_no_worker_sees():
    runner = "Flink at http://cluster:8081"
    preflight.check_paths("/not there/yet", [], True, runner)
    message = (
        "--output /not there/yet is on this machine's disk, which the workers of Flink at "
        "http://cluster:8081 do not see; use a bucket (gs://, s3://), or a folder that all "
        "machines share"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        preflight.check_paths("/not there/yet", [], False, runner)


def test_a_cluster_of_spark_is_named_by_its_master():
    beams = PipelineOptions(
        [
            *("--runner=SparkRunner", "--spark_master_url=spark://far:7077"),
            *("--environment_type=PROCESS", f"--job_server_java_launcher={sys.executable}"),
        ]
    )
    message = "which the workers of spark://far:7077 do not see; use a bucket"
    with pytest.raises(ConfigError, match=message):
        cluster_of(beams).prepare("/not there/yet", [])


def test_a_bucket_that_is_not_there(bucket):
    url, _ = bucket
    preflight.check_store(f"{url}/out", "--output")
    with pytest.raises(ConfigError, match="no-such-bucket-to-check"):
        preflight.check_store("s3://no-such-bucket-to-check/out", "--output")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--runner=PortableRunner"], "--runner=PortableRunner needs --job_endpoint=HOST:PORT"),
        (["--runner=FlinkRunner"], "--runner=FlinkRunner needs --flink_master=HOST:8081"),
        (["--runner=SparkRunner", "--job_endpoint=x"], "--job_endpoint=x is not an address"),
        (
            ["--runner=SparkRunner", "--job_server_java_launcher=/no/java"],
            "needs Java, and there is no '/no/java'",
        ),
        (
            ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=DOCKER"],
            "Beam's own image for workers does not have this package",
        ),
        (
            ["--runner=DataflowRunner", "--project=my-project"],
            r"DataflowRunner needs Google's libraries.*pip install -e '\.\[gcp\]' in the clone",
        ),
    ],
)
def test_what_is_missing(options, message):
    with pytest.raises(ConfigError, match=message):
        prepared(*options)


def test_workers_are_here_where_the_job_is():
    beams = prepared("--runner=PortableRunner", "--job_endpoint=embed")

    assert beams.view_as(PortableOptions).environment_type == "LOOPBACK"
    cluster = cluster_of(beams)
    assert cluster.find("a") is None


def staged(*options):
    beams = PipelineOptions(["--runner=DataflowRunner", *options])
    dataflow.stage_package(beams)
    return beams.view_as(SetupOptions)


def test_a_clone_brings_its_setup_file():
    assert staged().setup_file.endswith("/setup.py")
    assert staged().requirements_file is None


def test_without_a_clone_the_user_says_how(monkeypatch):
    monkeypatch.setattr(dataflow, "__file__", "/site-packages/beam_pipeline/running/remote/x.py")
    with pytest.raises(ConfigError, match=r"--setup_file=CLONE/setup.py, a --requirements_file"):
        staged()


@pytest.mark.parametrize(
    "option",
    [
        "--setup_file=/mine/setup.py",
        "--requirements_file=/mine/requirements.txt",
        "--extra_package=/mine/beam_tfrecords.tar.gz",
        "--sdk_container_image=registry/image:1",
    ],
)
def test_the_users_own_way_stays(option):
    name = option.partition("=")[0]
    setup = staged(option)

    others = {"--setup_file": setup.setup_file, "--requirements_file": setup.requirements_file}
    assert {value for other, value in others.items() if other != name} == {None}
