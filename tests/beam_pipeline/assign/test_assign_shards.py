"""Assign packs inspected records, handles duplicates, and sends every record to its shard."""

import hashlib
import re

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from inspecting import Inspected, examples_of, packed, rows_of, table_of

import beam_pipeline
from beam_pipeline.assign import assign_shards, columns
from beam_pipeline.assign.assign_shards import DivideTables, equal_keys
from beam_pipeline.assign.dataset_plan import make_plan
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.packing import Packer
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.batch import Examples
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import DataError
from beam_pipeline.records import (
    ClassLabel,
    DeclaredClasses,
    FileRef,
    Image,
    Record,
    Rejected,
)
from beam_pipeline.running.batches import MAX_ELEMENTS
from beam_pipeline.running.pickling import Constant, unpack
from beam_pipeline.running.spill import Repeatable


def image(key, content, label="cat", split=None, **more):
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    image = Image(file=FileRef(path=f"/in/{key}", sha256=sha256), format="jpeg")
    features = {"image": image, "label": ClassLabel(label)}
    return Inspected(
        key=key, features=features, split=split, num_bytes=100, content_digest=sha256, **more
    )


def settled(elements, **options):
    """Return (records by key with splits, rejects, statistics) of inspected elements."""
    config = BuildConfig(name="t", **options)
    found = packed(Packer(config), elements)
    statistics = found.statistics.take()
    rejects = unpack(found.rejects) if found.num_rejects else []
    if not found.num_records:
        return {}, rejects, statistics
    [(table, dropped)] = settle([found.records], config.duplicates, statistics, max_rows=1000)
    merged = Statistics()
    merged.merge(statistics)
    splits = zip(*(table.column(name).to_pylist() for name in ("key", "split")), strict=True)
    return dict(splits), rejects + dropped, merged


TWINS = [image("b.jpg", "1"), image("a.jpg", "1"), image("c.jpg", "2")]


def test_a_reject_takes_no_other_record_with_it():
    records, [reject], _ = settled([image("a.jpg", "1", split="--"), *TWINS[1:]])

    assert sorted(records) == ["a.jpg", "c.jpg"]
    assert (reject.source, reject.reason) == ("a.jpg", "unusable split")


def test_equal_contents_with_unlike_labels_conflict():
    conflict = [image("a.jpg", "1", "cat"), image("b.jpg", "1", "dog")]

    _, _, statistics = settled(conflict)
    assert statistics.conflicting == 1
    assert statistics.duplicates[0][1].labels == ("cat", "dog")

    _, [rejected], statistics = settled(conflict, duplicates="drop")
    assert rejected.detail == "same content as a.jpg, annotated otherwise (cat)"
    assert (rejected.source, rejected.reason, rejected.bad) == ("b.jpg", "duplicate", False)
    assert (statistics.num_records, statistics.num_bad) == (1, 0)


LEAKS = [
    *(image(f"train/{n}.jpg", "1", split="train") for n in range(20)),
    image("test/x.jpg", "1", split="test"),
    *(image(f"{split}/z.jpg", "2", split=split) for split in ("test", "train", "val")),
    *(image(f"test/{n}.jpg", "3", split="test") for n in range(2)),
]


def test_equal_contents_in_several_splits_are_an_error_that_names_one_of_each_split():
    problem = make_plan(settled(LEAKS)[2], BuildConfig(name="t")).problem

    assert isinstance(problem, DataError)
    assert str(problem).startswith(
        "contents that are in more than one split: 2, such as test/x.jpg (test) and train/0.jpg "
        "(train); test/z.jpg (test) and train/z.jpg (train) and val/z.jpg (val); a model "
    )
    assert re.search("--duplicates drop, .* --leaks warn", str(problem))


def test_a_record_without_the_group_is_bad():
    elements = [image("flat.jpg", "1", source="x.csv:2")]
    records, [rejected], statistics = settled(elements, group_by="2")

    assert not records
    assert (rejected.source, rejected.reason, rejected.bad) == ("x.csv:2", "no group", True)
    assert (statistics.num_records, statistics.num_bad) == (0, 1)


