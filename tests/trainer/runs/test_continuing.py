"""Which command continues a run, and what it may change."""

import dataclasses
import json

import pytest
from run_files import UNTRAINED

from trainer.errors import ConfigError, RunExistsError
from trainer.options.train_options import TrainConfig, check_same, continued_config, new_config
from trainer.runs.directory import run_config

STARTED = {
    "data": "D",
    "output": "R",
    "image_size": (8, 8),
    "inputs": ("a", "b"),
    "pad": {"a": 3},
    "batch_size": 16,
}
RESUME = {"output": "R", "resume": True}


@pytest.fixture
def previous():
    """The options in config.json, with a seed and a model."""
    return read(TrainConfig(seed=1, model="small", **STARTED).to_json())


def read(options):
    """Options of a run as read from config.json."""
    return run_config(json.loads(json.dumps({"options": options, **UNTRAINED}))).options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(RESUME, None, id="only the output"),
        pytest.param(STARTED, None, id="the same command"),
        pytest.param({**RESUME, "learning_rate": 1e-5, "epochs": 20}, None, id="rate, epochs"),
        pytest.param({**STARTED, "devices": "cpu:2", "learning_rate": 0.1}, None, id="devices"),
        pytest.param({**RESUME, "seed": 1}, None, id="the same seed"),
        pytest.param({**RESUME, "seed": 2}, "--seed is 2, .* has 1", id="another seed"),
        pytest.param(
            {**RESUME, "model": "VGG16"}, "--model is VGG16, .* has small", id="another model"
        ),
        pytest.param({**STARTED, "batch_size": 8}, "--batch-size is 8", id="another batch"),
        pytest.param(
            {**RESUME, "inputs": ("b", "a")}, r"--inputs is \['b', 'a'\]", id="other inputs"
        ),
        pytest.param({**RESUME, "pad": {"a": 4}}, "--pad is {'a': 4}", id="another length"),
        pytest.param(
            {"data": "D", "output": "R"},
            "R already holds a run, with --inputs .*--resume.*--overwrite",
            id="another command",
        ),
    ],
)
def test_what_continues_a_run(previous, given, message):
    if message is None:
        config = continued_config(given, previous)
        assert config.seed == 1
        assert (config.batch_size, config.image_size) == (16, (8, 8))
        assert {name: getattr(config, name) for name in given} == given
    else:
        with pytest.raises(RunExistsError, match=message):
            continued_config(given, previous)


def test_a_run_of_an_older_version_has_the_defaults_of_new_options(previous):
    older = previous.to_json()
    del older["optimizer"]
    previous = read(older | {"option_of_a_later_version": 3})

    assert continued_config({**RESUME, "optimizer": "adam"}, previous).optimizer == "adam"
    with pytest.raises(RunExistsError, match="--optimizer is sgd"):
        continued_config({**RESUME, "optimizer": "sgd"}, previous)


def test_an_option_that_differs_is_named_rather_than_its_conflict_with_the_run(previous):
    folds = dataclasses.replace(previous, folds=4, validation_share=0.25)
    with pytest.raises(RunExistsError, match="--folds is 5, but the run in R has 4;"):
        continued_config({**RESUME, "folds": 5}, folds)


def test_a_new_run_has_a_seed_and_needs_data():
    assert new_config({"data": "D", "output": "R"}).seed is not None
    with pytest.raises(ConfigError, match="--data is missing"):
        new_config({"output": "R"})


@pytest.mark.parametrize(
    ("now", "before", "message"),
    [
        ({"fingerprint": "b"}, {"fingerprint": "a"}, "fingerprint is b, but the run in R has a"),
        ({"fingerprint": "b" * 64}, {"fingerprint": "a" * 64}, "is b{16}, but .* has a{16};"),
        ({"shards": {"x": 1, "y": 2}}, {"shards": {"x": 1, "y": 3}}, "^y is 2, but .* has 3"),
        ({"loss": "a:b"}, {}, "loss is a:b, but .* has none; continue it with the same data"),
        (
            {"loss": "own_losses:one"},
            {"loss": "own_losses:other"},
            "one, but .* has own_losses:other;",
        ),
        ({}, {"loss": "a:b"}, "loss is not given, but the run in R has a:b; .* trainer.train"),
    ],
)
def test_other_data_and_parts_are_refused(now, before, message):
    check_same(now, now, "R")
    with pytest.raises(RunExistsError, match=message):
        check_same(now, before, "R")
