"""Splits, positions and shards, as pure functions."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.assign import placement
from beam_pipeline.assign.stratification import SplitChooser
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import ClassLabel, FileRef, Image, Inspected, Objects


def record(key="a/b/c.jpg", sha256="00", **features):
    image = Image(file=FileRef(path="/somewhere/c.jpg", sha256=sha256))
    return Inspected(key=key, features={"image": image, **features}, content_digest=sha256)


@pytest.mark.parametrize(
    ("group_by", "expected"),
    [
        pytest.param("", "00", id="content"),
        pytest.param("1", "a", id="first folder"),
        pytest.param("3", "c.jpg", id="file name"),
        pytest.param("patient", "17", id="column"),
        pytest.param("site", "north", id="column of texts"),
        pytest.param("label", "cat", id="class"),
    ],
)
def test_group_of(group_by, expected):
    made = record(patient=17, site="north", label=ClassLabel("cat"))
    assert placement.group_of(made, group_by) == expected


@pytest.mark.parametrize("group_by", ["4", "0", "nobody", "boxes"])
def test_group_of_nothing_is_rejected(group_by):
    with pytest.raises(RecordError, match="no group"):
        placement.group_of(record(boxes=Objects(boxes=())), group_by)


def test_splits_take_their_fractions():
    fractions = {"train": 0.7, "validation": 0.2, "test": 0.1}
    counts = Counter(SplitChooser(fractions, 0).split_of(str(i)) for i in range(20_000))
    for name, fraction in fractions.items():
        assert counts[name] == pytest.approx(20_000 * fraction, rel=0.05)


histograms = st.dictionaries(
    st.integers(0, 2**16 - 1),
    st.tuples(st.integers(1, 3), st.integers(1, 1000)),
    min_size=1,
    max_size=60,
)


def histogram_of(counts):
    """The Histogram of (records, bytes) by bin, added in two parts."""
    histogram = placement.Histogram()
    items = [(bin_, *count) for bin_, count in counts.items()]
    for part in (items[::2], items[1::2]):
        histogram.add(*np.array(part, np.int64).reshape(-1, 3).T)
    return histogram


def positions_of(counts):
    return np.array([bin_ << 48 for bin_ in counts], np.uint64)


@given(histograms, st.integers(1, 80))
def test_every_shard_gets_a_record_and_every_record_a_shard(histogram, num_shards):
    plan = placement.plan_split(histogram_of(histogram), num_shards, target_shard_bytes=1)
    filled = set(plan.shards_of(positions_of(histogram)).tolist())
    assert filled == set(range(plan.num_shards))
    assert plan.num_shards == min(num_shards, len(histogram))


@given(histograms, st.integers(1, 20))
def test_shards_are_even_to_one_bin(histogram, num_shards):
    plan = placement.plan_split(histogram_of(histogram), num_shards, target_shard_bytes=1)
    sizes = Counter()
    shards = plan.shards_of(positions_of(histogram)).tolist()
    for shard, (_, num_bytes) in zip(shards, histogram.values(), strict=True):
        sizes[shard] += num_bytes
    largest = max(num_bytes for _, num_bytes in histogram.values())
    assert max(sizes.values()) <= plan.num_bytes / plan.num_shards + largest * 2


@pytest.mark.parametrize(
    ("target_shard_bytes", "expected"),
    [
        pytest.param(1000, 1, id="all in one"),
        pytest.param(50, 2, id="two"),
        pytest.param(1, 10, id="never more than records"),
        pytest.param(10**12, 1, id="never none"),
    ],
)
def test_target_shard_bytes(target_shard_bytes, expected):
    histogram = dict.fromkeys(range(0, 50000, 5000), (1, 10))
    plan = placement.plan_split(histogram_of(histogram), None, target_shard_bytes)
    assert plan.num_shards == expected


def test_wanted_shards():
    splits = {
        "a": histogram_of({1: (2, 10), 2: (1, 10), 3: (1, 10)}),
        "b": histogram_of({5: (9, 10)}),
    }

    assert placement.wanted_shards(1, splits) == {"a": 1, "b": 1}
    assert placement.wanted_shards({"a": 3}, splits) == {"a": 3, "b": None}
    with pytest.raises(ConfigError, match="'c', but the data has a, b"):
        placement.wanted_shards({"c": 3}, splits)
    with pytest.raises(
        ConfigError, match=r"3 is more than the 1 shards .* 9 records of b .* a=3,b=1$"
    ):
        placement.wanted_shards(3, splits)
    with pytest.raises(ConfigError, match=r"most that works is --num-shards a=3$"):
        placement.wanted_shards({"a": 4}, splits)


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        pytest.param("train", "train", id="as it is"),
        pytest.param("train-set 1", "train_set_1", id="other characters"),
        pytest.param("训练", "训练", id="another script"),
        pytest.param("pru\u0308fung", "pr\u00fcfung", id="composed"),
        pytest.param("../../x", "x", id="a path"),
        pytest.param(None, "", id="none"),
        pytest.param(" ", "", id="blank"),
    ],
)
def test_split_name(stated, name):
    assert placement.split_name(stated) == name
