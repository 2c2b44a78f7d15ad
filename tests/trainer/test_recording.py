"""What is kept when an epoch ends."""

import keras
import numpy as np
import pytest

from trainer.checkpoint import Checkpoints
from trainer.errors import TrainingDivergedError
from trainer.progress import Progress
from trainer.recording import Recorder
from trainer.run_directory import RunDirectory


@pytest.fixture
def record(tmp_path):
    """A function from validation losses to the run and the recorder."""

    def make(val_losses):
        run = RunDirectory(str(tmp_path))
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
        optimizer = keras.optimizers.SGD()
        optimizer.build(model.trainable_variables)
        remaining = iter(val_losses)
        recorder = Recorder(
            run,
            model,
            Checkpoints(str(run.checkpoints), model, optimizer),
            (lambda: {"loss": next(remaining)}) if val_losses else None,
            [],
            Progress(quiet=True),
        )
        for epoch in range(len(val_losses)):
            model.set_weights([np.full((1, 1), epoch)])
            recorder.record_epoch(epoch, {"loss": 1.0})
        return run, recorder

    return make


@pytest.mark.parametrize(
    ("val_losses", "best_epoch"),
    [
        pytest.param([3.0, 1.0, 2.0], 1, id="the least"),
        pytest.param([1.0, 1.0], 0, id="the first of equals"),
        pytest.param([float("nan"), 5.0], 1, id="no number is not the least"),
    ],
)
def test_the_best_model_is_kept(record, val_losses, best_epoch):
    run, recorder = record(val_losses)

    assert keras.models.load_model(run.best_model).get_weights()[0] == best_epoch
    assert [row["epoch"] for row in recorder.history] == list(range(1, len(val_losses) + 1))
    assert len(run.read_history(9)) == len(val_losses)


def test_a_loss_that_is_no_number_ends_the_run(record):
    run, recorder = record([])

    with pytest.raises(TrainingDivergedError, match=r"epoch 1 is nan; lower --learning-rate"):
        recorder.record_epoch(0, {"loss": float("nan")})
    assert not run.history_file.exists()
    assert not run.best_model.exists()
