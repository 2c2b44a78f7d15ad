"""Work of a build per record: packings, shuffles, reads.

docs/dev/design.md promises these counts; a change that adds work fails here.
"""

import math
from collections import Counter
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from cases.inputs import make

from beam_pipeline import batch
from beam_pipeline.config import BuildConfig
from beam_pipeline.files.local import LOCAL
from beam_pipeline.pipeline import WriteDataset, build
from beam_pipeline.running import batches
from beam_pipeline.running.gathering import yields_buckets
from beam_pipeline.running.runner import Job
from beam_pipeline.sources.inputs import detect, source_of
from beam_pipeline.sources.tables import parts
from beam_pipeline.write import encoding
from beam_pipeline.write.write_shards import ShardSink

CASES = Path(__file__).parents[1] / "cases"
NUM_RECORDS = 600
NUM_SHARDS = 3


@pytest.fixture(scope="module")
def images(tmp_path_factory, write_image):
    folder = tmp_path_factory.mktemp("images")
    for number in range(NUM_RECORDS):
        write_image(folder / f"class_{number % 2}/{number}.png", seed=number, size=(4, 3))
    return folder


@pytest.fixture
def count(monkeypatch):
    """Count the calls of functions, by name."""
    calls = Counter()

    def counted(module, name):
        function = getattr(module, name)

        def call(*arguments, **options):
            calls[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    for module, name in (
        (batch, "value_columns"),
        (batch, "values_by_feature"),
        (encoding, "encode_columns"),
        (encoding, "framed"),
        (ShardSink, "write_encoded_record"),
        (batches, "pack"),
        (LOCAL, "read"),
    ):
        counted(module, name)
    return calls


def config(images, output):
    return BuildConfig(input=str(images), output=str(output), name="t", num_shards=NUM_SHARDS)


@pytest.mark.slow
def test_a_record_is_read_so_often_and_values_are_packed_by_column(images, tmp_path, count):
    build(config(images, tmp_path))

    assert count["framed"] == NUM_RECORDS
    assert count["encode_columns"] == count["write_encoded_record"] == NUM_SHARDS  # one chunk each
    num_batches = math.ceil(NUM_RECORDS / batches.MAX_ELEMENTS)
    assert count["value_columns"] == 2 * num_batches  # to inspect, to encode
    # Twice the first batch, and the first record of each shard.
    assert count["values_by_feature"] == (num_batches + 1) + 2 * NUM_SHARDS
    assert count["read"] - 2 * NUM_RECORDS < 20  # inspected, written; a few others
    assert count["pack"] == num_batches


def shuffles_and_stages(pipeline):
    """Return the names of a pipeline's shuffles, and the number of its fused stages."""
    job = pipeline.to_runner_api()
    urn = common_urns.primitives.GROUP_BY_KEY.urn
    transforms = job.components.transforms.values()
    _, stages = FnApiRunner().create_stages(job)
    return [each.unique_name for each in transforms if each.spec.urn == urn], len([*stages])


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("found/class-folders", (4, 10)),
        ("csv/table", (5, 13)),
        ("csv/table, in parts", (6, 14)),
        ("zoo/coco-2017", (6, 13)),
        ("voc/devkit", (6, 15)),
    ],
)
def test_shuffles_and_stages_of_a_whole_build(tmp_path, monkeypatch, case, expected):
    """They make up the fixed time of a small build on Flink."""
    case, _, in_parts = case.partition(", ")
    monkeypatch.setattr(parts, "LEAST_BYTES", 1 if in_parts else parts.LEAST_BYTES)
    make(CASES / case / "input", tmp_path / "in")
    settings = config(tmp_path / "in", tmp_path / "out")
    claim = detect(settings)
    pipeline = beam.Pipeline("BundleBasedDirectRunner", options=PipelineOptions([]))
    source = source_of(settings, claim, str(tmp_path))
    (
        pipeline
        | "Read" >> source
        | "WriteDataset" >> WriteDataset(settings, Job(), yields_buckets(source))
    )
    grouped, num_stages = shuffles_and_stages(pipeline)
    assert (len(grouped), num_stages) == expected
