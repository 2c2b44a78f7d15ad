"""Fixtures that several test folders share."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def run_transform(tmp_path: Path) -> Callable[[Any], list[Any]]:
    """Runs a root PTransform on the local runner; returns what it yields, in no order."""
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    from beam_pipeline.runner import choose_runner

    def run(transform: Any) -> list[Any]:
        result = tmp_path / "run_transform.pickle"
        options = PipelineOptions([])
        with beam.Pipeline(runner=choose_runner(options), options=options) as pipeline:
            (
                pipeline
                | transform
                | "Collect" >> beam.combiners.ToList()
                | "Save" >> beam.Map(lambda items: result.write_bytes(pickle.dumps(items)))
            )
        items: list[Any] = pickle.loads(result.read_bytes())
        return items

    return run
