"""Records cross Beam in packed batches, bounded in number and in bytes."""

import random
from collections import defaultdict

import pytest

from beam_pipeline.records import Array, DeclaredClasses, Record, Rejected
from beam_pipeline.running import batches, buckets
from beam_pipeline.running.pickling import Constant, pack, unpack, unpack_all
from beam_pipeline.running.runner import Job

HERE = Job(processes=2)
ELEMENTS = [
    Record(key="a", features={"n": 1}),
    Rejected(source="b", reason="r", detail="d"),
    DeclaredClasses(feature="label", names={0: "cat"}),
]


def test_packed_is_unpacked():
    assert unpack(pack(ELEMENTS)) == ELEMENTS


def batch_sizes(elements):
    source = batches.BatchSource(HERE)
    source.setup()
    source.start_bundle()
    sizes = [len(unpack(batch)) for element in elements for batch in source.process(element)]
    *rest, count = source.finish_bundle()
    sizes += [len(unpack(batch.value)) for batch in rest]
    return sizes, count.value.value


LONG = batches.MAX_BYTES // 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(7, [batches.MAX_ELEMENTS, 44], id="small: by number"),
        pytest.param("x" * LONG, [2] * 150, id="long texts"),
        pytest.param(b"x" * LONG, [2] * 150, id="bytes"),
        pytest.param(("x" * LONG, "y"), [2] * 150, id="sequences"),
        pytest.param(Array(dtype="uint8", shape=(LONG,), data=bytes(LONG)), [2] * 150, id="arrays"),
    ],
)
def test_batches_are_bounded(value, expected):
    records = [Record(key=f"{n}", features={"x": value}) for n in range(300)]
    assert batch_sizes(records) == (expected, 300)


def test_records_and_rejects_are_counted_alone():
    assert batch_sizes(ELEMENTS) == ([3], 2)


def test_a_constant_is_made_once_in_a_process():
    constant = Constant({"classes": ["a"] * 1000})
    assert constant.value == {"classes": ["a"] * 1000}
    assert constant.value is constant.value


def batches_elsewhere(*bundles):
    """The batches of a job on other machines, whose source yields these bundles of elements."""
    parts = defaultdict(list)
    for elements in bundles:
        source = batches.BatchSource(Job())
        source.setup()
        source.start_bundle()
        for element in elements:
            for bucket, part in source.process(element):
                parts[bucket].append(part)
        *rest, count = source.finish_bundle()
        for each in rest:
            parts[each.value[0]].append(each.value[1])
        assert count.value.value == sum(isinstance(e, Record | Rejected) for e in elements)
    return sorted(batch for each in parts.items() for batch in batches.batches_of_bucket(each))


def test_elsewhere_batches_are_the_same_however_elements_come(monkeypatch):
    """By other workers, in another order, and with other elements of one string."""
    monkeypatch.setattr(batches, "BUCKETS", 3)
    monkeypatch.setattr(buckets, "MAX_WAITING", 500)
    records = [Record(key=f"{n}", features={"word": "cat"}, source="a.csv") for n in range(2000)]
    once = batches_elsewhere(records)
    assert sorted(each.key for batch in once for each in unpack_all(batch)) == sorted(
        record.key for record in records
    )
    assert max(len(unpack(batch)) for batch in once) == batches.MAX_ELEMENTS
    assert len(once) < 2000 / 256 + 4

    copies = [unpack(pack([record]))[0] for record in records]
    random.Random(0).shuffle(copies)
    assert batches_elsewhere(copies[:1300], copies[1300:]) == once


def test_a_bucket_of_very_many_is_sorted_part_by_part(monkeypatch):
    monkeypatch.setattr(batches, "ELEMENTS_AT_ONCE", 20)
    records = [Record(key=f"{n}", features={"n": 1}) for n in range(2000)]
    once = batches_elsewhere(records)
    assert sorted(each.key for batch in once for each in unpack_all(batch)) == sorted(
        record.key for record in records
    )
    assert max(len(unpack(batch)) for batch in once) < 40
    assert batches_elsewhere(records[:700], records[700:]) == once


def test_elsewhere_batches_are_bounded(monkeypatch):
    monkeypatch.setattr(batches, "BUCKETS", 1)
    records = [Record(key=f"{n}", features={"x": "x" * LONG}) for n in range(9)]
    sizes = [len(unpack(batch)) for batch in batches_elsewhere(records)]
    assert sizes == [1] * 9, "two of them and what is beside are more"
    assert len(batches_elsewhere(ELEMENTS, ELEMENTS)) == 1