def test_everything_is_counted_once():
    elements = [
        *TWINS,
        Rejected(source="x.jpg", reason="truncated image", detail="…"),
        Rejected(source="README", reason="not an image file", detail="…", bad=False),
        DeclaredClasses(feature="label", names={0: "cat", 1: "dog"}),
    ]
    records, rejects, statistics = settled(elements)

    assert len(records) + len(rejects) == 5
    assert statistics.num_records == 3
    assert statistics.rejected == {"truncated image": 1, "not an image file": 1}
    assert statistics.num_bad == 1
    assert statistics.declared == {"label": {0: {"cat"}, 1: {"dog"}}}


def table(count, splits=("train",)):
    """Return a table of `count` records with evenly spread positions."""
    records = [image(f"{i}.jpg", str(i)) for i in range(count)]
    step = 2**64 // count
    return table_of((record, splits[i % len(splits)], i * step) for i, record in enumerate(records))


def test_records_come_back_as_they_were_packed():
    record = image("a.jpg", "1", notes={"box clipped": 2}, source="x.csv:2", source_id="7")
    [unpacked] = rows_of(Examples.of(table_of([(record, "train", 5)])))

    assert unpacked.features == record.features
    assert (unpacked.key, unpacked.source, unpacked.source_id) == ("a.jpg", "x.csv:2", "7")
    assert columns.source_ids(table_of([(record, "train", 5)]), 12) == ["12"]
    assert unpacked.notes == record.notes


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(lambda empty: assign_shards.content_buckets(empty, 4), id="content_buckets"),
        pytest.param(lambda empty: list(assign_shards.keys_of(empty, 4)), id="keys_of"),
        pytest.param(lambda empty: list(columns.rows_by_split(empty)), id="rows_by_split"),
        pytest.param(lambda empty: list(columns.chunks(empty, 9, 9)), id="chunks"),
        pytest.param(lambda empty: columns.repeated([empty], "position"), id="repeated"),
        pytest.param(lambda empty: columns.binaries(empty, "digest"), id="binaries"),
    ],
)
def test_a_table_without_rows(result):
    for empty in (columns.SCHEMA.empty_table(), table(3).slice(3), table(3).filter([False] * 3)):
        assert len(result(empty)) == 0


def test_equal_contents_meet_in_one_bucket_and_buckets_are_even():
    rows = table(4_000)
    buckets = assign_shards.content_buckets(rows, 16)
    assert (assign_shards.content_buckets(rows.slice(7, 10), 16) == buckets[7:17]).all()
    assert np.bincount(buckets, minlength=16).min() > 150


def counted(rows):
    """Return statistics of a table's records, all with a text."""
    statistics = Statistics()
    for key in rows.column("key").to_pylist():
        statistics.observe(examples_of(Inspected(key=key, features={"text": key})), ["train"])
    statistics.add_rows(rows)
    return statistics


class Placed(beam.PTransform):
    """Place tables by a plan."""

    def __init__(self, tables, plan):
        super().__init__()
        self._tables, self._plan = tables, plan

    def expand(self, pipeline):
        plan = pipeline | "Plan" >> beam.Create([Constant.of(self._plan)])
        place = beam.ParDo(DivideTables(assign_shards.shard_keys), beam.pvalue.AsSingleton(plan))
        return pipeline | "Tables" >> beam.Create(self._tables) | place


def gathered(placed):
    tables = {}
    for name, each in placed:
        tables.setdefault(name, []).append(each)
    return tables


def test_shards_get_every_record_once(run_transform):
    rows = table(90, splits=("test", "train"))
    plan = make_plan(counted(rows), BuildConfig(name="t", num_shards={"train": 20, "test": 10}))

    tables = [columns.to_bytes(rows.slice(i, 30)) for i in range(0, 90, 30)]
    placed = run_transform(Placed(tables, plan))

    keys = {name: columns.from_bytes(batches) for name, batches in gathered(placed).items()}
    assert len(keys) == 30
    for name, key in keys.items():
        assert {*key.column("split").to_pylist()} == {name.partition("/")[0]}
        assert {plan.shard_names()[number] for number in plan.shard_numbers(key)} == {name}
    assert sum(key.num_rows for key in keys.values()) == 90


