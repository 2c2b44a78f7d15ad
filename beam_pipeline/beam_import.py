"""Filters the line that Beam logs at each import."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Filter Beam's notice about BigQuery during imports that may be its first.

    To log it would also configure the root logger of the importing program.
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
