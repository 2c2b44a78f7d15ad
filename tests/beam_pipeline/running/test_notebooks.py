"""Jobs in a notebook."""

import sys

import apache_beam as beam
import apache_beam.pipeline
from apache_beam.utils import interactive_utils

from beam_pipeline.running.job import as_in_a_program
from beam_pipeline.running.local_runner import local_runner


def test_no_stage_asks_for_the_interactive_runner(monkeypatch):
    for module in (apache_beam.pipeline, interactive_utils):
        monkeypatch.setattr(module, "is_in_ipython", lambda: True)

    with as_in_a_program(), beam.Pipeline(local_runner()) as pipeline:
        pipeline | beam.Create([1])

    assert not [name for name in sys.modules if name.startswith("apache_beam.runners.interactive.")]
    assert interactive_utils.is_in_ipython()
    assert apache_beam.pipeline.is_in_ipython()
