"""Metrics over a split and figures of a report, compared with scikit-learn and by hand."""

import numpy as np
import pytest

from trainer.tasks.baselines import (
    FrequentClasses,
    Median,
    MedianBoxes,
    MostFrequent,
)
from trainer.tasks.figures import (
    ClassFigures,
    NumberFigures,
    Worst,
    interval,
    lowest_recalls,
    precision_recall,
)
from trainer.tasks.targets.map_target import PixelConfusion

CLASSES = ("a", "b", "c")


@pytest.fixture
def predicted():
    random = np.random.default_rng(4)
    logits = random.normal(size=(60, 3))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return random.integers(0, 3, 60), probabilities


def counted(target, probabilities, size=20):
    figures = ClassFigures(CLASSES, has_one_class=target.ndim == 1)
    for start in range(0, len(target), size):
        part = slice(start, start + size)
        figures.update(target[part], {"probabilities": probabilities[part]})
    return figures


def check_rows(found, expected):
    assert [row["name"] for row in found["rows"]] == [*CLASSES]
    for column, values in zip(("precision", "recall", "f1", "records"), expected, strict=True):
        assert [row[column] for row in found["rows"]] == pytest.approx(values.tolist())


def test_one_class_per_record(predicted, scikit_learn):
    target, probabilities = predicted
    figures = counted(*predicted)
    found = figures.figures()["classes"]
    chosen = probabilities.argmax(axis=1)
    check_rows(found, scikit_learn.metrics.precision_recall_fscore_support(target, chosen))
    assert found["confusion"] == scikit_learn.metrics.confusion_matrix(target, chosen).tolist()
    assert found["confusions"][0][2] == max(
        count for place, count in np.ndenumerate(found["confusion"]) if place[0] != place[1]
    )
    means = figures.result()
    del means["auc"]
    assert means == pytest.approx(
        {
            "macro_f1": scikit_learn.metrics.f1_score(target, chosen, average="macro"),
            "balanced_accuracy": scikit_learn.metrics.balanced_accuracy_score(target, chosen),
        }
    )
    recalls = figures.details()["recall"]
    assert [*recalls] == [*CLASSES]
    [line] = lowest_recalls([figures])
    least = min(recalls, key=recalls.get)
    assert line.startswith(f"lowest recall: {least} {recalls[least]:.2f}, ")
    # Mistakes: the least probable true classes, then the most confident wrong ones.
    numbers = [example.number for example in figures.examples()]
    wrong = np.flatnonzero(chosen != target)
    assert numbers[:12] == sorted(wrong, key=lambda row: probabilities[row, target[row]])[:12]
    assert set(numbers[12:]) <= set(sorted(wrong, key=lambda row: -probabilities[row].max())[:12])


def test_any_number_of_classes(predicted, scikit_learn):
    _, probabilities = predicted
    target = (probabilities + np.random.default_rng(5).normal(0, 0.3, (60, 3)) > 0.4) * 1.0
    found = counted(target, probabilities).figures()["classes"]
    chosen = probabilities >= 0.5
    check_rows(found, scikit_learn.metrics.precision_recall_fscore_support(target, chosen))
    assert found["confusion"] == []


def test_precision_and_recall_by_threshold():
    members, others = np.array([0, 1, 0, 2]), np.array([3, 0, 1, 1])
    assert precision_recall(members, others) == [
        *[(2 / 3, 2 / 3), (2 / 3, 2 / 4), (1.0, 3 / 5), (1.0, 3 / 8)]
    ]
    assert precision_recall(0 * members, others) == []


def by_pairs(target, scores):
    """Compute AUC by definition, over all pairs of a member and another record."""
    members, others = scores[target], scores[~target]
    return np.mean((members[:, None] > others) + (members[:, None] == others) / 2)


@pytest.mark.parametrize("scale", [1, 8, 40], ids=["doubtful", "sure", "all but 0 or 1"])
def test_auc_is_that_of_all_pairs(scale):
    """A confident model's probabilities are nearly all close to 0 or 1, but still ordered."""
    rng = np.random.default_rng(scale)
    target = rng.integers(0, 4, 600)
    logits = rng.normal(0, scale, (600, 4)) + scale * (np.arange(4) == target[:, None])
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
    figures = ClassFigures("abcde", has_one_class=True)
    padded = np.pad(probabilities, [(0, 0), (0, 1)])
    figures.update(target, {"probabilities": padded})

    expected = [by_pairs(target == number, probabilities[:, number]) for number in range(4)]
    *found, of_no_record = figures.areas
    assert found == pytest.approx(expected, abs=0.003)
    assert np.isnan(of_no_record)
    assert figures.result()["auc"] == pytest.approx(np.mean(found))


