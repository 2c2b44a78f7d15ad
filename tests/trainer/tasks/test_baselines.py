"""Metrics of trivial guesses."""

import numpy as np
import pytest

from trainer.tasks.baselines import (
    FrequentClasses,
    Median,
    MedianBoxes,
    MostFrequent,
)


def boxes(*rows):
    """Make targets of images with one box each."""
    count = len(rows)
    return {
        "boxes": np.array(rows, np.float32)[:, None],
        "labels": np.zeros((count, 1), np.int64),
        "crowd": np.zeros((count, 1), bool),
        "windows": np.array([[0, 0, 1, 1]] * count, np.float32),
    }


@pytest.mark.parametrize(
    ("baseline", "targets", "result"),
    [
        pytest.param(
            MostFrequent("accuracy", ["a", "b", "c"]),
            [[0, 1], [1, 1]],
            {"baseline_accuracy": 0.75},
            id="classes",
        ),
        pytest.param(Median(), [[[0.0], [9.0]], [[1.0]]], {"baseline_mae": 3.0}, id="numbers"),
        pytest.param(
            FrequentClasses(["a", "b", "c"]),
            [[[1, 1, 0], [1, 0, 0]], [[0, 0, 0], [1, 1, 1]]],
            {"baseline_f1": (1 + 2 / 3 + 0 + 4 / 5) / 4},
            id="several classes",
        ),
        pytest.param(
            MostFrequent("mIoU", ["a", "b"]),
            [[[[0, 0], [0, 1]], [[0, 0], [255, 255]]]],
            {"baseline_mIoU": 5 / 6 / 2},
            id="maps, without what is ignored",
        ),
        pytest.param(
            MedianBoxes(["a"]),
            [boxes((0.1, 0.1, 0.5, 0.5)), boxes((0.1, 0.1, 0.5, 0.5))],
            {"baseline_mAP50": 1.0},
            id="boxes",
        ),
    ],
)
def test_what_a_guess_reaches(baseline, targets, result):
    for target in targets:
        baseline.update(target if isinstance(target, dict) else np.array(target), {})
    assert baseline.result() == pytest.approx(result)


def test_a_model_compared_with_a_guess():
    baseline = MostFrequent("accuracy", ["a", "b", "c"])
    baseline.update(np.array([1, 1, 0, 1]), {})
    found = baseline.result()
    assert baseline.missing == ["c"]
    guess = "always guessing b gives accuracy 0.75"
    better, equal = found | {"accuracy": 0.8}, found | {"accuracy": 0.75}
    assert baseline.compare(better) == f"accuracy 0.8; {guess}"
    assert baseline.compare(better, stated="accuracy") == guess
    assert baseline.compare(equal, stated="accuracy") == (
        f"the model does not beat a trivial guess: {guess}"
    )


def test_of_several_classes_as_many_are_guessed_as_are_best():
    baseline = FrequentClasses(["a", "b", "c"])
    baseline.update(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 0]]), {})
    baseline.value()

    assert baseline.guess == "always guessing b, a"
    assert baseline.missing == ["c"]
