"""Beam's import, without a line that it logs each time."""

import contextlib
import logging
from collections.abc import Iterator


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


def _is_wanted(record: logging.LogRecord) -> bool:
    return "apitools not found" not in record.getMessage()
