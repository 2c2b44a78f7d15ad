"""Beam's import, without the line that it logs each time, of BigQuery's client."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """For imports that may be the first of Beam's; nobody here asks for BigQuery."""
    root = logging.getLogger()
    root.addFilter(_is_wanted)
    try:
        yield
    finally:
        root.removeFilter(_is_wanted)


def _is_wanted(record: logging.LogRecord) -> bool:
    return "apitools not found" not in record.getMessage()
