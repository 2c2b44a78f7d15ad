"""Beam's import, without a line that it logs each time, and without what nobody here needs."""

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
def without_rare_ones() -> Iterator[None]:
    """Lets Beam do without beartype and absl, which it asks for at its import.

    Hints it compares without beartype, 300 modules and 60 ms, as long as they are classes; of
    absl, 20 ms, it pickles the flags. Whoever imports these later gets all of them.
    """
    door: Any = ModuleType("beartype.door")
    roar: Any = ModuleType("beartype.roar")
    door.is_subhint, roar.BeartypeDoorException = is_subhint, HintError
    stands_in = {
        "beartype": {door.__name__: door, roar.__name__: roar},
        "absl": {"absl": None},  # it cannot be imported
    }
    put = {
        name: each
        for package, some in stands_in.items()
        if package not in sys.modules
        for name, each in some.items()
    }
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules.update(put)
    try:
        yield
    finally:
        for name in put:
            del modules[name]


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
