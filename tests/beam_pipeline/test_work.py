"""Work of a build per record: packings, shuffles, reads, messages to processes.

docs/dev/design.md promises these counts; a change that adds work fails here.
"""

import io
import json
import math
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from cases.inputs import make
from tiers import first_in_ci

from beam_pipeline import batch
from beam_pipeline.config import BuildConfig
from beam_pipeline.files.local import LOCAL
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.pipeline import WriteDataset, build
from beam_pipeline.running import batches, parallel
from beam_pipeline.running.gathering import yields_buckets
from beam_pipeline.running.runner import Job, local_runner
from beam_pipeline.sources import paths
from beam_pipeline.sources.inputs import detect, source_of
from beam_pipeline.sources.tables import parts
from beam_pipeline.write import encoding
from beam_pipeline.write import stage as write
from beam_pipeline.write.stage import ShardSink
from tfrecord_dataset.format import declaration, metadata

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


@pytest.mark.slow
def test_messages_to_worker_processes(images, tmp_path, monkeypatch):
    """One per batch to inspect and per chunk to encode, none per record."""
    messages = []
    call = parallel.Ahead.call

    def counted(self, function, item):
        if not isinstance(self._executor, ThreadPoolExecutor):
            messages.append(type(function).__name__)
        return call(self, function, item)

    monkeypatch.setattr(parallel.Ahead, "call", counted)
    processes = parallel.start_processes(2)
    while not processes.ready:
        time.sleep(0.05)
    build(config(images, tmp_path))

    num_batches = math.ceil(NUM_RECORDS / batches.MAX_ELEMENTS)
    assert messages.count("InspectBatch") == num_batches
    # Shards too small to be worth a message are encoded by the process that writes them.
    assert NUM_RECORDS / NUM_SHARDS < write.RECORDS_WITHOUT_PROCESSES
    assert set(messages) == {"InspectBatch"}


def test_work_per_column_of_a_wide_table(tmp_path, monkeypatch, pages):
    """Features are parsed once of what was written, and their statistics pickled twice."""
    number = 300
    calls = Counter()

    def counted(owner, name):
        function = getattr(owner, name)

        def call(*arguments):
            calls[name] += 1
            return function(*arguments)

        monkeypatch.setattr(owner, name, call)

    for owner, name in (
        (declaration, "_feature"),  # of metadata.json
        (metadata, "_value_facts"),  # of statistics.json
        (Observed, "__getstate__"),
        (Observed, "merge"),
    ):
        counted(owner, name)
    rows = [range(number), range(1, number + 1)]
    path = tmp_path / "t.csv"
    header = ",".join(f"c{column}" for column in range(number))
    path.write_text(
        "".join(f"{line}\n" for line in (header, *(",".join(map(str, row)) for row in rows)))
    )
    build(BuildConfig(input=str(path), output=str(tmp_path), name="t"))
    # From Inspect to the plan, and from there to the commit.
    assert calls == {"_feature": number, "_value_facts": number, "__getstate__": 2 * number}


def test_names_are_looked_at_a_few_times_to_tell_a_layout(tmp_path):
    """If no file has a layout's suffix, there are no further lookups (46 before)."""
    names = [f"class_{number % 2}/{number}.jpg" for number in range(300)]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    calls = Counter()

    def count_calls(frame, event, argument):
        if event == "call" and frame.f_code.co_filename == paths.__file__:
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count_calls)
    try:
        assert detect(BuildConfig(input=str(tmp_path))).layout == "folders"
    finally:
        sys.setprofile(None)
    assert calls["suffix"] + calls["media_kind"] <= 8 * len(names)


ALWAYS = {"GroupByContent", "GroupByPosition", "GroupByShard"}


@pytest.mark.parametrize(
    ("local_job", "shuffles", "num_stages"),
    first_in_ci(
        [
            pytest.param(Job(processes=2), ALWAYS, 8, id="here"),
            pytest.param(Job(), ALWAYS | {"Balance"}, 8, id="on a cluster"),
        ]
    ),
)
def test_shuffles_and_stages(tmp_path, local_job, shuffles, num_stages):
    """By content, by key, by shard; each shuffle takes about a second on a cluster."""
    runner = local_runner() if local_job.is_here else None
    pipeline = beam.Pipeline(runner, options=PipelineOptions([]))
    config = BuildConfig(output=str(tmp_path), name="t")
    pipeline | beam.Create([]) | WriteDataset(config, local_job)
    grouped, found = shuffles_and_stages(pipeline)
    names = [re.sub("(/Reshuffle/ReshufflePerKey)?/GroupByKey$", "", each) for each in grouped]
    assert sorted(name.rpartition("/")[2] for name in names) == sorted(shuffles)
    assert found == num_stages


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


@pytest.mark.slow
def test_a_large_json_file_is_read_whole_once(tmp_path, write_image, monkeypatch):
    """To detect a layout takes starts of a file; a file of COCO may have gigabytes."""
    file = tmp_path / "in/instances_train.json"
    numbers = []

    class Reader(io.FileIO):
        def readinto(self, buffer):
            number = super().readinto(buffer)
            numbers.append(number if self.name == str(file) else 0)
            return number

    read = LOCAL.read
    starts = []

    def counted(path, *arguments):
        data = read(path, *arguments)
        starts.append(len(data) if path == str(file) else 0)
        return data

    monkeypatch.setattr(LOCAL, "read", counted)
    monkeypatch.setattr(LOCAL, "open_reader", Reader)
    document = {
        "images": [{"id": 1, "file_name": "1.png", "width": 8, "height": 8}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2]}],
        "categories": [{"id": 1, "name": "cat"}],
        "info": "x" * (8 << 20),
    }
    write_image(tmp_path / "in/1.png", size=(8, 8))
    file.write_text(json.dumps(document))
    build(BuildConfig(input=str(tmp_path / "in"), output=str(tmp_path / "out"), name="t"))
    assert sum(numbers) < 1.5 * file.stat().st_size
    assert sum(starts) < (1 << 20) + (1 << 13)  # one look for COCO, one for all other layouts
