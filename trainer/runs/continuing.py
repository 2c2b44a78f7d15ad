"""Options of runs that begin, and of those that go on. Imports no TensorFlow.

A run directory may be somebody else's: its config.json could name any function of any module, any
server, or any folder as that of the cache, in which old files are deleted. So a run makes a command
do nothing that the command does not name.
"""

import dataclasses
import secrets
import shlex
from collections.abc import Collection, Mapping
from typing import Any

from tfrecord_dataset.options import checked
from tfrecord_dataset.store.urls import is_remote
from trainer.errors import ConfigError, RunExistsError, UntrustedRunError
from trainer.options.train import TrainConfig, option, options_that

_FREE_ON_RESUME = options_that("may_change")
_COMPLETED = options_that("is_completed")
_CODE = options_that("names_code")
_PLACES = options_that("names_place")
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
    if config.seed is not None:
        return config
    return dataclasses.replace(config, seed=secrets.randbits(32))


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
    own = dataclasses.replace(previous, resume=False, overwrite=False)
    config = dataclasses.replace(own, **checked(TrainConfig, given))
    before = previous.to_json()
    for name, value in config.to_json().items():
        if name in given and name not in _FREE_ON_RESUME and value != before[name]:
            raise RunExistsError(
                f"{option(name)} is {value}, but the run in {output} has {before[name]}; continue "
                "it with --output and --resume only, replace it with --overwrite, or name another "
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
    check_named(previous, given, output)
    return config


def check_named(options: TrainConfig, given: Collection[str], run: str) -> None:
    """Raise UntrustedRunError unless the command names all that could act."""
    acting = {
        **{name: getattr(options, name) for name in _CODE},
        **{name: value for name in _PLACES if is_remote(value := getattr(options, name) or "")},
    }
    missing = {name: value for name, value in acting.items() if value and name not in given}
    if missing:
        words = " ".join(f"{option(name)} {shlex.quote(value)}" for name, value in missing.items())
        raise UntrustedRunError(
            f"the run in {run} names functions or places that this command does not: add {words}, "
            "if you trust who made the run"
        )


def check_same(now: Mapping[str, Any], before: Mapping[str, Any], run: str) -> None:
    """Raise RunExistsError if a run is continued with other data, or other parts, than it had."""
    for name in sorted({*now, *before}):
        value, old = now.get(name), before.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            check_same(value, old, run)
        elif value != old:
            raise RunExistsError(
                f"{name} is {value or 'not given'}, but the run in {run} has {old or 'none'}; "
                "continue it with the same data and parts (those of Python by trainer.train), or "
                "replace it with --overwrite"
            )
