"""Options of runs that begin, and of those that go on. Imports no TensorFlow."""

import dataclasses
import secrets
from collections.abc import Mapping
from typing import Any

from tfrecord_dataset.options import checked
from trainer.errors import ConfigError, RunExistsError
from trainer.options.train import TrainConfig, option, options_that
from trainer.runs.trust import check_named

_FREE_ON_RESUME = options_that("may_change")
_COMPLETED = options_that("is_completed")
# The defaults of the options by name, as JSON has them.
_FIELDS: Mapping[str, Any] = TrainConfig(data="", output="").to_json()


def new_config(given: Mapping[str, Any]) -> TrainConfig:
    """The options of a new run, from those that were given.

    Raises:
        ConfigError: There is no --data, or another option is wrong.
    """
    if "data" not in given:
        raise ConfigError("--data is missing: name a dataset; only a run that goes on needs none")
    config = TrainConfig(**checked(TrainConfig, given))
    return config if config.seed is not None else dataclasses.replace(config, seed=_new_seed())


def continued_config(given: Mapping[str, Any], previous: TrainConfig) -> TrainConfig:
    """The options of a run that goes on: its own, with those that were given.

    Args:
        given: The options of the command, which need no more than the output.
        previous: The options in config.json.

    Raises:
        RunExistsError: An option that decides what is trained differs; or, without `resume`, the
            command is not the one that started the run.
        UntrustedRunError: The run names code or places that the command does not.
    """
    output = given["output"]
    own = dataclasses.replace(previous, resume=False, overwrite=False, trust_run=False)
    config = dataclasses.replace(own, **checked(TrainConfig, given))
    before = previous.to_json()
    for name, value in config.to_json().items():
        if name in given and name not in _FREE_ON_RESUME and value != before[name]:
            raise RunExistsError(
                f"{option(name)} is {value}, but the run in {output} has {before[name]}; continue "
                "it by --output and --resume alone, replace it with --overwrite, or name another "
                "--output"
            )
    if not config.resume:
        for name, value in before.items():
            fixed = name not in (*_FREE_ON_RESUME, *_COMPLETED)
            if fixed and name not in given and value != _FIELDS[name]:
                raise RunExistsError(
                    f"{output} already holds a run, with {option(name)} {value}; continue it with "
                    "--resume, replace it with --overwrite, or name another --output"
                )
    if not config.trust_run:
        check_named(previous, given, output)
    return config


def _new_seed() -> int:
    return secrets.randbits(32)


def check_same_data(now: Mapping[str, Any], before: Mapping[str, Any], run: str) -> None:
    """Raises RunExistsError if a run goes on with data other than its training data."""
    for name, value in now.items():
        old = before.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            check_same_data(value, old, run)
        elif old != value:
            raise RunExistsError(
                f"the {name} of the data is {value}, but the run in {run} has {old}; continue with "
                "the same data, or replace the run with --overwrite"
            )
