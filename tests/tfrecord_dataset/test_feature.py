"""Features to JSON and back, and their classes."""

import pytest

from tfrecord_dataset.declaration import features_from_json
from tfrecord_dataset.feature import Feature, class_names


def test_zero_is_a_bound_and_none_is_not():
    bounded = Feature(name="n", kind="scalar", dtype="int64", shape=(), key="n", minimum=0)
    assert bounded.to_json()["minimum"] == 0
    assert "maximum" not in bounded.to_json()


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param({"b": {"kind": "boxes", "classes": ["x"]}}, ["x"], id="boxes"),
        pytest.param(
            {
                "b": {"kind": "boxes", "classes": ["x"]},
                "l": {"kind": "class_label", "classes": ["y"]},
            },
            ["y"],
            id="the label wins",
        ),
        pytest.param({"t": {"kind": "text"}}, [], id="none"),
    ],
)
def test_class_names(declared, expected):
    assert class_names(features_from_json(declared).values()) == expected