def test_intervals_of_classes():
    """Expected: Wilson's interval, and for recalls the normal distribution's."""
    target = np.repeat([0, 1], [300, 60])
    wrong = np.arange(360) % 3 == 0
    figures = ClassFigures("ab", has_one_class=True)
    figures.update(target, {"probabilities": np.eye(2)[np.where(wrong, 1 - target, target)]})
    found = figures.intervals()

    assert found["accuracy"] == interval(240 / 360, 360)
    deviation = ((2 / 9) * (1 / 300 + 1 / 60)) ** 0.5 / 2
    expected = [2 / 3 - 1.96 * deviation, 2 / 3 + 1.96 * deviation]
    assert found["balanced_accuracy"] == pytest.approx(expected, abs=0.01)
    low, high = found["macro_f1"]
    assert low < figures.result()["macro_f1"] < high < low + 0.15
    assert ClassFigures("ab", has_one_class=True).intervals() == {}


def test_intervals_of_numbers():
    """Expected: the standard error of a mean."""
    errors = np.random.default_rng(2).exponential(3, 400)
    figures = NumberFigures("y", 1)
    figures.update(np.zeros((400, 1)), {"values": errors[:, None]})
    found = figures.intervals()

    reach = 1.96 * errors.std() / 20
    assert found["mae"] == pytest.approx([errors.mean() - reach, errors.mean() + reach], abs=0.05)
    assert found["rmse"][0] < figures.result()["rmse"] < found["rmse"][1]
    assert NumberFigures("y", 2).intervals() == {}


def test_the_threshold_of_two_classes(scikit_learn):
    """No threshold between predicted probabilities has a better macro F1."""
    random = np.random.default_rng(7)
    target = (random.random(400) < 0.1).astype(int)
    second = 1 / (1 + np.exp(-random.normal(2 * target - 3, 1)))
    figures = ClassFigures("ab", has_one_class=True)
    figures.update(target, {"probabilities": np.stack([1 - second, second], axis=1)})

    def macro_f1(least):
        return scikit_learn.metrics.f1_score(target, second >= least, average="macro")

    found = figures.result()["threshold"]
    assert macro_f1(found) == max(map(macro_f1, second)) > macro_f1(0.5) + 0.1
    figures = ClassFigures("ab", has_one_class=True)
    figures.update(target[:0], {"probabilities": np.zeros((0, 2))})
    assert np.isnan(figures.result()["threshold"])


def test_auc_of_several_classes_per_record_and_of_a_diverged_model():
    figures = ClassFigures("ab", has_one_class=False)
    assert np.isnan(figures.result()["auc"])
    target = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    figures.update(target, {"probabilities": [[0.9, 0.8], [0.1, 0.7], [0.4, 0.75]]})
    assert figures.areas == [1.0, 0.5]
    figures.update(target, {"probabilities": np.full((3, 2), np.nan)})
    assert np.isfinite(figures.result()["auc"])


def test_numbers(scikit_learn):
    random = np.random.default_rng(1)
    true = random.normal(size=(3_000, 1))
    found = NumberFigures("y", 1)
    predicted = true + random.normal(0.1, 0.3, true.shape)
    for start in range(0, 3_000, 500):
        part = slice(start, start + 500)
        found.update(true[part], {"values": predicted[part]})
    (column,) = found.figures()["numbers"]
    assert column["r2"] == pytest.approx(scikit_learn.metrics.r2_score(true, predicted))
    assert column["mae"] == pytest.approx(np.abs(true - predicted).mean())
    assert column["bias"] == pytest.approx((predicted - true).mean())
    assert found.result() == pytest.approx(
        {
            "rmse": scikit_learn.metrics.root_mean_squared_error(true, predicted),
            "r2": scikit_learn.metrics.r2_score(true, predicted),
        }
    )
    assert 400 < len(column["points"]) <= 1_000
    worst = int(np.abs(true - predicted)[:, 0].argmax())
    assert found.examples()[0].number == worst


RANDOM = np.random.default_rng(5)
TRUE = RANDOM.choice([0, 1, 2, 255], (7, 9, 11), p=[0.6, 0.1, 0.2, 0.1]).astype(np.uint8)
FOUND = np.where(RANDOM.random(TRUE.shape) < 0.7, TRUE % 255 % 3, 2).astype(np.uint8)
NOTHING = np.zeros((1, 2, 2), np.uint8)


