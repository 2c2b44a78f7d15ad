"""What is shared out or merged is the same with a shuffle and without one."""

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to

from beam_pipeline.running.gathering import Balance, Merge
from beam_pipeline.running.local_runner import local_runner

RUNNERS = {"this machine's": local_runner(), "another": "BundleBasedDirectRunner"}


def num_shuffles(pipeline):
    transforms = pipeline.to_runner_api().components.transforms.values()
    return sum(each.spec.urn == "beam:transform:group_by_key:v1" for each in transforms)


@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([[]], 0, id="none"),
        pytest.param([[1, 2, 3]], 6, id="one collection"),
        pytest.param([[1, 2], [], [4, 8]], 15, id="several collections"),
    ],
)
def test_values_are_merged_without_a_shuffle(runner, values, expected):
    with beam.Pipeline(runner, PipelineOptions([])) as pipeline:
        several = [
            pipeline | f"Values{number}" >> beam.Create(some, reshuffle=False)
            for number, some in enumerate(values)
        ]
        merged = (tuple(several) if several[1:] else several[0]) | Merge(sum)
        assert num_shuffles(pipeline) == 0
        assert_that(merged, equal_to([expected]))


@pytest.mark.parametrize(("runner", "shuffles"), [*zip(RUNNERS.values(), (0, 1), strict=True)])
def test_values_are_shared_out_as_they_are(runner, shuffles):
    with beam.Pipeline(runner, PipelineOptions([])) as pipeline:
        values = pipeline | beam.Create([1, 2, 3], reshuffle=False) | Balance()
        assert num_shuffles(pipeline) == shuffles
        assert_that(values, equal_to([1, 2, 3]))
