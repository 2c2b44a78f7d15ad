"""`trainer.train`: options that it and the command reject, and users' own parts."""

import functools
import inspect
import json
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from following import linear
from run_files import weights_of

import trainer
from tfrecord_dataset.options import fields_of
from trainer.commands import main
from trainer.errors import ConfigError
from trainer.options.train_options import TrainConfig
from trainer.runs.preparing import OwnParts, make_optimizer
from trainer.tasks.own_functions import path_of

OPTIONS = {"batch_size": 8, "image_size": (16, 16), "steps_per_epoch": 3, "epochs": 2}
MORE = {"seed": 1, "deterministic": True, "devices": "cpu:2", "quiet": True}


@pytest.mark.slow
def test_it_is_the_command(colors, tmp_path, capsys):
    by_command, by_call = tmp_path / "command", tmp_path / "call"
    options = "--batch-size 8 --image-size 16 --steps-per-epoch 3 --epochs 2 --seed 1 --quiet"
    command = ["train", "--data", str(colors), "--output", str(by_command), *options.split()]
    command += ["--devices", "cpu:2", "--deterministic", "--schedule", "cosine"]
    assert main([*command, "--model-fn", "following:linear"]) == 0
    printed = json.loads(capsys.readouterr().out)

    result = trainer.train(
        trainer.open(colors),
        by_call,
        model=linear,
        schedule="cosine",
        **OPTIONS,
        **MORE,
    )

    assert result == printed
    np.testing.assert_array_equal(weights_of(by_call), weights_of(by_command))


class Steps(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.ends = []

    def on_epoch_end(self, epoch, logs=None):
        self.ends.append((epoch, sorted(logs)))


@pytest.mark.slow
def test_objects_of_python(colors, tmp_path, capsys):
    steps = Steps()
    parts = {
        "model": linear,
        "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None),
        "metrics": {"largest": lambda target, outputs: tf.reduce_max(outputs, axis=-1)},
        "optimizer": keras.optimizers.Lion(1e-2),
        "augment": lambda image, seed: tf.image.stateless_random_brightness(image, 0.2, seed),
        "callbacks": [steps],
    }
    run = tmp_path / "run"
    result = trainer.train(colors, run, **parts, **OPTIONS, **MORE)

    assert result["epoch"] == 2
    assert np.isfinite(result["val_largest"])
    assert [epoch for epoch, _ in steps.ends] == [0, 1]
    assert {"loss", "largest", "val_loss", "val_largest"} <= set(steps.ends[0][1])
    # Determinism is set for the process, so the next run cannot measure times.
    plainly = MORE | {"deterministic": False, "devices": "cpu:2"}
    trainer.train(colors, tmp_path / "other", **OPTIONS, **plainly)
    # The same call continues the run, which is complete.
    assert trainer.train(colors, run, **parts, **OPTIONS, **MORE) == pytest.approx(result)
    assert main(["evaluate", "--data", str(colors), "--run", str(run)]) == 0
    assert "loss is that of the task, not the run's own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        pytest.param(
            {"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
            r"^the loss function returned the shape \(\);.*reduction=None does$",
            id="a loss of the whole batch",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"loss": lambda target, outputs: tf.cast(target, tf.float32)},
            "^the loss does not depend on the model's weights; compute it from the model's outputs",
            id="only a loss of the target",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"augment": lambda image, seed: image[:, :3] / 2},
            r"returns float32 \(\d+, 3, 3\); return an image of the same kind, uint8",
            id="another kind of image",
        ),
        ({"model": keras.Sequential()}, "^model=<Sequential .*>: give a function or a name$"),
        ({"loss": "mse", "schedule": 3}, "^loss='mse': give a function.*schedule=3: give a"),
        ({"metrics": len}, "^metrics=.* is not a dict; give functions by name$"),
    ],
)
def test_functions_that_cannot_be(colors, tmp_path, parts, message):
    with pytest.raises(ConfigError, match=message):
        trainer.train(colors, tmp_path / "run", **parts, **OPTIONS, **MORE)


