"""What a run may make a command do: nothing that the command does not name, but by --trust-run.

A run directory may be somebody else's: its config.json could name any function of any module, any
server, or any folder as that of the cache, in which old files are deleted.
"""

import shlex
from collections.abc import Collection

from tfrecord_dataset.store.urls import is_remote
from trainer.errors import UntrustedRunError
from trainer.options.train import TrainConfig, option, options_that

_CODE = options_that("names_code")
_PLACES = options_that("names_place")


def check_named(options: TrainConfig, given: Collection[str], run: str) -> None:
    """Raises UntrustedRunError unless the command names all that could act.

    Args:
        options: Of the run.
        given: The names of the command's own options.
        run: The directory.
    """
    acting = {
        **{name: getattr(options, name) for name in _CODE},
        **{name: value for name in _PLACES if is_remote(value := getattr(options, name) or "")},
    }
    missing = {name: value for name, value in acting.items() if value and name not in given}
    if missing:
        raise untrusted(run, missing)


def untrusted(run: str, missing: dict[str, str]) -> UntrustedRunError:
    """The error of a run that names what the command does not: values by the option's name."""
    words = " ".join(f"{option(name)} {shlex.quote(value)}" for name, value in missing.items())
    return UntrustedRunError(
        f"the run in {run} names functions or places that this command does not: add {words}, or "
        "--trust-run if you know who made the run"
    )
