"""The area under the ROC curve, and its mean over classes."""

import numpy as np
import pytest

from trainer.tasks.figures import AreaUnderCurve, area_under_curve


@pytest.mark.parametrize(
    ("members", "others", "expected"),
    [
        pytest.param([0, 0, 3], [2, 1, 0], 1.0, id="all above"),
        pytest.param([3, 0, 0], [0, 1, 2], 0.0, id="all below"),
        pytest.param([1, 1, 0], [1, 1, 0], 0.5, id="alike"),
        pytest.param([0, 2, 0], [1, 0, 1], 0.5, id="between"),
        pytest.param([1, 0, 3], [2, 2, 0], (0.5 * 2 + 3 * 4) / 16, id="by hand"),
        pytest.param([0, 0, 0], [1, 1, 1], np.nan, id="no members"),
    ],
)
def test_area_under_curve(members, others, expected):
    found = area_under_curve(np.array(members), np.array(others))

    assert found == pytest.approx(expected, nan_ok=True)


def by_pairs(target, scores):
    """AUC by its definition: over all pairs of a member and another record."""
    members, others = scores[target], scores[~target]
    above = members[:, None] > others
    return np.mean(above + (members[:, None] == others) / 2)


@pytest.mark.parametrize("scale", [1, 8, 40], ids=["doubtful", "sure", "all but 0 or 1"])
def test_the_mean_over_classes_is_that_of_all_pairs(scale):
    """Of a sure model nearly all probabilities are near 0 and 1, and still in order."""
    rng = np.random.default_rng(scale)
    target = rng.integers(0, 4, 600)
    logits = rng.normal(0, scale, (600, 4)) + scale * (np.arange(4) == target[:, None])
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)
    ranking = AreaUnderCurve(5)
    for rows in (slice(0, 250), slice(250, None)):
        padded = np.pad(probabilities[rows], [(0, 0), (0, 1)])
        ranking.update(target[rows], {"probabilities": padded})

    expected = [by_pairs(target == number, probabilities[:, number]) for number in range(4)]
    *found, of_no_record = ranking.by_class
    assert found == pytest.approx(expected, abs=0.003)
    assert np.isnan(of_no_record)
    assert ranking.result() == {"auc": pytest.approx(np.mean(found))}


def test_several_classes_per_record_and_a_diverged_model():
    ranking = AreaUnderCurve(2)
    target = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    ranking.update(target, {"probabilities": [[0.9, 0.8], [0.1, 0.7], [0.4, 0.75]]})

    assert ranking.by_class == [1.0, 0.5]
    ranking.update(target, {"probabilities": np.full((3, 2), np.nan)})
    assert np.isfinite(ranking.result()["auc"])
    assert np.isnan(AreaUnderCurve(2).result()["auc"])
