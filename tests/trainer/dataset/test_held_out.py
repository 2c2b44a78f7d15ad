"""The share of a split held out of training."""

import io
from types import SimpleNamespace

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import trainer
from tfrecord_dataset.records.contents import Split
from trainer.dataset import draw, identities
from trainer.errors import ConfigError

RECORDS = [str(number).encode() for number in range(1000)]


def test_a_share_depends_only_on_the_records():
    numbers = draw(RECORDS, 0.1)
    assert len(numbers) == 100
    drawn = {RECORDS[number] for number in numbers}
    backwards = RECORDS[::-1]
    assert {backwards[number] for number in draw(backwards, 0.1)} == drawn
    assert len(drawn - {RECORDS[number] for number in draw(RECORDS[:900], 0.1)}) < 30


def test_groups_stay_together():
    groups = [str(number // 7).encode() for number in range(1000)]
    numbers = draw(groups, 0.2)
    assert 190 <= len(numbers) <= 210
    chosen = {groups[number] for number in numbers}
    assert chosen.isdisjoint({groups[n] for n in np.setdiff1d(np.arange(1000), numbers)})
    with pytest.raises(ConfigError, match="one group"):
        draw([b"a"] * 9, 0.5)


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
    found = identities(split, group_by)
    pairs = {(i, j) for i in range(3) for j in range(i + 1, 3) if found[i] == found[j]}
    assert pairs == together
    with pytest.raises(ConfigError, match="groups of 'doctor'"):
        identities(split, "doctor")


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
