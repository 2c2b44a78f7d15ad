"""Options: what is refused."""

import pytest

from trainer.config import (
    TrainConfig,
    parse_image_size,
    parse_lengths,
    parse_names,
)
from trainer.errors import ConfigError, UnknownNameError


def config(**options):
    return TrainConfig(data="D", output="R", **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        pytest.param({"epochs": 0}, ConfigError, "--epochs 0", id="no epochs"),
        pytest.param({"batch_size": -1}, ConfigError, "--batch-size -1", id="batch size"),
        pytest.param({"learning_rate": 0.0}, ConfigError, "--learning-rate 0.0", id="rate"),
        pytest.param({"learning_rate": float("nan")}, ConfigError, "--learning-rate nan", id="nan"),
        pytest.param({"clip_norm": -1.0}, ConfigError, "--clip-norm -1.0", id="clip norm"),
        pytest.param({"seed": -1}, ConfigError, "--seed -1", id="seed"),
        pytest.param({"loop": "costum"}, UnknownNameError, "'custom'", id="loop"),
        pytest.param({"optimizer": "adm"}, UnknownNameError, "'adam'", id="optimizer"),
        pytest.param({"precision": "float16"}, UnknownNameError, "float32", id="precision"),
        pytest.param({"pad": {"a": 0}}, ConfigError, "--pad a=0", id="no length"),
        pytest.param(
            {"model_fn": "m:f", "model": "VGG16"}, ConfigError, "choose one", id="two models"
        ),
        pytest.param({"resume": True, "overwrite": True}, ConfigError, "choose one", id="both"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        config(**options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("64", (64, 64)), ("64x48", (48, 64)), ("64X48", (48, 64)), ("64x", None), ("0", None)],
)
def test_image_size(text, expected):
    if expected is None:
        with pytest.raises(ConfigError, match="WIDTHxHEIGHT"):
            parse_image_size(text)
    else:
        assert parse_image_size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", ("a",)), ("a, b/c", ("a", "b/c")), ("a,", None), ("", None)],
)
def test_names(text, expected):
    if expected is None:
        with pytest.raises(ConfigError, match="empty name"):
            parse_names(text)
    else:
        assert parse_names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=3", {"a": 3}),
        ("a=3, b/c =40", {"a": 3, "b/c": 40}),
        ("a=b=3", {"a=b": 3}),
        ("a", None),
        ("a=", None),
        ("=3", None),
        ("a=-3", None),
        ("a=3,a=4", None),
        ("a=3,", None),
    ],
)
def test_lengths(text, expected):
    if expected is None:
        with pytest.raises(ConfigError, match="cannot be read"):
            parse_lengths(text)
    else:
        assert parse_lengths(text) == expected
