"""Makes the import of Beam quiet, and faster."""

import contextlib
import importlib.abc
import logging
import sys
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


class _NotInstalled(importlib.abc.MetaPathFinder):
    """Make a module look as if it were not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == self._name:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextlib.contextmanager
def without_pandas() -> Iterator[None]:
    """Keep the imports of Beam and pyarrow from importing pandas, to recognize its objects.

    Where it is installed, that takes each process 0.4 s of CPU time and 54 MiB. Later imports of
    pandas succeed. pyarrow looks for it once, when it first converts values, which is done here.
    """
    finder = _NotInstalled("pandas")
    sys.meta_path.insert(0, finder)
    try:
        yield
        if pyarrow := sys.modules.get("pyarrow"):
            pyarrow.array([0])
    finally:
        sys.meta_path.remove(finder)
