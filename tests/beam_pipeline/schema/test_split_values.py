"""The values of a split are counted exactly, in any order."""

import functools
import math
import pickle
import random
import statistics
from fractions import Fraction

import numpy as np
import pytest

from beam_pipeline.records import (
    Array,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    ListSummary,
    Objects,
)
from beam_pipeline.schema.split_values import MAX_DISTINCT, Moments, SplitValues


def over(values):
    facts = SplitValues()
    for value in values:
        facts.add(value)
    return facts


def merged(parts):
    return functools.reduce(lambda one, other: (one.merge(other), one)[1], parts, SplitValues())


def vector(*numbers, dtype="float32"):
    values = np.array(numbers, dtype)
    known = [each for each in values.tolist() if each == each]
    return Array(
        dtype=dtype,
        shape=values.shape,
        data=values.tobytes(),
        minimum=min(known, default=None),
        maximum=max(known, default=None),
    )


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([1.0, 2.0, 4.0], id="floats"),
        pytest.param([1e30, 1.0, -1e30, 1e-30], id="floats that cancel"),
        pytest.param([1_700_000_000.0 + n for n in range(3)], id="times"),
        pytest.param([float(np.float32(2**-149)), 0.0], id="float32's smallest"),
        pytest.param([2**62, -(2**62), 5], id="ints"),
    ],
)
def test_moments_are_exact_in_any_order(numbers):
    mean = statistics.fmean(map(Fraction, numbers))
    variance = statistics.pvariance(map(Fraction, numbers))
    for order in (numbers, numbers[::-1], random.Random(0).sample(numbers, len(numbers))):
        (column,) = merged(over([number]) for number in order).columns
        facts = pickle.loads(pickle.dumps(column)).facts()
        assert facts["mean"] == mean
        assert facts["variance"] == pytest.approx(float(variance), rel=1e-15)
        assert (facts["minimum"], facts["maximum"]) == (min(numbers), max(numbers))


def test_many_numbers_in_any_parts():
    numbers = np.random.default_rng(0).normal(5, 2, 5000).astype(np.float32).tolist()
    whole = over(numbers).columns[0].facts()
    parts = merged(over(numbers[start : start + 70]) for start in range(0, 5000, 70))
    assert parts.columns[0].facts() == whole
    assert whole["count"] == 5000
    assert whole["mean"] == pytest.approx(np.mean(numbers), rel=1e-12)
    assert whole["variance"] == pytest.approx(np.var(numbers), rel=1e-12)


def test_what_is_no_number_is_missing():
    column = Moments()
    for number in (math.nan, 3, math.inf, -math.inf):
        column.add(number)
    facts = {"count": 1, "missing": 3, "minimum": 3, "maximum": 3, "mean": 3.0, "variance": 0.0}
    assert column.facts() == facts
    assert Moments().facts() == dict.fromkeys(facts) | {"count": 0, "missing": 0}


def test_squares_beyond_float64_have_no_variance():
    (column,) = over([vector(1e300, -1e300, dtype="float64")]).columns[:1]
    column.add(-1e300)
    assert (column.facts()["mean"], column.facts()["variance"]) == (0.0, None)


def test_columns_of_arrays():
    facts = merged([over([vector(1, 10)]), over([]), over([vector(3, math.nan)])])
    one, other = (column.facts() for column in facts.columns)
    assert (one["mean"], one["count"], one["missing"]) == (2.0, 2, 0)
    assert (other["mean"], other["count"], other["missing"]) == (10.0, 1, 1)
    assert (facts.minimum, facts.maximum) == (1.0, 10.0)
    truths = over([vector(True, False, dtype="bool")]).columns
    assert [column.facts()["mean"] for column in truths] == [1.0, 0.0]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([vector(1), vector(1, 2)], id="of other lengths"),
        pytest.param([vector(*range(1025))], id="long"),
        pytest.param([Array(dtype="int64", shape=(1, 1), data=bytes(8))], id="two axes"),
        pytest.param([1, ListSummary(kind="int64", length=2)], id="stored by others"),
    ],
)
def test_arrays_without_columns(values):
    for facts in (over(values), merged(over([value]) for value in values)):
        facts.merge(over([vector(1)]))
        assert (facts.columns, facts.has_columns) == ([], False)


def test_classes_lengths_and_sizes():
    boxes = Objects(boxes=((0, 0, 1, 1),) * 3, format="rel_xyxy", labels=("a", "b", "a"))
    assert over([boxes, Objects(boxes=(), format="rel_xyxy")]).lengths == {"length": (0, 3, 3)}
    assert over([boxes]).classes == {"a": 2, "b": 1}
    assert over([ClassLabel("x"), ClassLabels(("x", "y"))]).classes == {"x": 2, "y": 1}
    image = Image(file=FileRef(path="a"), height=4, width=6)
    assert over([image, image]).lengths == {"height": (4, 4, 8), "width": (6, 6, 12)}


def test_strings_are_counted_while_they_are_few_and_short():
    assert over(["a", ("a", "b"), "a"]).strings == {"a": 3, "b": 1}
    assert not over(["a", "b" * 101]).strings
    many = [str(number) for number in range(MAX_DISTINCT + 1)]
    assert len(over(many[1:]).strings) == MAX_DISTINCT
    for facts in (over(many), merged([over(many[:7000]), over(many[7000:]), over(["0"])])):
        assert (len(facts.strings), facts.has_strings) == (0, False)