@pytest.mark.parametrize(
    ("optimizer", "options", "message"),
    [
        (keras.optimizers.SGD, {"ema": 0.9}, "ema is for the trainer's optimizers"),
        (keras.optimizers.SGD(clipnorm=1.0), {}, "clipnorm clips each replica's gradients"),
        (lambda rate: rate, {}, "returned float; return a keras.optimizers.Optimizer"),
    ],
)
def test_optimizers_that_cannot_be(optimizer, options, message):
    config = TrainConfig(data="a", output="b", **options)
    with pytest.raises(ConfigError, match=message):
        make_optimizer(OwnParts(optimizer=optimizer), config, 0.1)


def test_an_optimizer_takes_the_learning_rate():
    config = TrainConfig(data="a", output="b")
    for parts, made in (
        (OwnParts(optimizer=keras.optimizers.SGD), keras.optimizers.SGD),
        (OwnParts(), keras.optimizers.Adam),
    ):
        own = make_optimizer(parts, config, 0.25)
        assert (type(own), float(own.learning_rate)) == (made, 0.25)


def test_paths():
    assert path_of(path_of) == "trainer.tasks.own_functions:path_of"
    assert path_of(keras.optimizers.SGD()) == "an object of keras.src.optimizers.sgd.SGD"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs (--epochs): 0"),
        ({"epochs": 1.5}, "epochs (--epochs): 1.5 is not a whole number; give one, such as 10"),
        ({"batch_size": "8"}, "batch_size (--batch-size): '8' is not a whole number"),
        ({"learning_rate": float("nan")}, "learning_rate (--learning-rate): nan"),
        ({"clip_norm": -1.0}, "clip_norm (--clip-norm): -1.0"),
        ({"seed": 2**32}, "seed (--seed): 4294967296 is out of bounds"),
        ({"ema": 1}, "ema (--ema): 1 is out of bounds"),
        ({"task": "clas"}, "unknown task (--task) 'clas'"),
        ({"cache": "memroy"}, "unknown cache (--cache) 'memroy' (did you mean 'memory'"),
        ({"precision": "float16"}, "unknown precision (--precision) 'float16'"),
        ({"image_size": "64"}, "image_size (--image-size): '64' is not a size: give a side in"),
        ({"inputs": "image"}, "inputs (--inputs): 'image' is not a list of names"),
        ({"deterministic": "yes"}, "deterministic (--deterministic): 'yes' is neither True nor"),
        ({"target": 3}, "target (--target): 3 is not a text"),
        ({"pad": {"a": 0}}, "pad (--pad): {'a': 0} is out of bounds"),
        ({"pad": 3}, "pad (--pad): 3 does not give whole numbers by name"),
        ({"bacth_size": 8}, "unknown option bacth_size (did you mean 'batch_size'?)"),
        ({"model_fn": "m:f", "model": "VGG16"}, "--model-fn cannot be combined with --model or"),
        ({"resume": True, "overwrite": True}, "--resume continues a run, but --overwrite"),
        ({"head_epochs": 1}, "--head-epochs is for pretrained weights"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        trainer.train("no data", "no run", **options)


def test_what_stands_for_the_same():
    config = functools.partial(TrainConfig, data="D", output="R")
    given = config(image_size=32, inputs=["a"], learning_rate=1, epochs=np.int64(3))

    assert given == config(image_size=(32, 32), inputs=("a",), learning_rate=1.0, epochs=3)
    assert given.to_json()["image_size"] == [32, 32]


def test_the_signature_has_every_option():
    names = inspect.signature(trainer.train).parameters

    assert list(names)[:5] == ["data", "output", "model", "loss", "metrics"]
    assert names["batch_size"].default == TrainConfig.batch_size
    assert set(fields_of(TrainConfig)) <= set(names)
    assert (
        "batch_size: records per step, over all replicas (default: 8 to 256, by their number)"
        in trainer.train.__doc__
    )
