"""Beam's import, without a line that it logs each time, and what nobody here needs of it."""

import contextlib
import logging
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """For imports that may be the first of Beam's; nobody here asks for BigQuery.

    What Beam logs then would set up the log of whoever imports it, with names of modules before
    the notes of this package.
    """
    root = logging.getLogger()
    handlers = tuple(root.handlers)
    root.addFilter(_is_wanted)
    try:
        yield
    finally:
        root.removeFilter(_is_wanted)
        for added in set(root.handlers).difference(handlers):
            root.removeHandler(added)


class HintError(Exception):
    """What Beam expects of beartype where hints cannot be compared."""


@contextlib.contextmanager
def without_beartype() -> Iterator[None]:
    """Lets Beam compare hints without beartype, 300 modules and 60 ms, as long as they are classes.

    Whoever imports beartype later gets all of it.
    """
    door: Any = ModuleType("beartype.door")
    roar: Any = ModuleType("beartype.roar")
    door.is_subhint, roar.BeartypeDoorException = is_subhint, HintError
    if "beartype" in sys.modules:
        yield
        return
    sys.modules |= {each.__name__: each for each in (door, roar)}
    try:
        yield
    finally:
        del sys.modules[door.__name__], sys.modules[roar.__name__]


def is_subhint(hint: Any, other: Any) -> bool:
    """As beartype's.

    Raises:
        HintError: Nothing is known of one of the hints.
    """
    if type(hint) is type(other) is type:
        return issubclass(hint, other)
    from beartype import door, roar  # here: what it costs is what this module saves

    try:
        return bool(door.is_subhint(hint, other))
    except roar.BeartypeDoorException as error:
        raise HintError(str(error)) from error


def _is_wanted(record: logging.LogRecord) -> bool:
    return "apitools not found" not in record.getMessage()
