"""The share of a split held out of training."""

import io
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import trainer
from tfrecord_dataset.records.contents import Split
from tfrecord_dataset.records.identities import hashes_of_texts
from trainer.dataset.held_out import draw_held_out
from trainer.errors import ConfigError


def hashes(texts):
    return hashes_of_texts(pyarrow.chunked_array([pyarrow.array(texts)]))


RECORDS = hashes([str(number) for number in range(1000)])


def test_a_share_depends_only_on_the_records():
    numbers = draw_held_out(RECORDS, 0.1)
    assert len(numbers) == 100
    drawn = {*RECORDS[numbers]}
    backwards = RECORDS[::-1]
    assert {*backwards[draw_held_out(backwards, 0.1)]} == drawn
    assert len(drawn - {*RECORDS[draw_held_out(RECORDS[:900], 0.1)]}) < 30


def test_groups_stay_together():
    groups = hashes([str(number // 7) for number in range(1000)])
    numbers = draw_held_out(groups, 0.2)
    assert 190 <= len(numbers) <= 210
    assert {*groups[numbers]}.isdisjoint({*np.delete(groups, numbers)})


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_have_each_record_once(folds, size):
    groups = hashes([str(number // size) for number in range(1000)])
    drawn = [draw_held_out(groups, 1 / folds, fold) for fold in range(folds)]

    assert sorted(np.concatenate(drawn)) == [*range(1000)]
    assert all(abs(len(numbers) - 1000 / folds) <= size for numbers in drawn)
    seen = [{*groups[numbers]} for numbers in drawn]
    assert sum(map(len, seen)) == len(set.union(*seen))
    assert (drawn[0] == draw_held_out(groups, 1 / folds)).all()


def test_more_folds_than_groups():
    groups = hashes([*"aaabbb"])
    assert sorted(map(len, (draw_held_out(groups, 1 / 2, fold) for fold in (0, 1)))) == [3, 3]
    with pytest.raises(ConfigError, match="--folds needs a group of records for each fold"):
        [draw_held_out(groups, 1 / 3, fold) for fold in range(3)]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_each_side_has_a_group(share):
    groups = hashes(["a", *"bbbbbbbb"])
    assert len(draw_held_out(groups, share)) in (1, 8)
    with pytest.raises(ConfigError, match="one group"):
        draw_held_out(hashes(["a"] * 9), share)


def test_hashes_differ_where_texts_do():
    texts = ["", "a", "b", "ab", "a\0", "\0", "ä", *(f"{'x' * n}{n}" for n in range(40)), None]
    distinct = hashes(texts)
    assert len({*distinct}) == len(texts)
    table = pyarrow.chunked_array([pyarrow.array(["z", *texts[:9]])[1:], pyarrow.array(texts[9:])])
    assert hashes_of_texts(table).tolist() == distinct.tolist()
    beginnings = pyarrow.chunked_array([["abc", "abd", "ab", "a"]])
    assert len({*hashes_of_texts(beginnings, 2)}) == 2


def test_a_hundred_million_records_are_not_looked_at_singly():
    """There are no more objects of Python than blocks."""
    texts = pyarrow.chunked_array([[f"key {number}" for number in range(100_000)]])
    tracemalloc.start()
    held = draw_held_out(hashes_of_texts(texts), 0.1)
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    assert len(held) == 10_000
    assert sum(each.count for each in snapshot.statistics("filename")) < 100


def one_shard(**columns):
    """A split whose index has `columns`."""
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), data)
    shards = SimpleNamespace(files=SimpleNamespace(names=("one",)))
    return Split(name="a", shards=shards, read_rows=lambda shard: data.getvalue())


@pytest.mark.parametrize(
    ("group_by", "together"),
    [
        pytest.param("", {(0, 2)}, id="equal images"),
        pytest.param("patient", {(0, 1)}, id="a column"),
        pytest.param("1", {(1, 2)}, id="a level of the key"),
    ],
)
def test_what_the_index_states(group_by, together):
    split = one_shard(
        patient=["p", "p", "q"],
        sha256=["1", "2", "1"],
        key=["a/0", "b/1", "b/2"],
    )
    found = split.identities(group_by)
    pairs = {(i, j) for i in range(3) for j in range(i + 1, 3) if found[i] == found[j]}
    assert pairs == together
    assert split.identities("doctor") is None


def test_hashes_stay_the_same():
    """Other hashes would hold out other records when a run continues."""
    texts = ["", "a", "cells/17", "x" * 20, None, "ä" * 9, "last"]
    mixed = hashes(texts) * np.arange(1, 2 * len(texts), 2, dtype=np.uint64)
    assert f"{np.bitwise_xor.reduce(mixed):x}" == "1b392ef9edc005e5"


@pytest.fixture(scope="module")
def divided(colors):
    return trainer.open(colors).hold_out("train", 0.2, "held")


def batches_of(dataset, split, features=("number",), **more):
    batches = dataset.batches(split, features=[*features], image_size=8, **more)
    return [batch["number"].numpy().tolist() for batch in batches]


def numbers_in(dataset, split):
    return [number for batch in batches_of(dataset, split) for number in batch]


def test_each_record_is_in_one_part(divided):
    held, rest = (numbers_in(divided, split) for split in ("held", "train"))
    assert (len(held), divided.num_records("held"), len(rest)) == (10, 10, 40)
    assert sorted([*held, *rest]) == list(range(50))


@pytest.mark.parametrize("cache", ["none", "memory"])
def test_a_part_in_another_order_from_any_record_on_and_for_workers(divided, cache):
    more = {"batch_size": 8, "shuffle": True, "seed": 3, "repeat": 3}
    batches = batches_of(divided, "train", ("number", "image"), cache=cache, **more)
    assert len(batches) == 15
    first_pass = [number for batch in batches[:5] for number in batch]
    assert sorted(first_pass) == sorted(numbers_in(divided, "train"))
    assert batches_of(divided, "train", **more, first_record=24) == batches[3:]
    halves = [batches_of(divided, "train", **more, worker=n, num_workers=2) for n in (0, 1)]
    assert [[*one, *two] for one, two in zip(*halves, strict=True)] == batches
