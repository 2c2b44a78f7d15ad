"""Statistics of values are exact, short, and merge in any order."""

import functools
import math
import pickle
import random
import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from inspecting import Inspected, counted, observe

from beam_pipeline.kinds.observed import MAX_DISTINCT, Observed
from beam_pipeline.kinds.stored import kind_of, summary
from beam_pipeline.kinds.wording import range_words
from beam_pipeline.records import (
    Array,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    ListSummary,
    Objects,
)


def over(values, example=None):
    """Return the statistics of one feature's values, one per record."""
    records = (Inspected(key="a", features={"x": value}, example=example) for value in values)
    return observe(records).get("x", Observed())


def merged(parts):
    return functools.reduce(lambda one, other: (one.merge(other), one)[1], parts, Observed())


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


def test_columns_of_arrays():
    seen = merged([over([vector(1, 10)]), over([]), over([vector(3, math.nan)])])
    one, other = (column.facts() for column in seen.columns)
    assert (one["mean"], one["count"], one["missing"]) == (2.0, 2, 0)
    assert (other["mean"], other["count"], other["missing"]) == (10.0, 1, 1)
    assert seen.list_range == (1.0, 10.0)
    truths = over([vector(True, False, dtype="bool")]).columns
    assert [column.facts()["mean"] for column in truths] == [1.0, 0.0]


def test_classes_lengths_and_sizes():
    boxes = Objects(boxes=((0, 0, 1, 1),) * 3, format="rel_xyxy", labels=("a", "b", "a"))
    assert over([boxes, Objects(boxes=(), format="rel_xyxy")]).lengths == {"length": (0, 3, 3)}
    assert over([boxes]).classes == {"a": 2, "b": 1}
    assert over([ClassLabel("x"), ClassLabels(("x", "y"))]).classes == {"x": 2, "y": 1}
    image = Image(file=FileRef(path="a"), height=4, width=6)
    assert over([image, image]).lengths == {"height": (4, 4, 8), "width": (6, 6, 12)}


def test_least_and_most_of_lengths_in_any_order():
    parts = [over([vector(1, 2)]), over([vector(1), vector(1, 2, 3)])]
    assert merged(parts).lengths == merged(parts[::-1]).lengths == {"length": (1, 3, 6)}


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([17, 90], ["17 to 90"]),
        ([5, 5], ["always 5"]),
        ([1.0, math.nan, math.nan, 3.0], ["1 to 3", "nan in 2 records"]),
        ([math.nan], ["nan in 1 record"]),
    ],
)
def test_ranges(numbers, words):
    assert [*range_words(merged(over([number]) for number in numbers))] == words
    assert [*range_words(over(numbers))] == words


def test_strings_are_counted_while_they_are_few_and_short():
    assert over(["a", ("a", "b"), "a"]).strings == {"a": 3, "b": 1}
    assert over(["b" * 100]).strings
    assert not over(["a", "b" * 101]).strings
    many = [str(number) for number in range(MAX_DISTINCT + 1)]
    assert len(over(many[1:]).strings) == MAX_DISTINCT
    for seen in (over(many), merged([over(many[:7000]), over(many[7000:]), over(["0"])])):
        assert seen.strings is None


def test_lists_of_existing_examples_merge_like_one():
    values = [3, "abcd" * 4, ListSummary(kind="bytes", length=1, form="raw", num_bytes=16), 1.5]
    values += [ListSummary(kind="int64", length=8), ListSummary(kind="bytes", length=1)]
    whole = over(values, FileRef(path="a"))
    parts = over(values[::2], FileRef(path="a")), over(values[1::2], FileRef(path="a"))
    assert counted(merged(parts)) == counted(whole)
    assert (whole.lists.lengths, whole.lists.characters) == ((1, 8), (0, 16))
    assert whole.lists.has_classes
    spans = whole.list_span(6), whole.list_span(7), whole.list_span(6, 4)
    assert spans == ((1, 8), (0, 8), (0, 2))


FLOATS = np.linspace(-1, 1, 16, dtype="<f4").tobytes()


TEXTS = {"form": "text", "num_bytes": 101, "num_characters": 101}


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("int64", [7], 7),
        ("float32", [0.5], 0.5),
        ("bytes", [b"a cat"], "a cat"),
        ("bytes", [b"a" * 101], ListSummary(kind="bytes", length=1, **TEXTS)),
        ("bytes", [b""], ListSummary(kind="bytes", length=1)),
        ("bytes", [b"a", b"b"], ListSummary(kind="bytes", length=2)),
        ("int64", [3, -1], ListSummary(kind="int64", length=2, minimum=-1, maximum=3)),
        (
            *("float32", [float("nan"), 2.0]),
            ListSummary(kind="float32", length=2, minimum=2.0, maximum=2.0, not_finite=1),
        ),
        (
            *("float32", [float("inf"), float("nan"), 2.0]),
            ListSummary(
                kind="float32",
                length=3,
                minimum=2.0,
                maximum=float("inf"),
                finite_range=(2.0, 2.0),
                not_finite=2,
            ),
        ),
        ("int64", [], ListSummary(kind="int64", length=0)),
        ("", [], ListSummary(kind="", length=0)),
        ("bytes", [FLOATS], ListSummary(kind="bytes", length=1, form="raw", num_bytes=64)),
    ],
)
def test_summary(kind, values, expected):
    found = summary(kind, values)

    assert found == expected
    assert type(found) is type(expected)
    assert kind_of(found) == kind


def test_a_pickle_holds_only_what_was_counted():
    observed = over([1.5, 2.5, math.nan])
    observed.strings = None

    copy = pickle.loads(pickle.dumps(observed))

    assert [getattr(copy, name) for name in ("types", "example", "range", "nans", "strings")] == [
        *(observed.types, observed.example, (1.5, 2.5), 1, None)
    ]
    assert copy.columns[0].facts() == observed.columns[0].facts()
    assert copy.classes == Counter()
    counted = observed.__getstate__()
    assert "classes" not in counted
    assert "strings" in counted
