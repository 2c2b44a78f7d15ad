"""What a run states of its models' validation."""

import pytest

from trainer.options.train import TrainConfig
from trainer.runs.directory import RunDirectory
from trainer.runs.trained import validated

ROWS = [
    {"epoch": 1, "step": 5, "loss": 3.0, "val_loss": 2.0, "val_mAP": 0.1, "val_min_score": 0.2},
    {"epoch": 2, "step": 9, "loss": 2.0, "val_loss": 3.0, "val_mAP": 0.4, "val_min_score": 0.3},
    {"epoch": 3, "step": 13, "loss": 1.0, "val_loss": 4.0, "val_mAP": 0.2, "val_min_score": 0.4},
]


@pytest.mark.parametrize(
    ("which", "best_by", "expected"),
    [("last", "loss", 0.4), ("best", "loss", 0.2), ("best", "mAP", 0.3), ("best", "mAP:min", 0.2)],
)
def test_a_metric_of_the_model_that_is_used(tmp_path, which, best_by, expected):
    RunDirectory(str(tmp_path)).write_history(ROWS)
    options = TrainConfig(data="", output="", best_by=best_by)
    assert validated(str(tmp_path), which, options, "min_score") == expected


@pytest.mark.parametrize("score", [None, float("nan")])
def test_runs_without_one(tmp_path, score):
    row = {"epoch": 1, "step": 5, "loss": 3.0} | ({} if score is None else {"val_min_score": score})
    options = TrainConfig(data="", output="")
    assert validated(str(tmp_path), "last", options, "min_score") is None
    RunDirectory(str(tmp_path)).write_history([row])
    assert validated(str(tmp_path), "last", options, "min_score") is None
