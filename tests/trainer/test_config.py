"""Options that the command `train` and `trainer.train` reject."""

import inspect

import numpy as np
import pytest

import trainer
from tfrecord_dataset.options import fields_of
from trainer.errors import ConfigError, UnknownNameError
from trainer.options.train import TrainConfig


def config(**options):
    return TrainConfig(data="D", output="R", **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        pytest.param({"epochs": 0}, ConfigError, r"epochs \(--epochs\): 0", id="no epochs"),
        pytest.param(
            {"batch_size": -1}, ConfigError, r"batch_size \(--batch-size\): -1", id="batch size"
        ),
        pytest.param(
            {"learning_rate": 0.0},
            ConfigError,
            r"learning_rate \(--learning-rate\): 0.0",
            id="rate",
        ),
        pytest.param(
            {"learning_rate": float("nan")},
            ConfigError,
            r"learning_rate \(--learning-rate\): nan",
            id="nan",
        ),
        pytest.param(
            {"clip_norm": -1.0}, ConfigError, r"clip_norm \(--clip-norm\): -1.0", id="clip norm"
        ),
        pytest.param({"seed": -1}, ConfigError, r"seed \(--seed\): -1", id="seed"),
        pytest.param({"seed": 2**32}, ConfigError, "from 0 to 4,294,967,295", id="large seed"),
        pytest.param({"ema": 1}, ConfigError, r"ema \(--ema\): 1 is out of bounds", id="ema"),
        pytest.param({"task": "clas"}, UnknownNameError, r"task \(--task\) 'clas'", id="task"),
        pytest.param({"schedule": "cosin"}, UnknownNameError, "'cosine'", id="schedule"),
        pytest.param({"optimizer": "adm"}, UnknownNameError, "'adam'", id="optimizer"),
        pytest.param({"precision": "float16"}, UnknownNameError, "float32", id="precision"),
        pytest.param(
            {"pad": {"a": 0}}, ConfigError, r"pad \(--pad\): {'a': 0} is out", id="no length"
        ),
        pytest.param(
            {"model_fn": "m:f", "model": "VGG16"}, ConfigError, "choose one", id="two models"
        ),
        pytest.param({"resume": True, "overwrite": True}, ConfigError, "choose one", id="both"),
        ({"head_epochs": 1}, ConfigError, "--head-epochs is for pretrained weights"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        config(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 1.5}, r"epochs \(--epochs\): 1.5 is not a whole number; give one, such as 10"),
        ({"epochs": True}, r"epochs \(--epochs\): True is not a whole number"),
        ({"batch_size": "8"}, r"batch_size \(--batch-size\): '8' is not a whole number"),
        ({"learning_rate": "fast"}, r"learning_rate \(--learning-rate\): 'fast' is not a number"),
        (
            {"image_size": "64"},
            r"image_size \(--image-size\): '64' is not a size: give a side in pixels \(64\), or",
        ),
        (
            {"image_size": (64, 0)},
            r"image_size \(--image-size\): \(64, 0\) is not a size: give a side",
        ),
        ({"inputs": "image"}, r"inputs \(--inputs\): 'image' is not a list of names"),
        (
            {"deterministic": "yes"},
            r"deterministic \(--deterministic\): 'yes' is neither True nor False",
        ),
        ({"target": 3}, r"target \(--target\): 3 is not a text"),
        ({"pad": {"a": 1.5}}, r"pad \(--pad\): {'a': 1.5} is not a whole number"),
        ({"pad": 3}, r"pad \(--pad\): 3 does not give whole numbers by name"),
        ({"bacth_size": 8}, r"unknown option bacth_size \(did you mean 'batch_size'\?\)"),
        ({"cache": "memroy"}, r"unknown cache \(--cache\) 'memroy' \(did you mean 'memory'"),
    ],
)
def test_train_checks_as_the_command(options, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        trainer.train("no data", "no run", **options)


def test_what_stands_for_the_same():
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
