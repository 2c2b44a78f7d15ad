"""Beam's runners with a job service: errors name missing parts and the remedy."""

import time

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote.clusters import JobState, cluster_of


def prepared(*options, output="/data", inputs=()):
    beams = PipelineOptions(list(options))
    start = time.monotonic()
    try:
        cluster_of(beams).prepare(output, inputs)
    finally:
        assert time.monotonic() - start < 10
    return beams


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--runner=PortableRunner"], "--runner=PortableRunner needs --job_endpoint=HOST:PORT"),
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
    assert (cluster.state("a"), cluster.cancel("a")) == (JobState.UNKNOWN, False)
