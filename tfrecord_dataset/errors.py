"""Errors shared by both packages, whose errors.py draw their trees."""

import copyreg
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tfrecord_dataset.shown_text import one_line


class BeamTFRecordsError(Exception):
    """Base of every error that these packages raise deliberately.

    The message is one line without control characters and secrets.
    """

    exit_code = 1
    # Beam raises this class unchanged; it logs others and raises copies that name the stage.
    _tagged_with_step = True

    def __str__(self) -> str:
        return one_line(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message, whatever arguments `__init__` takes."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ConfigError(BeamTFRecordsError):
    """An option or argument is invalid; nothing was written."""

    exit_code = 2


class UnknownNameError(ConfigError):
    """A name that does not exist; the message suggests the nearest one and lists all."""

    def __init__(self, what: str, name: str, choices: Iterable[str], where: str = "") -> None:
        known = list(choices)
        place = f" in {where}" if where else ""
        remedy = f"choose from: {', '.join(known)}" if known else "there is none, so leave it out"
        super().__init__(f"unknown {what} {name!r}{place}{did_you_mean(name, known)}; {remedy}")


def raise_together(errors: Sequence[ConfigError]) -> None:
    """Raise one error that lists all, or a single one unchanged."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigError("; and ".join(str(error) for error in errors))


class NotADatasetError(ConfigError):
    """The path has no finished dataset."""


class DatasetDamagedError(BeamTFRecordsError):
    """A dataset, or one of its files, does not match its metadata."""

    exit_code = 3


class DatasetChangedError(BeamTFRecordsError):
    """A dataset, or one of its files, was replaced or changed during the read."""


# In the `repr` of an object.
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]{6,}")


class RecordError(BeamTFRecordsError):
    """A record that cannot be used.

    Raised by functions for a single record; a build's stage converts it to a reject with the
    same reason and detail. Details may hold the text of a library's error, without the memory
    addresses of objects: rejects are equal byte for byte in every build.
    """

    def __init__(self, reason: str, detail: str):
        detail = _ADDRESS.sub("", detail)
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return the choice with the most similar spelling, or "" if none is similar."""
    return next(iter(difflib.get_close_matches(str(name), list(choices), n=1)), "")


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ` (did you mean 'train'?)` for the nearest choice, or ""."""
    near = nearest(name, choices)
    return f" (did you mean {near!r}?)" if near else ""