def by_hand(true, found):
    """Compute metrics from sets of pixels."""
    labelled = true != 255
    of_class = {}
    for number, name in enumerate("abcd"):
        is_true, is_found = (true == number) & labelled, (found == number) & labelled
        union = (is_true | is_found).sum()
        of_class[f"IoU/{name}"] = (is_true & is_found).sum() / union if union else np.nan
    accuracy = (true == found)[labelled].mean()
    return {"mIoU": np.nanmean([*of_class.values()]), "pixel_accuracy": accuracy, **of_class}


@pytest.mark.parametrize(
    ("true", "found", "expected"),
    [
        pytest.param(TRUE, FOUND, by_hand(TRUE, FOUND), id="a class never occurs"),
        pytest.param(NOTHING, NOTHING + 3, by_hand(NOTHING, NOTHING + 3), id="only predicted"),
        pytest.param(
            *(NOTHING + 255, NOTHING, dict.fromkeys(by_hand(TRUE, FOUND), np.nan)), id="no label"
        ),
    ],
)
def test_metrics_of_maps(true, found, expected):
    confusion = PixelConfusion("abcd")
    confusion.update(true, {"prediction": found})
    assert confusion.result() == pytest.approx(expected, nan_ok=True)


def test_figures_of_maps():
    true = np.array([[[0, 1], [1, 255]], [[0, 0], [1, 1]]], np.uint8)
    predicted = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 1]]], np.uint8)
    found = PixelConfusion(("background", "cell", "never"))
    found.update(true, {"prediction": predicted})
    ground, cell, never = found.figures()["maps"]
    shares = {"iou": 3 / 4, "precision": 3 / 4, "recall": 1}
    assert ground == {"name": "background", "color": "", "pixels": 3, **shares}
    assert cell["color"] == "#800000"
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


BOXES = {
    "boxes": np.array([[[0.1, 0.1, 0.5, 0.5]]], np.float32),
    "labels": np.zeros((1, 1), np.int64),
    "crowd": np.zeros((1, 1), bool),
    "windows": np.array([[0, 0, 1, 1]], np.float32),
}


@pytest.mark.parametrize(
    ("baseline", "targets", "result"),
    [
        (MostFrequent("accuracy", CLASSES), [[0, 1], [1, 1]], {"baseline_accuracy": 0.75}),
        (Median(), [[[0.0], [9.0]], [[1.0]]], {"baseline_mae": 3.0}),
        (
            FrequentClasses(CLASSES),
            [[[1, 1, 0], [1, 0, 0]], [[0, 0, 0], [1, 1, 1]]],
            {"baseline_f1": (1 + 2 / 3 + 0 + 4 / 5) / 4},
        ),
        (  # without what is ignored
            MostFrequent("mIoU", ["a", "b"]),
            [[[[0, 0], [0, 1]], [[0, 0], [255, 255]]]],
            {"baseline_mIoU": 5 / 6 / 2},
        ),
        (MedianBoxes(["a"]), [BOXES, BOXES], {"baseline_mAP50": 1.0}),
    ],
)
def test_what_a_guess_reaches(baseline, targets, result):
    for target in targets:
        baseline.update(target if isinstance(target, dict) else np.array(target), {})
    assert baseline.result() == pytest.approx(result)


def test_a_number_is_compared_with_further_metrics():
    result = {"mae": 2.0, "rmse": 3.0, "r2": 0.5, "baseline_mae": 4.0}
    guess = "always guessing the median gives mae 4"
    assert Median().compare(result) == f"mae 2, rmse 3, r2 0.5; {guess}"
    assert Median().compare(result, stated="mae") == f"rmse 3, r2 0.5; {guess}"


def test_a_model_compared_with_a_guess():
    baseline = MostFrequent("accuracy", CLASSES)
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


@pytest.mark.parametrize(("macro_f1", "is_better"), [(0.6, True), (0.48, False)])
def test_where_one_class_is_rare_a_guess_is_compared_by_macro_f1(macro_f1, is_better):
    baseline = MostFrequent("accuracy", CLASSES[:2])
    baseline.update(np.array([0] * 19 + [1]), {})
    found = baseline.result() | {"accuracy": 0.9, "macro_f1": macro_f1}
    text = f"accuracy 0.9, macro_f1 {macro_f1}; always guessing a gives accuracy 0.95"
    assert baseline.compare(found).endswith(text)
    assert baseline.is_beaten_by(found) == is_better == (baseline.compare(found) == text)


def test_of_several_classes_as_many_are_guessed_as_are_best():
    baseline = FrequentClasses(CLASSES)
    baseline.update(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 0]]), {})
    baseline.value()

    assert baseline.guess == "always guessing b, a"
    assert baseline.missing == ["c"]
