"""Choosing the best model by a metric and its direction."""

import pytest

from trainer.errors import ConfigError, UnknownNameError
from trainer.report.history import Best, best_by

METRICS = ("loss", "mae", "mAP", "IoU/a:max", "mine")


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("loss", Best("loss", True)),
        ("mae", Best("mae", True)),
        ("mAP", Best("mAP", False)),
        ("mAP:min", Best("mAP", True)),
        ("mine:max", Best("mine", False)),
        ("IoU/a:max", Best("IoU/a:max", False)),
        ("IoU/a:max:min", Best("IoU/a:max", True)),
    ],
)
def test_what_is_stated(stated, expected):
    assert best_by(stated, METRICS, ("mine",), validated=True) == expected


@pytest.mark.parametrize(
    ("stated", "validated", "error", "message"),
    [
        ("map", True, UnknownNameError, "metric, for --best-by, 'map'.*mAP"),
        ("val_loss", True, UnknownNameError, "choose from: loss, mae, mAP, IoU/a:max, mine"),
        ("mAP:most", True, UnknownNameError, "'mAP:most'"),
        ("mine", True, ConfigError, "--best-by mine:min or mine:max"),
        ("F1", False, UnknownNameError, "metric without a validation split, for --best-by"),
    ],
)
def test_what_is_refused(stated, validated, error, message):
    with pytest.raises(error, match=message):
        best_by(stated, METRICS, ("mine",), validated=validated)


def test_the_best_row():
    assert Best().rank({"loss": 2.0}) == 2.0
    assert Best().rank({"loss": 2.0, "val_loss": 1.0}) == 1.0
    assert Best("mAP", False).rank({"loss": 2.0}) == float("inf")
    rows = [{"loss": loss, "val_loss": loss, "val_accuracy": 0.9} for loss in (0.5, 0.2, 0.3, 0.2)]
    assert Best("accuracy", is_least=False).place(rows) == 1  # ties: lowest loss
