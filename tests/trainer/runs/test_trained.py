"""Choosing the history row of a run's model."""

import pytest

from trainer.runs.trained import row_of

ROWS = [
    {"epoch": 1, "step": 5, "loss": 3.0, "val_loss": 2.0, "val_mAP": 0.1, "val_min_score": 0.2},
    {"epoch": 2, "step": 9, "loss": 2.0, "val_loss": 3.0, "val_mAP": 0.4, "val_min_score": 0.3},
    {"epoch": 3, "step": 13, "loss": 1.0, "val_loss": 4.0, "val_mAP": 0.2, "val_min_score": 0.4},
]


@pytest.mark.parametrize(
    ("which", "best_by", "expected"),
    [("last", "loss", 0.4), ("best", "loss", 0.2), ("best", "mAP", 0.3), ("best", "mAP:min", 0.2)],
)
def test_the_row_of_the_model_that_is_used(which, best_by, expected):
    assert row_of(ROWS, which, best_by)["val_min_score"] == expected


def test_without_validation_the_model_is_the_last():
    rows = [{"epoch": 1, "step": 5, "loss": 1.0}, {"epoch": 2, "step": 9, "loss": 2.0}]
    assert row_of(rows, "best", None) is rows[1]
