"""How an extra of this package is installed, which no package index has yet."""

from typing import Literal

Extra = Literal["detection", "gcp", "hdf5", "near-duplicates", "onnx", "text", "trainer"]


def install(extra: Extra) -> str:
    """The command that installs an extra, and where it is typed; messages end with it."""
    return f"pip install -e '.[{extra}]' in the clone of beam-tfrecords"