@pytest.mark.parametrize(
    ("max_bytes", "max_records", "sizes"),
    [
        pytest.param(250, 100, [2] * 5, id="by bytes"),
        pytest.param(10, 100, [1] * 10, id="a record is never cut"),
        pytest.param(10**6, 4, [4, 4, 2], id="by records"),
        pytest.param(10**6, 100, [10], id="all in one"),
    ],
)
def test_chunks(max_bytes, max_records, sizes):
    parts = list(columns.chunks(table(10), max_bytes, max_records))
    assert [part.num_rows for part in parts] == sizes


def test_a_shards_digest_is_of_its_rows_and_its_context():
    rows = table(3)
    digests = {
        columns.digest_of([rows], "a"),
        columns.digest_of([rows], "b"),
        columns.digest_of([rows.slice(1)], "a"),
        columns.digest_of([table_of([(image("0.jpg", "x"), "train", 0)])], "a"),
    }
    assert len(digests) == 4
    assert columns.digest_of([rows.slice(0, 1), rows.slice(1)], "a") in digests


def rows(*keyed):
    schema = pa.schema([columns.SCHEMA.field(name) for name in ("position", "key", "source")])
    return pa.Table.from_pylist(
        [{"key": key, "position": position, "source": source} for key, position, source in keyed],
        schema=schema,
    )


@pytest.mark.parametrize(
    ("keyed", "equal"),
    [
        pytest.param([("a", 1, ""), ("b", 2, "")], [], id="two keys"),
        pytest.param([("a", 1, ""), ("b", 1, "")], [], id="two keys of one position"),
        pytest.param(
            [("c", 7, ""), ("b", 7, "y"), ("a", 1, ""), ("b", 7, "x")],
            [("b", "x", "y")],
            id="one key, between others",
        ),
        pytest.param(
            [("a", 1, source) for source in "zxyw"], [("a", "w", "x")], id="four times, two named"
        ),
        pytest.param([("a", 1, "x")], [], id="one key"),
        pytest.param([], [], id="none"),
    ],
)
@pytest.mark.parametrize("at_once", [1, 100])
def test_equal_keys(keyed, equal, at_once):
    parts = [rows(*keyed[start : start + at_once]) for start in range(0, len(keyed), at_once)]
    assert list(equal_keys(parts)) == equal


def test_one_key_any_number_of_times_takes_little():
    held = []

    def parts():
        for number in range(200):
            held.append(pa.total_allocated_bytes())
            yield rows(*(("same", 7, f"{number}:{row}") for row in range(1000)))

    assert list(equal_keys(Repeatable(parts))) == [("same", "0:0", "0:1")]
    assert max(held) - held[0] < 1 << 20


@pytest.mark.parametrize("splits", [("train", "test"), ("train", "train")])
def test_a_source_that_gives_a_key_twice_fails_before_anything_is_written(splits, tmp_path):
    records = [
        Record(
            key="same", features={"x": n, "label": ClassLabel("a")}, split=split, source=f"row {n}"
        )
        for n, split in enumerate(splits)
    ]
    config = beam_pipeline.BuildConfig(output=str(tmp_path), name="twice", threads=1)

    with pytest.raises(DataError, match="key 'same' belongs to two records, row 0 and row 1; a "):
        beam_pipeline.build(config, source=beam.Create(records))
    assert not [*tmp_path.rglob("*.tfrecord*")]


@pytest.mark.parametrize("num_shards", [1, 2])
def test_all_records_of_a_part_may_be_duplicates(num_shards, tmp_path, monkeypatch):
    monkeypatch.setattr(assign_shards, "_ROWS_AT_ONCE", 2)  # each batch is a part
    contents = [0, 1] + [1] * 2 * MAX_ELEMENTS
    records = [Record(key=str(n), features={"x": x}) for n, x in enumerate(contents)]
    config = beam_pipeline.BuildConfig(
        output=str(tmp_path), name="t", threads=1, duplicates="drop", num_shards=num_shards
    )
    dataset = beam_pipeline.build(config, source=beam.Create(records))
    assert dataset.num_records("train") == 2
