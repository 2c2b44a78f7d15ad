"""Figures of boxes by hand: of each class and size, by score, and the images to look at."""

import numpy as np
import pytest

from trainer.tasks.detection.mean_average_precision import MeanAveragePrecision

# Of each image: objects (label, box), and detections (label, box, score).
FIRST, SECOND, SMALL = [0.1, 0.1, 0.5, 0.5], [0.5, 0.5, 0.9, 0.9], [0.0, 0.0, 0.05, 0.05]
IMAGES = [
    ([(0, FIRST), (1, SECOND)], [(0, FIRST, 0.9)]),
    ([(0, FIRST), (-1, FIRST)], [(0, FIRST, 0.8), (0, SECOND, 0.6)]),
]


def metric(images):
    found = MeanAveragePrecision(["a", "b", "c"])
    for objects, detections in images:
        found.update(
            {
                "boxes": np.array([[box for _, box in objects]]),
                "labels": np.array([[label for label, _ in objects]]),
                "crowd": np.zeros((1, len(objects)), bool),
                "windows": np.array([[0.0, 0.0, 1.0, 1.0]]),
            },
            {
                "boxes": np.array([[box for _, box, _ in detections]]),
                "labels": np.array([[label for label, _, _ in detections]]),
                "scores": np.array([[score for *_, score in detections]]),
            },
        )
    return found


@pytest.fixture
def found():
    made = metric(IMAGES)
    made.result()
    return made


def test_by_class_and_size(found):
    facts = found.figures()["boxes"]
    a, b, c = facts["rows"]
    assert (a["objects"], a["ap50"], a["ar"]) == (2, pytest.approx(1), pytest.approx(1))
    assert (b["objects"], b["ap"], b["ar"]) == (1, 0, 0)
    assert (c["objects"], c["ap"], c["ar"]) == (0, None, None)
    assert [each["name"] for each in facts["sizes"]] == ["small", "medium", "large"]
    assert [each["ap"] for each in facts["sizes"]] == [None, None, pytest.approx(1 / 2)]


def test_small_objects_are_counted_apart():
    made = metric([([(0, SMALL), (0, FIRST)], [(0, SMALL, 0.9)])])
    made.result()
    small, medium, large = made.figures()["boxes"]["sizes"]
    assert (small["ap"], medium["ap"], large["ap"]) == (pytest.approx(1), None, 0)


def test_f1_by_score_and_precision_by_recall(found):
    facts = found.figures()["boxes"]
    assert facts["f1"] == [
        (pytest.approx(score), pytest.approx(f1))
        for score, f1 in [(0.6, 4 / 6), (0.8, 0.8), (0.9, 0.5)]
    ]
    assert facts["best"] == pytest.approx([0.8, 0.7])
    assert set(facts["curves"]) == {"all classes", "a", "b"}
    assert facts["curves"]["a"][-1] == (1, pytest.approx(1))


def test_truth_and_predictions_at_the_best_score(found):
    first, second = found.examples()
    assert (first.number, first.text) == (0, "1 of 2 missed, 0 wrong")
    assert (second.number, second.text) == (1, "0 of 1 missed, 0 wrong")
    assert [box["text"] for box in second.overlays["true"].boxes] == ["a"]
    (shown,) = second.overlays["predicted"].boxes
    assert (shown["label"], shown["text"], shown["box"]) == (0, "a 0.80", pytest.approx(FIRST))


def test_without_objects_or_boxes_there_is_nothing_to_show():
    made = metric([([(-1, FIRST)], [(0, FIRST, 0.9)])])
    made.result()
    assert (made.figures(), made.examples()) == ({}, [])


@pytest.mark.parametrize(
    ("label", "found", "expected", "least"),
    [
        pytest.param(-1, 0, np.nan, np.nan, id="no object at all"),
        pytest.param(0, -1, 0.0, np.nan, id="no detection"),
        pytest.param(0, 0, 1.0, 0.45, id="the object itself"),
        pytest.param(0, 1, 0.0, 0.45, id="another class"),
    ],
)
def test_the_ends_of_map(label, found, expected, least):
    values = dict.fromkeys(("mAP", "mAP50", "mAP75", "F1"), expected) | {"min_score": least}
    result = metric([([(label, FIRST)], [(found, FIRST, 0.9)])]).result()
    assert result == pytest.approx(values, nan_ok=True)
