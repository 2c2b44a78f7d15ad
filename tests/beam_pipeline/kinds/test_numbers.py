"""Numbers that change in float32, and numbers that it cannot hold."""

import numpy as np
import pytest
from inspecting import inline

from beam_pipeline.kinds.array import measure
from beam_pipeline.kinds.numbers import Rounding, describe_missing, describe_rounding, rounding
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.sources.tables.types import ListOf, convert
from tfrecord_dataset.format.feature import Feature


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(1700000061.5, True, id="a time"),
        pytest.param(-1700000061.5, True, id="a negative one"),
        pytest.param(1700000000001.0, True, id="a time in ms"),
        pytest.param(1e15 + 1, True, id="sixteen digits"),
        pytest.param(2.0**24, False, id="held"),
        pytest.param(2.0**24 + 1, True, id="the first whole number that is skipped"),
        pytest.param(2**24 + 1, True, id="as an int"),
        pytest.param(2.0**24 + 2, False, id="the next is held"),
        pytest.param(2.0**24 - 0.4, True, id="a fraction is skipped"),
        pytest.param(2**53 + 1, True, id="the first whole number that float64 skips"),
        pytest.param(2**53, False, id="one that float32 holds"),
        pytest.param(0.1, False, id="a fraction"),
        pytest.param(0.1 + 0.2, False, id="a fraction that float64 changes"),
        pytest.param(1234.567, False, id="seven digits"),
        pytest.param(0.12345678, True, id="eight digits"),
        pytest.param(0.10000000149011612, False, id="a fraction of float32"),
        pytest.param(1e-9, False, id="small"),
        pytest.param(1e-300, True, id="too small"),
        pytest.param(5e-324, True, id="the smallest of float64"),
        pytest.param(1e20, False, id="few digits"),
        pytest.param(1.23e30, False, id="few digits of a larger one"),
        pytest.param(1.23456789e20, True, id="many digits"),
        pytest.param(1e39, False, id="beyond float32, an error elsewhere"),
        pytest.param(0.0, False, id="zero"),
        pytest.param(float("nan"), False, id="no number"),
        pytest.param(float("inf"), False, id="infinity"),
    ],
)
def test_rounding(number, expected):
    assert rounding([number, 0.5]) == (Rounding(1, number) if expected else Rounding())


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([16777217, 0.5, 2**53 + 1], Rounding(2, 16777217)),
        ([-0.123456789, 0.123456789, 2.0], Rounding(2, -0.123456789)),
        (np.array([16777217, 3], np.int64), Rounding(1, 16777217)),
        (np.array([2**53 + 1, 3], np.int64), Rounding(1, 2**53 + 1)),
        ([2**55 - 4, 2**55 - 5], Rounding(2, 2**55 - 5)),  # one number in float64
        (np.array([0.123456789], np.float32), Rounding()),
        ([], Rounding()),
    ],
)
def test_how_many_change(numbers, expected):
    assert rounding(numbers) == expected


def test_counts_merge_in_any_order():
    parts = [Rounding(1, 0.123456789), Rounding(), Rounding(2, -0.123456789)]
    for order in (parts, parts[::-1]):
        observed = Observed()
        for part in order:
            other = Observed()
            other.num_numbers, other.rounding = 4, part
            observed.merge(other)
        assert (observed.num_numbers, observed.rounding) == (12, Rounding(3, -0.123456789))


def test_arrays_are_counted_as_they_are_measured():
    values = np.array([[1234567.89, 0.5], [1e-300, 2.0]])
    array, _ = measure(inline(values))
    assert (array.num_rounded, array.rounded) == (2, 1e-300)


def test_lists_of_tables_are_counted_as_they_are_converted():
    made = convert("x", [1234567.89, 1e-300, 0.5], ListOf(float))
    array, _ = measure(made)
    assert array.dtype == "float32"
    assert (array.num_rounded, array.rounded) == (2, 1e-300)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1700000061.5, "1700000061.5 is stored as 1700000000.0"),
        (-16777217, "-16777217 is stored as -16777216.0"),
        (1234567.89, "1234567.89 is stored as 1234567.9"),
        (2**53 + 1, "9007199254740993 is stored as 9007199254740992.0"),
    ],
)
def test_describe(number, shown):
    schema = [Feature(name=name, kind="scalar", dtype="float32", key=name) for name in ("w", "x")]
    facts = {"x": {"values": 3000, "changed": 2, "example": number}}
    start = "x: 2 of 3,000 values change in float32, which keeps 7 digits: "
    remedy = "; declare a float64 tensor of encoding bytes, or text, with --schema"
    assert [*describe_rounding(schema, facts)] == [start + shown + remedy]
    both = {**facts, "w": facts["x"]}
    [line] = describe_rounding(schema, both)
    assert line.startswith("w: 2 of 3,000 values")
    assert "; so do values of x; declare" in line


def test_missing_numbers_are_one_line():
    schema = [Feature(name=name, kind="scalar", dtype="float32", key=name) for name in "abcdef"]
    facts = {"b": {"values": 891, "missing": 177}}
    assert [*describe_missing(schema, {})] == []
    assert [*describe_missing(schema, facts)] == ["b: 177 of 891 missing, kept as nan"]
    [line] = describe_missing(schema, {key: {"values": 9, "missing": 1} for key in "abcdef"})
    assert line.startswith("a: 1 of 9 missing, b: ")
    assert line.endswith(", … (6), kept as nan")
