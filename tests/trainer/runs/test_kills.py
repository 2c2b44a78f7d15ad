"""Runs killed at a step and restarted by the same command are equal bit for bit."""

import os
import re
import signal
import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf
from own_command import begin

from trainer.commands import main

MODULE = """
import sys

import keras
import tensorflow as tf


def model(task):
    (image,) = task.inputs.values()
    inputs = keras.Input(image.shape, dtype=image.dtype)
    x = keras.layers.RandomFlip("horizontal")(inputs)
    x = keras.layers.Conv2D(8, 3, strides=2)(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.ReLU()(x)
    x = keras.layers.Dropout(0.3)(keras.layers.Flatten()(x))
    return keras.Model(inputs, keras.layers.Dense(task.num_outputs)(x))


def brighter(image, seed):
    more = tf.random.stateless_uniform([], seed, 0, 30, tf.int32)
    return tf.cast(tf.minimum(tf.cast(image, tf.int32) + more, 255), tf.uint8)


OWN = {"augment": brighter if "mine:model" in sys.argv else None}
"""

SMALL = ("--model-fn", "mine:model", "--batch-size", "8", "--image-size", "16")
CHANGES = (
    *("--augment", "rand", "--label-smoothing", "0.1"),
    *("--label-smoothing", "0.1", "--class-weights", "balanced"),
)
# One replica and few steps: nearly all time is building and tracing.
EFFICIENT = (
    *("--model", "EfficientNetB0", "--batch-size", "4", "--image-size", "32", "--augment", "rand"),
    *("--devices", "cpu", "--epochs", "1", "--checkpoint-every-steps", "1"),
    *("--validation-split", "none"),
)
# Train only the head for three steps, then all layers.
TWO_PHASES = (
    *("--model", "MobileNet", "--weights", "mobilenet.weights.h5", "--head-epochs", "1"),
    *("--batch-size", "4", "--image-size", "32", "--devices", "cpu", "--steps-per-epoch", "3"),
    *("--checkpoint-every-steps", "1", "--validation-split", "none"),
)
RATES = (
    *("--ema", "0.9", "--schedule", "cosine", "--warmup-steps", "3", "--weight-decay", "0.01"),
    *("--clip-norm", "1", "--optimizer", "adamw"),
)


def finish(started):
    """Wait until the process has ended, and return it."""
    out, err = started.communicate()
    return subprocess.CompletedProcess(started.args, started.returncode, out, err)


@pytest.fixture
def train(colors, tmp_path):
    """A function of a run and options that returns the process, by default a finished one."""
    (tmp_path / "mine.py").write_text(MODULE)

    def start(run, *more, wait=True, **signals):
        words = [
            *("train", "--data", colors, "--output", run, "--devices", "cpu:2", "--seed", "3"),
            *("--epochs", "2", "--steps-per-epoch", "6", "--checkpoint-every-steps", "2"),
            "--deterministic",
        ]
        started = begin(tmp_path, *words, *more, **signals)
        return finish(started) if wait else started

    return start


def variables(run):
    """Return all of the last checkpoint except its bookkeeping."""
    newest = max((run / "checkpoints").iterdir(), key=lambda folder: int(folder.name[5:]))
    reader = tf.train.load_checkpoint(str(newest / "state"))
    names = [name for name in reader.get_variable_to_shape_map() if "OBJECT_GRAPH" not in name]
    return {name: reader.get_tensor(name) for name in sorted(names)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "kills", "goes_on"),
    [
        pytest.param(
            (*SMALL, *RATES, *CHANGES),
            (5,),
            "epoch 0, step 4",
            id="dropout, batch norm, EMA, schedule, changes of images and batches",
        ),
        pytest.param(
            (*EFFICIENT, *RATES),
            (4,),
            "epoch 0, step 3",
            id="EfficientNetB0",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            (*TWO_PHASES, *RATES, "--warmup-steps", "1"),
            (2, 5),
            "epoch 1, step 1",
            id="weights from elsewhere",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_killed_run_is_equal_to_one_that_was_not(train, tmp_path, options, kills, goes_on):
    if "--weights" in options:
        keras.applications.MobileNet(
            include_top=False, weights=None, input_shape=(32, 32, 3), pooling="avg"
        ).save_weights(tmp_path / "mobilenet.weights.h5")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = train(whole, *options)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^[EW]\d{4} ", done.stderr, re.MULTILINE)  # TensorFlow's log

    for step in kills:
        stopped = train(killed, *options, at=step)
        assert stopped.returncode == -signal.SIGKILL, stopped.stderr
    done = train(killed, *options)
    assert done.returncode == 0, done.stderr

    assert "InitializeLog" not in done.stderr  # TensorFlow's messages at start
    assert f"continuing after {goes_on}" in done.stderr  # killed before the next was saved
    assert (killed / "history.csv").read_bytes() == (whole / "history.csv").read_bytes()
    expected, found = variables(whole), variables(killed)
    assert list(found) == list(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.slow
def test_a_terminated_run_is_saved_and_continues_with_only_its_output(train, tmp_path):
    run = tmp_path / "run"

    ended = train(run, *SMALL, at=4, by="SIGTERM")
    assert ended.returncode == 1
    assert "ended by SIGTERM; the run is saved, and the same command continues it" in ended.stderr

    more = ["--learning-rate", "0.5", "--epochs", "3", "--model-fn", "mine:model"]
    done = finish(begin(tmp_path, "train", "--output", run, "--resume", *more))
    assert done.returncode == 0, done.stderr
    assert "continuing after epoch 0, step " in done.stderr
    rate = [value for name, value in variables(run).items() if "learning_rate" in name]
    assert [float(each) for each in rate] == [0.5]


@pytest.mark.slow
def test_a_second_training_is_refused_while_the_first_is_there(train, tmp_path, capsys):
    run = tmp_path / "run"
    first = train(run, *SMALL, at=7, by="SIGSTOP", wait=False)
    try:
        _, status = os.waitpid(first.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
        refused = train(run, *SMALL, "--overwrite")
        assert refused.returncode == 2
        assert f"another training is writing {run}; wait for it" in refused.stderr
        assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before
        # Finished models can be used meanwhile.
        export = ["export", "--run", str(run), "--output", str(tmp_path / "model.keras")]
        assert main(export) == 0
        assert main([*export, "--overwrite", "--which", "last"]) == 2
        assert "has no last.keras: its training did not finish" in capsys.readouterr().err
    finally:
        first.kill()
        first.communicate()

    assert train(run, *SMALL).returncode == 0  # the lock ended with the process
