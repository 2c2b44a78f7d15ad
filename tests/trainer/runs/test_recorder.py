"""Work between steps: checkpoints, validation, history."""

import os
import signal

import keras
import numpy as np
import pytest
from tiers import first_in_ci

from trainer.errors import InterruptedRunError, TrainingDivergedError
from trainer.report.history import Best
from trainer.training.loop import Done


def done(steps, loss, **more):
    return Done(steps=steps, sums=[loss, 0.0], learning_rate=0.01, **more)


def follow(recorder, steps=None):
    """Train on, with the step number as loss and as weights."""
    with recorder.following():
        while not recorder.is_done and steps != 0:
            count = min(recorder.steps_to_event(), steps or 100)
            losses = np.arange(recorder.step, recorder.step + count) + 1
            model = recorder.plan.model
            model.set_weights([np.full_like(weight, losses[-1]) for weight in model.get_weights()])
            recorder.advance(done(count, 8.0 * losses.sum()))
            steps = None if steps is None else steps - count


@pytest.mark.parametrize(
    ("val_losses", "best_epoch"),
    [
        pytest.param([3.0, 1.0, 2.0], 2, id="the least"),
        pytest.param([1.0, 1.0, 1.0], 1, id="the first of equals"),
        pytest.param([float("nan"), 5.0, 6.0], 2, id="no number is not the least"),
    ],
)
def test_the_best_model_is_kept(make_recorder, val_losses, best_epoch):
    run, recorder = make_recorder(val_losses)

    follow(recorder)

    assert (keras.models.load_model(run.model).get_weights()[0] == best_epoch * 4).all()
    rows = run.read_history()
    assert [(row["epoch"], row["step"]) for row in rows] == [(1, 4), (2, 8), (3, 12)]
    assert [row["loss"] for row in rows] == [2.5, 6.5, 10.5]


def test_the_best_by_a_metric(make_recorder):
    """The highest is best, though not of the lowest loss; the others end the training."""
    best = Best("mAP", is_least=False)
    run, recorder = make_recorder([1.0], epochs=6, early_stopping=2, best=best)
    found = iter([(3.0, np.nan), (1.0, 0.2), (2.0, 0.6), (0.9, 0.5), (0.8, 0.5), (0.7, 0.9)])
    recorder.validate = lambda callbacks: dict(zip(("loss", "mAP"), next(found), strict=True))

    follow(recorder)

    assert (keras.models.load_model(run.model).get_weights()[0] == 3 * 4).all()
    assert len(run.read_history()) == 5
    assert make_recorder([9.0], epochs=6, early_stopping=2, best=best)[1].is_done


def test_events_come_at_their_steps(make_recorder):
    run, recorder = make_recorder([5.0] * 9, epochs=2, checkpoint_every_steps=3)

    follow(recorder)

    assert [row["step"] for row in run.read_history()] == [4, 8]
    assert sorted(folder.name for folder in run.checkpoints.iterdir()) == [
        *("step-4", "step-6", "step-8")
    ]


@pytest.mark.parametrize("stopped_at", first_in_ci([3, 1, 4, 6]))
def test_a_run_goes_on_in_the_middle_of_an_epoch(make_recorder, stopped_at, tmp_path):
    run, first = make_recorder([5.0] * 3, checkpoint_every_steps=1)
    follow(first, steps=stopped_at)
    _, recorder = make_recorder([5.0] * 3, checkpoint_every_steps=1)

    assert recorder.step == stopped_at
    follow(recorder)

    assert [row["loss"] for row in run.read_history()] == [2.5, 6.5, 10.5]


def test_a_fault_in_validation_keeps_the_epoch(make_recorder):
    run, broken = make_recorder([None])
    broken.validate = lambda callbacks: 1 / 0
    with pytest.raises(ZeroDivisionError):
        follow(broken)
    _, recorder = make_recorder([1.0] * 3)

    assert recorder.step == 4
    follow(recorder)

    assert [row["epoch"] for row in run.read_history()] == [1, 2, 3]
    assert run.read_history()[0]["val_loss"] == 1.0


@pytest.mark.parametrize(
    ("steps_before", "diverged", "message"),
    [
        (2, None, r"step 4 \(epoch 1\) is nan; lower --learning-rate"),
        (2, (1, float("inf")), r"step 3 \(epoch 1\) is inf; lower --learning-rate"),
        (4, (2, float("nan")), r"step 6 \(epoch 2\) is nan; lower --learning-rate"),
        (0, (1, float("nan")), r"step 1 \(epoch 1\) is nan; no weight has changed"),
    ],
)
def test_a_loss_that_is_not_finite_ends_the_run(make_recorder, steps_before, diverged, message):
    run, recorder = make_recorder(checkpoint_every_steps=1)
    follow(recorder, steps=steps_before)

    with pytest.raises(TrainingDivergedError, match=message):
        recorder.advance(done(2, float("nan"), diverged=diverged))
    assert run.history_file.exists() == (steps_before == 4)
    assert make_recorder()[1].step == steps_before


def test_a_signal_saves_the_run(make_recorder):
    _, recorder = make_recorder()
    handler = signal.getsignal(signal.SIGTERM)

    with recorder.following():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(InterruptedRunError, match="SIGTERM; the run is saved"):
            recorder.advance(done(2, 1.0))

    assert make_recorder()[1].step == 2
    assert signal.getsignal(signal.SIGTERM) is handler
