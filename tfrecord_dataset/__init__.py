"""Read single records of a dataset as NumPy values, and code shared by the other packages.

    dataset = tfrecord_dataset.open("data/cells")
    record = dataset["train"][17]

Imports no Beam, TensorFlow or pyarrow, and nothing at all before `open` is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfrecord_dataset.format.feature import Feature
    from tfrecord_dataset.records.access import Dataset, Records, open

    __version__: str

__all__ = ["Dataset", "Feature", "Records", "open"]

_MODULE_OF = {
    "Dataset": "tfrecord_dataset.records.access",
    "Feature": "tfrecord_dataset.format.feature",
    "Records": "tfrecord_dataset.records.access",
    "open": "tfrecord_dataset.records.access",
}

if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name):
        if name == "__version__":
            return importlib.import_module("tfrecord_dataset.command_line").version()
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'tfrecord_dataset' has no attribute {name!r}")
        return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
