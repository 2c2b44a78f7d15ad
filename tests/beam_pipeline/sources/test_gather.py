"""Entries of one key are grouped in order, however they were batched."""

import random

import apache_beam as beam
import pytest

from beam_pipeline.records import Rejected
from beam_pipeline.running import buckets
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.running.spill import spilling
from beam_pipeline.sources import gather
from beam_pipeline.sources.gather import (
    Entry,
    Gather,
    ReadInBatches,
    bucketed,
    entries_of,
    gathered,
    in_batches,
)
from beam_pipeline.sources.tree import InputFile


def numbers_by_key(file):
    name = file.relative
    for number in range(int(file.split)):
        yield Entry(key=f"k{number % 7}", order=(name, number), value=(name, number))
    yield Rejected(source=name, reason="end", detail="")


def joined(key, values):
    yield f"{key}!", values


def test_read_and_gather(run_transform):
    files = [InputFile(path=f"/{n}", relative=n[0], split=n[1:]) for n in ("b20", "a10", "c0")]
    other = Rejected(source="d", reason="end", detail="")

    read = ReadInBatches(1 << 10, numbers_by_key)
    elements = run_transform(beam.Create([*files, other]) | read | Gather(joined))

    rejected = [element for element in elements if isinstance(element, Rejected)]
    assert sorted(reject.source for reject in rejected) == ["a", "b", "c", "d"]
    by_key = dict(element for element in elements if not isinstance(element, Rejected))
    assert by_key.keys() == {f"k{number}!" for number in range(7)}
    assert by_key["k3!"] == [("a", 3), ("b", 3), ("b", 10), ("b", 17)]


def test_large_entries_wait_for_few_others(monkeypatch):
    monkeypatch.setattr(buckets, "MAX_WAITING_BYTES", 100)
    entries = (Entry(key=f"k{n}", order=(n,), value=n, num_bytes=30) for n in range(40))
    batches = in_batches(entries, Buckets(256))

    next(batches)
    left = sum(1 for _ in entries)

    assert left == 36
    assert all(len(entries_of(batch)) == 1 for _, batch in batches)


def test_batches_are_bounded_and_of_one_bucket(monkeypatch):
    monkeypatch.setattr(buckets, "MAX_WAITING", 10)
    entries = [Entry(key=f"k{n % 50}", order=(n,), value=n) for n in range(1000)]

    batches = list(in_batches(entries, Buckets(4)))

    by_bucket: dict[int, list[bytes]] = {}
    for bucket, batch in batches:
        by_bucket.setdefault(bucket, []).append(batch)
        assert sum(len(list(values)) for _, values in gathered([batch])) <= 10
    assert by_bucket.keys() == {0, 1, 2, 3}
    keys = []
    for of_bucket in by_bucket.values():
        random.Random(0).shuffle(of_bucket)
        for key, values in gathered(of_bucket):
            keys.append(key)
            assert list(values) == list(range(int(key[1:]), 1000, 50))
    assert sorted(keys) == sorted(f"k{n}" for n in range(50))


@pytest.mark.parametrize("at_once", [2, 4, 5, 100])
def test_no_more_values_of_a_key_are_held_than_can_be_used(monkeypatch, at_once):
    """The size of the sorted parts of a bucket does not matter."""
    monkeypatch.setattr(gather, "_ENTRIES_AT_ONCE", at_once)
    monkeypatch.setattr(buckets, "_BLOCK", 2)
    few, many = (
        [Entry("few", (n,), n) for n in range(3)],
        [Entry("many", (n,), n) for n in range(9)],
    )
    batches = [batch for _, batch in in_batches([*many, *few], Buckets(1))]

    for max_values, number in ((5, 5), (None, 9)):
        found = [(key, list(values)) for key, values in gathered(batches, max_values)]
        assert found == [("few", [0, 1, 2]), ("many", [*range(number)])]


def test_values_that_are_together_count_each():
    entries = [Entry("rows", (n,), n, num_values=2) for n in range(9)]
    batches = [batch for _, batch in in_batches(entries, Buckets(1))]
    assert [(key, [*values]) for key, values in gathered(batches, 5)] == [("rows", [0, 1, 2])]


@pytest.mark.parametrize(("num_bytes", "at_least", "number"), [(9, 1, 1), (9, 5, 5), (64, 5, 8)])
def test_one_worker_divides_its_entries_into_buckets(monkeypatch, num_bytes, at_least, number):
    monkeypatch.setattr(gather, "_BUCKET_BYTES", 9)
    monkeypatch.setattr(buckets, "MAX_WAITING", 10)
    entries = (Entry(f"k{n % 70}", (-n,), n) for n in range(1000))
    with spilling() as spill:
        found = [*bucketed(entries, num_bytes, spill, at_least)]
    assert len(found) == number
    grouped = {key: [*values] for batches in found for key, values in gathered(batches)}
    assert grouped == {f"k{n}": [*range(n, 1000, 70)][::-1] for n in range(70)}
