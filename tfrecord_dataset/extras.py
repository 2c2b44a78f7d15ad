"""This package's extras, which are not on a package index yet."""

import importlib
from typing import Any, Literal

from tfrecord_dataset.errors import ConfigError

Extra = Literal["detection", "gcp", "hdf5", "near-duplicates", "onnx", "text", "trainer"]


def install(extra: Extra) -> str:
    """Return the command that installs an extra, and where to run it, as the end of a message."""
    return f"pip install -e '.[{extra}]' in the clone of beam-tfrecords"


def load(module: str, extra: Extra, use: str) -> Any:
    """Import the module of an extra that has a `use`, such as "images are hashed".

    Raises:
        ConfigError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"{use} by {module}, which is not installed; run {install(extra)}"
        ) from error
