"""This package's extras, which are not on a package index yet."""

import importlib
from typing import Any, Literal

from tfrecord_dataset.errors import ConfigError

Extra = Literal["detection", "gcp", "hdf5", "near-duplicates", "onnx", "trainer"]


def install(extra: Extra) -> str:
    """Return the end of a message: the command that installs an extra, and where to run it."""
    return f"pip install -e '.[{extra}]' in the clone of beam-tfrecords"


def load(module: str, extra: Extra, use: str) -> Any:
    """Import a module of an extra; `use` is its purpose, such as "images are hashed".

    Raises:
        ConfigError: The module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"{use} by {module}, which is not installed; run {install(extra)}"
        ) from error
