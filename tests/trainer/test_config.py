"""Options: what is refused, and what a resumed run may change."""

import json

import pytest

from trainer.config import (
    TrainConfig,
    check_same_data,
    parse_image_size,
    parse_lengths,
    parse_names,
    resume_config,
)
from trainer.errors import ConfigError, RunExistsError, UnknownNameError


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"epochs": 20, "devices": "cpu:2"}, None, id="more epochs, other devices"),
        pytest.param({"seed": 1}, None, id="the same seed"),
        pytest.param({"seed": 2}, "--seed is 2, .* has 1", id="another seed"),
        pytest.param({"model": "VGG16"}, "--model is VGG16, .* has small", id="another model"),
        pytest.param({"batch_size": 8}, "--batch-size is 8", id="another batch"),
        pytest.param({"inputs": ("a", "b"), "pad": {"a": 3}}, None, id="the same inputs"),
        pytest.param({"inputs": ("b", "a")}, r"--inputs is \['b', 'a'\]", id="other inputs"),
        pytest.param({"pad": {"a": 4}}, "--pad is {'a': 4}", id="another length"),
    ],
)
def test_what_a_resumed_run_may_change(change, message):
    options = {"image_size": (8, 8), "inputs": ("a", "b"), "pad": {"a": 3}}
    previous = json.loads(json.dumps(config(seed=1, **options).to_json()))
    now = config(**{**options, "resume": True, **change})
    if message is None:
        assert resume_config(now, previous).seed == 1
    else:
        with pytest.raises(RunExistsError, match=message):
            resume_config(now, previous)


def test_a_size_that_was_chosen_for_the_run_is_kept():
    previous = {**config(seed=1).to_json(), "image_size": [128, 128]}

    assert resume_config(config(resume=True), previous).image_size == (128, 128)


def test_other_data_is_refused():
    with pytest.raises(RunExistsError, match=r"fingerprint of the data is b, but .* has a"):
        check_same_data({"fingerprint": "b"}, {"fingerprint": "a"}, "R")
