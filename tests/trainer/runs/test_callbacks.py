"""Keras's callbacks are called as by `Model.fit`: hooks, their arguments, names of logs."""

import functools
import itertools
import sys

import keras
import pytest
import tensorflow as tf
from following import linear

from trainer.errors import ConfigError
from trainer.progress import Pace
from trainer.runs.directory import RunDirectory
from trainer.runs.own_callbacks import TensorBoardLogs
from trainer.tasks.reading import evaluation_batches
from trainer.training import loop
from trainer.training.evaluation import evaluator

HOOKS = tuple(name for name in dir(keras.callbacks.Callback) if name.startswith("on_"))
STEPS, EPOCHS = 3, 2


class Recorded:
    """Makes a callback that overrides hooks, and keeps their calls."""

    def __init__(self, names, stop_at=None):
        self.calls = []
        hooks = {name: self._hook(name, stop_at) for name in names}
        self.callback = type("Own", (keras.callbacks.Callback,), hooks)()

    def _hook(self, name, stop_at):
        usual = getattr(keras.callbacks.Callback, name)

        def hook(callback, *arguments, **named):
            logs = named.get("logs", arguments[-1])
            assert all(type(value) is float for value in logs.values())
            numbers = [each for each in arguments if isinstance(each, int)]
            self.calls.append((name, *numbers, [*logs], callback.params["steps"]))
            if self.calls[-1][:2] == stop_at:
                callback.model.stop_training = True
            usual(callback, *arguments, **named)

        return hook


@pytest.fixture(scope="module")
def by_fit(make_plan, dataset, one_replica):
    """A function that returns the calls of all hooks by `Model.fit`."""
    plan = make_plan(one_replica, steps_per_epoch=STEPS, model=linear)
    batches = plan.batches_from(0).take(STEPS).map(lambda x, y: (plan.task.prepare(x), y))
    validation = evaluation_batches(plan.task, dataset, "validation", batch_size=8)
    validation = validation.map(lambda x, y: (plan.task.prepare(x), y))

    @functools.cache
    def get(stop_at):
        recorded, model = Recorded(HOOKS, stop_at), linear()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, metrics=["accuracy"])
        model.fit(
            batches.repeat(),
            epochs=EPOCHS,
            steps_per_epoch=STEPS,
            validation_data=validation.apply(tf.data.experimental.assert_cardinality(2)),
            callbacks=[recorded.callback],
            shuffle=False,
            verbose=0,
        )
        return recorded.calls

    return get


@pytest.fixture
def make_recorder(make_recorder, dataset, one_replica):
    """A function of callbacks that returns a recorder of a run with its own evaluation."""

    def make(*callbacks):
        options = {"steps_per_epoch": STEPS, "epochs": EPOCHS}
        _, recorder = make_recorder([0.0], callbacks=callbacks, **options)
        task, model = recorder.plan.task, recorder.plan.model
        evaluate = evaluator(task, model, one_replica, dataset, "validation", 8)
        recorder.validate = functools.partial(evaluate, accumulators=())
        return recorder

    return make


def train(recorder):
    with recorder.following():
        loop.run(recorder.plan, recorder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "stop_at"),
    [
        pytest.param(HOOKS, None, id="all"),
        *(pytest.param((name,), None, id=name) for name in ("on_batch_end", "on_test_batch_begin")),
        pytest.param(HOOKS, ("on_epoch_begin", 0), id="stopped before a step"),
        pytest.param(HOOKS, ("on_train_batch_end", 1), id="stopped after a step"),
        pytest.param(HOOKS, ("on_epoch_end", 0), id="stopped after an epoch"),
    ],
)
def test_hooks_are_called_as_by_fit(by_fit, make_recorder, names, stop_at):
    recorded = Recorded(names, stop_at)

    train(make_recorder(recorded.callback))

    assert recorded.calls == [call for call in by_fit(stop_at) if call[0] in names]
    assert {call[0] for call in recorded.calls} == {name for name in names if "predict" not in name}


def test_a_hook_set_on_the_object_sees_each_step(make_recorder):
    batches = []
    hook = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: batches.append(batch)
    )

    assert not make_recorder(Recorded(["on_epoch_end"]).callback).sees_steps
    recorder = make_recorder(hook)
    assert recorder.sees_steps
    train(recorder)

    assert batches == [*range(STEPS)] * EPOCHS


def test_a_run_stopped_in_an_epoch_is_validated_there_and_continues(make_recorder):
    stopped = make_recorder(Recorded(HOOKS, ("on_train_batch_end", 1)).callback)
    train(stopped)
    assert [(row["epoch"], row["step"]) for row in stopped.history] == [(1, 2)]

    recorded = Recorded(HOOKS)
    continued = make_recorder(recorded.callback)
    train(continued)

    assert [(row["epoch"], row["step"]) for row in continued.history] == [(1, 2), (1, 3), (2, 6)]
    begun = itertools.takewhile(lambda call: call[0] != "on_train_batch_end", recorded.calls)
    assert [call[:-2] for call in begun] == [
        *(("on_train_begin",), ("on_epoch_begin", 0), ("on_train_batch_begin", 2)),
        ("on_batch_begin", 2),
    ]


def test_without_tensorboard_the_error_names_what_to_install(make_recorder, tmp_path, monkeypatch):
    recorder = make_recorder()
    monkeypatch.setitem(sys.modules, "tensorboard", None)

    with pytest.raises(ConfigError, match="tensorboard, which is not installed; run pip install"):
        TensorBoardLogs(recorder, RunDirectory(str(tmp_path)), Pace(8, "records"))
