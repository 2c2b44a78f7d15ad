"""Splits, positions and shards, as pure functions."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspecting import Inspected, examples_of, packed

import beam_pipeline
from beam_pipeline.assign import placement
from beam_pipeline.assign.packing import Packer
from beam_pipeline.assign.placement import (
    SplitChooser,
    Strata,
    class_of,
    split_at_hash,
    split_hash,
    stratified,
)
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.cli import summary
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import ClassLabel, ClassLabels, FileRef, Image, Objects


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
    assert placement.group_of(examples_of(made), 0, group_by) == expected


@pytest.mark.parametrize("group_by", ["4", "0", "nobody", "boxes"])
def test_group_of_nothing_is_rejected(group_by):
    with pytest.raises(RecordError, match="no group"):
        placement.group_of(examples_of(record(boxes=Objects(boxes=()))), 0, group_by)


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


FRACTIONS = {"train": 0.8, "validation": 0.1, "test": 0.1}
FRUIT = {"apple": 140, "pear": 48, "plum": 12}


def strata_of(records):
    """Return the strata of (class, group) pairs, and their chooser."""
    strata = Strata()
    for name, group in records:
        strata.add(name, split_hash(group, 0))
    return strata


def splits_of(records):
    chooser = stratified(strata_of(records), FRACTIONS, 0)
    return Counter((name, chooser.split_of(group)) for name, group in records)


def fruit():
    return [(name, f"{name}{n}") for name, count in FRUIT.items() for n in range(count)]


def test_every_split_has_its_fraction_of_each_class_to_one_record():
    counts = splits_of(fruit())
    for name, total in FRUIT.items():
        for split, fraction in FRACTIONS.items():
            assert abs(counts[name, split] - total * fraction) < 1, (name, split)
    assert counts["plum", "test"] >= 1


def test_records_without_a_class_stay_in_their_plain_split():
    assert stratified(strata_of([]), FRACTIONS, 0).moved == {}


def test_rare_classes_are_not_all_rounded_alike():
    counts = splits_of([(f"{name}", f"{name} {n}") for name in range(300) for n in range(3)])
    totals = Counter(split for (_, split), count in counts.items() for _ in range(count))
    assert totals["test"] == pytest.approx(90, abs=25)
    assert totals["validation"] == pytest.approx(90, abs=25)


def test_a_group_is_in_one_split_also_if_it_has_several_classes():
    records = [(name, f"patient {n}") for n in range(40) for name in ("ill", "well") * 3]
    chooser = stratified(strata_of(records), FRACTIONS, 0)
    groups = Counter(chooser.split_of(group) for group in {group for _, group in records})
    assert set(groups) == set(FRACTIONS)
    assert groups["train"] == pytest.approx(32, abs=1)


def test_parts_and_order_change_nothing():
    records = fruit()
    whole = stratified(strata_of(records), FRACTIONS, 0)
    random.Random(0).shuffle(records)
    merged = Strata()
    for start in range(0, len(records), 7):
        merged.merge(strata_of(records[start : start + 7]))
    assert stratified(merged, FRACTIONS, 0) == whole
    assert len(whole.moved) < 30  # most records keep the split of their hash


def test_a_class_of_many_records_is_divided_by_hashes(monkeypatch):
    monkeypatch.setattr(placement, "_MOST_RECORDS_OF_A_CLASS", 50)
    strata = strata_of(fruit())
    assert strata.hashes["apple"] is None
    chooser = stratified(strata, FRACTIONS, 0)
    apples = [group for name, group in fruit() if name == "apple"]
    plain = [split_at_hash(split_hash(apple, 0), FRACTIONS) for apple in apples]
    assert [chooser.split_of(apple) for apple in apples] == plain


def test_too_many_classes_are_forgotten_in_any_order(monkeypatch):
    monkeypatch.setattr(placement, "_MOST_CLASSES", 2)
    parts = [strata_of(fruit()[:3]), strata_of(fruit())]
    assert parts[1].has_too_many_classes
    for order in (parts, parts[::-1]):
        merged = Strata()
        for part in order:
            merged.merge(part)
        assert (merged.hashes, merged.has_too_many_classes) == ({}, True)


@pytest.mark.parametrize(
    ("features", "name"),
    [
        pytest.param({"x": ClassLabel("a")}, "a", id="the only one"),
        pytest.param({"x": ClassLabel("a"), "label": ClassLabel("b")}, "b", id="label"),
        pytest.param({"x": ClassLabel("a"), "y": ClassLabel("b")}, None, id="several"),
        pytest.param({"label": ClassLabels(("a",))}, None, id="a list of classes"),
        pytest.param({"label": 3}, None, id="a number"),
    ],
)
def test_class_of(features, name):
    assert class_of(features) == name


def build_of(tmp_path, rows, **options):
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["kind,size,split", *rows]) + "\n")
    return beam_pipeline.build(
        BuildConfig(input=str(table), output=str(tmp_path / "out"), label_column="kind", **options)
    )


def test_validation_is_taken_from_the_train_of_the_input(tmp_path):
    rows = [f"{'ab'[n % 2]},{n},{'test' if n < 10 else 'train'}" for n in range(50)]
    info = build_of(tmp_path, rows, split={"validation": 0.25})
    sizes = {split: info.num_records(split) for split in info.splits}
    assert sizes == {"test": 10, "train": 30, "validation": 10}
    lines = summary.of_dataset(info)
    assert "note: --split took validation from the input's train split" in lines


def test_a_split_of_the_input_is_not_mixed_with_one_taken_from_train(tmp_path):
    rows = [f"a,{n},{'test' if n < 10 else 'train'}" for n in range(50)]
    with pytest.raises(ConfigError, match="the input has a split of that name"):
        build_of(tmp_path, rows, split={"test": 0.2})


def test_a_class_that_a_split_lacks_is_a_warning(tmp_path):
    rows = [f"{'ab'[n % 5 == 0]},{n},{'train' if n < 41 else 'test'}" for n in range(44)]
    [line] = [
        line
        for line in summary.of_dataset(build_of(tmp_path, rows))
        if isinstance(line, summary.Warned)
    ]
    assert line == "test has no label of class b"


def test_the_fingerprint_without_stratification_is_that_of_plain_splits():
    plain = BuildConfig(name="t", split=FRACTIONS, no_stratify=True)
    assert "stratify" not in plain.fingerprinted_options()
    assert BuildConfig(name="t", split=FRACTIONS).fingerprint != plain.fingerprint
    assert BuildConfig(name="t").fingerprint == BuildConfig(name="t", no_stratify=True).fingerprint


def test_statistics_of_parts_add_up():
    packer = Packer(BuildConfig(name="t", split=FRACTIONS))
    merged = Statistics()
    for key in "abc":
        element = record(key, f"{ord(key):064x}", label=ClassLabel("a"))
        merged.merge(packed(packer, [element]).statistics.take())
    assert len(merged.strata.hashes["a"]) == 3
