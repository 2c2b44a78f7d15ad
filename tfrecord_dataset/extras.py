"""Installation of this package's extras, which are not on a package index yet."""

from typing import Literal

Extra = Literal["detection", "gcp", "hdf5", "near-duplicates", "onnx", "text", "trainer"]


def install(extra: Extra) -> str:
    """Return the command that installs an extra, and where to run it, as the end of a message."""
    return f"pip install -e '.[{extra}]' in the clone of beam-tfrecords"
