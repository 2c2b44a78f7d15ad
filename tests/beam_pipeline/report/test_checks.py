"""Findings of the report's checks about classes and images."""

import numpy as np
import pytest

from beam_pipeline.report.checks import checks


@pytest.mark.parametrize(
    ("rejected", "allowed", "expected"),
    [
        ({}, 0.0, ("green", "nothing was left out")),
        ({"duplicate": 3}, 0.1, ("green", "nothing was left out")),
        (
            {"in no image set": 48, "not an image file": 1},
            0.0,
            ("green", "no data among the rejects: 48 × in no image set, 1 × not an image file"),
        ),
        ({"data not read": 1}, 0.0, ("amber", "1 × data not read")),
        ({"truncated image": 1}, 0.1, ("amber", "1 × truncated image")),
        ({"truncated image": 2}, 0.1, ("red", "2 × truncated image")),
    ],
)
def test_rejects_are_bad_only_where_bad_records_are_allowed(rejected, allowed, expected):
    metadata = {"rejected": rejected, "config": {"max_bad_fraction": allowed}}
    figures = {"splits": [{"name": "train", "records": 150}]}
    figures |= {name: [] for name in ("classes", "objects", "numbers")}
    first = next(checks(metadata, figures))
    assert (first.level, first.text) == expected


def findings(rows, *, without=0, of_objects=False):
    """Return the checks that are not green, for a label with these counts in train and test."""
    sizes = np.sum(list(rows.values()), axis=0).tolist()
    classes = {
        "feature": "label", "of_objects": of_objects, "exact": True, "without": without,
        "rows": [
            {"name": name, "total": sum(counts), "splits": counts}
            for name, counts in sorted(rows.items(), key=lambda row: -sum(row[1]))
        ],
    }  # fmt: skip
    named = zip(("train", "test"), sizes, strict=True)
    figures = {
        "splits": [{"name": name, "records": size} for name, size in named],
        "classes": [classes], "objects": [], "numbers": [], "sample": "a sample of 60 records",
    }  # fmt: skip
    return [check.text for check in checks({}, figures) if check.level != "green"]


def test_mixes_of_classes():
    assert findings({"cat": [100, 50], "dog": [100, 50]}) == []
    assert findings({"cat": [100, 45], "dog": [100, 5]}) == [
        "test has another class distribution: cat is 90% of it, and 58% of all"
    ]
    assert findings({"cat": [100, 9], "dog": [100, 3]}) == [], "too few to say"
    assert findings({"cat": [100, 9], "dog": [100, 1]}) == ["dog 1 in test"]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, "3 of a sample of 60 records have none"),
        (
            {"duplicates": {}, "without_boxes": {"train": 90, "test": 1}},
            "91 of all 1,000 images have none",
        ),
        ({"duplicates": {}}, "in each of all 1,000 images"),
    ],
)
def test_counts_say_whether_they_are_of_all_records(metadata, expected):
    boxes = {"feature": "boxes", "of_objects": True, "exact": False, "rows": [
        {"name": "cat", "total": 50, "splits": [50]}, {"name": "dog", "total": 40, "splits": [40]}
    ]}  # fmt: skip
    figures = {
        "splits": [{"name": "train", "records": 1000}], "classes": [boxes], "numbers": [],
        "objects": [{"empty": 3}], "sampled": 60, "sample": "a sample of 60 records",
    }  # fmt: skip
    texts = [check.text for check in checks(metadata, figures)]
    assert expected in texts
    assert "2 classes, each 40 to 50 times in a sample of 60 records" in texts
    assert ("no duplicate content" in texts) == bool(metadata), "adopt looks for none"
