"""Which numbers lose digits as float32, and what is said of them."""

import pytest

from beam_pipeline.kinds.numbers import describe_rounding, is_rounded
from tfrecord_dataset.format.feature import Feature


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(1700000061.5, True, id="a time"),
        pytest.param(-1700000061.5, True, id="a negative one"),
        pytest.param(2.0**24, False, id="held"),
        pytest.param(2.0**24 + 1, True, id="the first whole number that is skipped"),
        pytest.param(2**24 + 1, True, id="as an int"),
        pytest.param(2.0**24 + 2, False, id="the next is held"),
        pytest.param(2.0**24 - 0.4, False, id="smaller ones lose fractions alone"),
        pytest.param(0.1, False, id="a fraction"),
        pytest.param(1e20, False, id="few digits"),
        pytest.param(1.23456789e20, True, id="many digits"),
        pytest.param(1e39, False, id="beyond float32, an error elsewhere"),
        pytest.param(10**400, False, id="beyond all floats"),
        pytest.param(float("inf"), False, id="infinity"),
    ],
)
def test_is_rounded(number, expected):
    assert is_rounded(number) is expected


@pytest.mark.parametrize(
    ("kind", "number", "sentence"),
    [
        pytest.param(
            "scalar",
            1700000061.5,
            "x: float32 has 7 digits: 1700000061.5 is stored as 1700000000; store the difference "
            "from a number near it, or declare int64 or text with --schema",
            id="a time",
        ),
        pytest.param(
            "tensor",
            -16777217.0,
            "x: float32 has 7 digits: -16777217 is stored as -16777216; store the difference from "
            "a number near it, or declare float64 and encoding bytes with --schema",
            id="a whole number",
        ),
    ],
)
def test_describe(kind, number, sentence):
    schema = [
        Feature(name=name, kind=kind, dtype="float32", shape=(), key=name) for name in ("w", "x")
    ]
    assert describe_rounding(schema, {"x": number}) == [sentence]
