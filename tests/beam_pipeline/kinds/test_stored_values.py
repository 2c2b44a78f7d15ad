"""Summaries of an Example's lists are short, and merge."""

import numpy as np
import pytest

from beam_pipeline.kinds.stored import kind_of, summary
from beam_pipeline.records import ListSummary

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
