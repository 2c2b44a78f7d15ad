"""A job ends when a worker process of Beam's is killed."""

import os
import signal
import subprocess
import sys

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.running.failures import explained
from beam_pipeline.running.runner import choose_runner

FLAGS = ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_ends_the_job():
    """In a process of its own: workers of Beam import the main module."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended\n", done.stderr


def main():
    options = PipelineOptions(FLAGS)
    with (
        pytest.raises(BeamTFRecordsError, match="a worker process of Beam ended unexpectedly"),
        explained(),
        beam.Pipeline(choose_runner(options), options) as pipeline,
    ):
        pipeline | beam.Create(range(8)) | beam.Reshuffle() | beam.Map(die)
    print("ended")


if __name__ == "__main__":
    main()
