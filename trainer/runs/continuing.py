"""Options of new and continued runs. Imports no TensorFlow.

A run directory may be untrusted: its config.json could name any function, any server, or any
folder as the cache, in which old files are deleted. So code and places in it are used only if the
command names them too.
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
# Default values of the options by name, as in JSON.
_FIELDS: Mapping[str, Any] = TrainConfig(data="", output="").to_json()


def new_config(given: Mapping[str, Any]) -> TrainConfig:
    """Return the options of a new run.

    Raises:
        ConfigError: --data is missing, or another option is invalid.
    """
    if "data" not in given:
        raise ConfigError("--data is missing: name a dataset; only a run that goes on needs none")
    config = TrainConfig(**checked(TrainConfig, given))
    if config.seed is not None:
        return config
    return dataclasses.replace(config, seed=secrets.randbits(32))


def continued_config(given: Mapping[str, Any], previous: TrainConfig) -> TrainConfig:
    """Return the options of a continued run: its own, updated by those given.

    Args:
        given: Options of the command; only the output is required.
        previous: Options in config.json.

    Raises:
        RunExistsError: An option that affects the training differs; or, without `resume`, the
            command is not the one that started the run.
        UntrustedRunError: The run names code or places that the command does not name.
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
    """Raise UntrustedRunError unless the command names all code and places of the run."""
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
    """Raise RunExistsError if the data or the user's parts differ from the run's."""
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
