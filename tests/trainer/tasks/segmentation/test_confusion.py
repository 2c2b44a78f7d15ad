"""Metrics of class maps: those of a count by hand, however the maps come."""

import numpy as np
import pytest

from trainer.tasks.segmentation import PixelConfusion

CLASSES = ("road", "car", "tree", "never")
RANDOM = np.random.default_rng(5)
TRUE = RANDOM.choice([0, 1, 2, 255], (7, 9, 11), p=[0.6, 0.1, 0.2, 0.1]).astype(np.uint8)
FOUND = np.where(RANDOM.random(TRUE.shape) < 0.7, TRUE % 255 % 3, 2).astype(np.uint8)


def by_hand(true, found):
    """Metrics by sets of pixels."""
    labelled = true != 255
    of_class = {}
    for number, name in enumerate(CLASSES):
        is_true, is_found = (true == number) & labelled, (found == number) & labelled
        union = (is_true | is_found).sum()
        of_class[name] = (is_true & is_found).sum() / union if union else np.nan
    return {
        "mIoU": np.nanmean([*of_class.values()]),
        "pixel_accuracy": (true == found)[labelled].mean(),
        **{f"IoU/{name}": value for name, value in of_class.items()},
    }


def counted(*parts):
    confusion = PixelConfusion(CLASSES)
    for true, found in parts:
        confusion.update(true, {"prediction": found})
    return confusion


def test_metrics_are_those_of_a_count_by_hand():
    result = counted((TRUE, FOUND)).result()

    assert result == pytest.approx(by_hand(TRUE, FOUND), nan_ok=True)
    assert np.isnan(result["IoU/never"])


def test_a_class_that_is_only_predicted_counts_as_missed():
    result = counted((np.zeros((1, 2, 2), np.uint8), np.full((1, 2, 2), 3, np.uint8))).result()

    assert (result["IoU/never"], result["mIoU"], result["pixel_accuracy"]) == (0, 0, 0)


def test_without_labelled_pixels_nothing_is_known():
    result = counted((np.full((1, 2, 2), 255, np.uint8), FOUND[:1, :2, :2])).result()

    assert np.isnan([*result.values()]).all()
