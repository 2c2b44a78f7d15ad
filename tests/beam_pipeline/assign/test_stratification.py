"""Each split gets its fraction of every class, in whatever parts and order records arrive."""

import hashlib
import random
from collections import Counter

import pytest

import beam_pipeline
from beam_pipeline.assign import stratification
from beam_pipeline.assign.packing import Packer
from beam_pipeline.assign.placement import split_at_hash, split_hash
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.assign.stratification import Strata, class_of, stratified
from beam_pipeline.cli import summary
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel, ClassLabels, Inspected

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
    monkeypatch.setattr(stratification, "_MOST_RECORDS_OF_A_CLASS", 50)
    strata = strata_of(fruit())
    assert strata.hashes["apple"] is None
    chooser = stratified(strata, FRACTIONS, 0)
    apples = [group for name, group in fruit() if name == "apple"]
    plain = [split_at_hash(split_hash(apple, 0), FRACTIONS) for apple in apples]
    assert [chooser.split_of(apple) for apple in apples] == plain


def test_too_many_classes_are_forgotten_in_any_order(monkeypatch):
    monkeypatch.setattr(stratification, "_MOST_CLASSES", 2)
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
    assert class_of(Inspected(key="k", features=features)) == name


def record(key, split):
    digest = hashlib.sha256(key.encode()).hexdigest()
    features = {"label": ClassLabel("a")}
    return Inspected(key=key, split=split, features=features, content_digest=digest)


def test_a_remainder_divides_the_train_of_the_input():
    records = [record(f"{n}", "train") for n in range(20)] + [record("t", "test")]
    config = BuildConfig(name="t", split={"validation": 0.2})
    assert config.fractions == {"train": 0.8, "validation": 0.2}
    statistics = Packer(config).pack(records).statistics
    assert statistics.states_splits == "divided"
    assert len(statistics.strata.hashes["a"]) == 20


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
    parts = [Packer(BuildConfig(name="t", split=FRACTIONS)).pack([record(k, None)]) for k in "abc"]
    merged = Statistics()
    for part in parts:
        merged.merge(part.statistics)
    assert len(merged.strata.hashes["a"]) == 3
