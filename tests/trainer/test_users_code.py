"""Errors in users' functions are reported with file and line, with --debug the traceback."""

import contextlib
import dataclasses
import importlib
import sys

import pytest
import tensorflow as tf
from kinds_of_learning import learned
from testdata.make_golden import GOLDEN
from tiers import first_in_ci

from trainer import commands, startup
from trainer.commands import main
from trainer.metrics import Metric
from trainer.runs import train
from trainer.runs.preparing import OwnParts

OWN = """
import keras

def model(task):
    return keras.layers.Dense(-1)

def loss(target, outputs):
    return {}["missing"] * outputs[:, 0]

class Parsed(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        raise RuntimeError("no server")

def augment(image, seed):
    return image[missing]

callbacks = [Parsed()]
"""


def zero(values, *_):
    """A user's function with an `if`, which AutoGraph converts."""
    if tf.reduce_any(values != 0):
        values = values * 0
    return values


def test_an_if_over_tensors_is_of_the_graph(dataset):
    size = {"features": "image", "batch_size": 5, "image_size": 8}
    for batches in (
        dataset.batches("test", augment=zero, **size),
        dataset.batches("test", prepare=lambda by_name: {"image": zero(by_name["image"])}, **size),
    ):
        assert not next(iter(batches))["image"].numpy().any()
    task = dataclasses.replace(
        learned(dataset), loss_fn=zero, more_metrics={"own": Metric(name="own", of_examples=zero)}
    )
    loss, own = tf.function(
        lambda values: (task.loss(values, None), task.metrics["own"](values, None)), autograph=False
    )(tf.ones([3]))
    assert not loss.numpy().any()
    assert not own.numpy().any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "place"),
    first_in_ci(
        [
            ("model", "line 5, in model: ValueError: Received an invalid value"),
            ("loss", "line 8, in loss: KeyError: 'missing"),
            ("augment", "line 15, in augment: NameError: name 'missing"),
            ("callbacks", "line 12, in on_epoch_end: RuntimeError: no server"),
        ],
        2,
    ),
)
def test_it_is_shown_without_our_frames(tmp_path, monkeypatch, capsys, part, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_parts.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)
    own = OwnParts(**{part: getattr(importlib.import_module("own_parts"), part)})
    trained = train.train
    monkeypatch.setattr(train, "train", lambda given, dataset, _: trained(given, dataset, own))
    arguments = [
        *("train", "--data", str(GOLDEN), "--output", "run", "--epochs", "1"),
        *("--steps-per-epoch", "2", "--batch-size", "4", "--devices", "cpu", "--quiet"),
    ]

    assert main(arguments) == 1
    *_, line = capsys.readouterr().err.splitlines()  # after warnings about few records
    assert line.startswith(f"error in your code: own_parts.py, {place}")
    assert line.endswith("; --debug prints the full traceback")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("train --data d --output o --image-size big", "image_size (--image-size): 'big'"),
        ("train --dta d", "unknown option --dta"),
        ("evaluate --data d --run nowhere", "nowhere does not hold a run"),
    ],
)
def test_debug_adds_the_traceback(capsys, monkeypatch, arguments, error):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")  # restored for later tests
    assert main(arguments.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()

    assert main([*arguments.split(), "--debug"]) == 2
    first, *_, exception_line, last = capsys.readouterr().err.splitlines()

    assert line.startswith("error: ")
    assert last == line
    assert first == "Traceback (most recent call last):"
    assert exception_line.startswith(f"tfrecord_dataset.errors.ConfigError: {error}")


def test_without_proc_tensorflow_is_not_imported(monkeypatch, capsys):
    monkeypatch.setattr(startup, "_EXECUTABLE", "/nothing/self/exe")
    assert main(["train", "--data", str(GOLDEN), "--output", "run"]) == 1
    assert "TensorFlow needs /proc" in capsys.readouterr().err


def test_a_result_that_cannot_be_written_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(commands, "_run", lambda _: {"loss": 0.5})
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["evaluate", "--data", "d", "--run", "r"]) == 1
    assert capsys.readouterr().err.startswith("error: No space left on device; fix that")
