"""Figures of a report against the same by scikit-learn and by hand."""

import numpy as np
import pytest

from trainer.tasks.figures import ClassFigures, NumberFigures, Worst, precision_recall
from trainer.tasks.segmentation import PixelConfusion

CLASSES = ("a", "b", "c")


@pytest.fixture
def predicted():
    random = np.random.default_rng(4)
    logits = random.normal(size=(60, 3))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return random.integers(0, 3, 60), probabilities


def counted(target, probabilities, size=20):
    figures = ClassFigures(CLASSES)
    for start in range(0, len(target), size):
        part = slice(start, start + size)
        figures.update(target[part], {"probabilities": probabilities[part]})
    return figures


def test_one_class_per_record(predicted, scikit_learn):
    target, probabilities = predicted
    found = counted(*predicted).figures()["classes"]
    chosen = probabilities.argmax(axis=1)
    expected = scikit_learn.metrics.precision_recall_fscore_support(target, chosen)
    assert [row["name"] for row in found["rows"]] == [*CLASSES]
    for column, values in zip(("precision", "recall", "f1", "records"), expected, strict=True):
        assert [row[column] for row in found["rows"]] == pytest.approx(values.tolist())
    assert found["confusion"] == scikit_learn.metrics.confusion_matrix(target, chosen).tolist()
    assert found["confusions"][0][2] == max(
        count for place, count in np.ndenumerate(found["confusion"]) if place[0] != place[1]
    )


def test_any_number_of_classes(predicted, scikit_learn):
    _, probabilities = predicted
    target = (probabilities + np.random.default_rng(5).normal(0, 0.3, (60, 3)) > 0.4) * 1.0
    found = counted(target, probabilities).figures()["classes"]
    expected = scikit_learn.metrics.precision_recall_fscore_support(target, probabilities >= 0.5)
    for column, values in zip(("precision", "recall", "f1", "records"), expected, strict=True):
        assert [row[column] for row in found["rows"]] == pytest.approx(values.tolist())
    assert found["confusion"] == []


def test_precision_and_recall_by_threshold():
    members, others = np.array([0, 1, 0, 2]), np.array([3, 0, 1, 1])
    assert precision_recall(members, others) == [
        *[(2 / 3, 2 / 3), (2 / 3, 2 / 4), (1.0, 3 / 5), (1.0, 3 / 8)]
    ]
    assert precision_recall(0 * members, others) == []


def test_mistakes_are_those_that_were_thought_the_least_probable(predicted):
    target, probabilities = predicted
    numbers = [example.number for example in counted(*predicted).examples()]
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != target)
    by_true = sorted(wrong, key=lambda row: probabilities[row, target[row]])
    assert numbers[:12] == by_true[:12]
    assert set(numbers[12:]) <= set(sorted(wrong, key=lambda row: -probabilities[row].max())[:12])


def test_numbers(scikit_learn):
    random = np.random.default_rng(1)
    true = random.normal(size=(3_000, 1))
    found = NumberFigures(1)
    predicted = true + random.normal(0.1, 0.3, true.shape)
    for start in range(0, 3_000, 500):
        part = slice(start, start + 500)
        found.update(true[part], {"values": predicted[part]})
    (column,) = found.figures()["numbers"]
    assert column["r2"] == pytest.approx(scikit_learn.metrics.r2_score(true, predicted))
    assert column["mae"] == pytest.approx(np.abs(true - predicted).mean())
    assert column["bias"] == pytest.approx((predicted - true).mean())
    assert 400 < len(column["points"]) <= 1_000
    worst = int(np.abs(true - predicted)[:, 0].argmax())
    assert found.examples()[0].number == worst


def test_maps():
    true = np.array([[[0, 1], [1, 255]], [[0, 0], [1, 1]]], np.uint8)
    predicted = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 1]]], np.uint8)
    found = PixelConfusion(("ground", "cell", "never"))
    found.update(true, {"prediction": predicted})
    ground, cell, never = found.figures()["maps"]
    assert ground == {"name": "ground", "pixels": 3, "iou": 3 / 4, "precision": 3 / 4, "recall": 1}
    assert (cell["iou"], cell["precision"], cell["recall"]) == (3 / 4, 1, 3 / 4)
    assert (never["iou"], never["precision"], never["recall"]) == (None, None, None)
    first, second = found.examples()
    assert (first.number, first.text) == (0, "33.3% of the pixels are wrong")
    assert second.number == 1


def test_the_worst_are_kept_in_order_and_of_equals_the_first():
    worst = Worst(2)
    for badness, name in [(1, "a"), (3, "b"), (2, "c"), (3, "d"), (3, "e")]:
        worst.add(badness, name)
    assert [*worst] == [("b",), ("d",)]
