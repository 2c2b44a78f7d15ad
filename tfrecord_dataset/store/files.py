"""Files as they were when they were opened: read by offset, and nothing that took their place."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol

from tfrecord_dataset.errors import DatasetChangedError

# (bytes, offset) -> the bytes there; fewer at the end of the file.
ReadRange = Callable[[int, int], bytes]


class Files(Protocol):
    """Files that are read as they were when they were opened.

    Whoever reads another content than that gets a DatasetChangedError.

    Attributes:
        names: Paths or URLs.
        is_remote: Whether a read is a request.
    """

    names: tuple[str, ...]
    is_remote: bool

    def num_bytes(self, number: int) -> int:
        """The size of a file."""

    def identity(self, number: int) -> str:
        """What tells a file, as it was opened, from all others."""

    def expect(self, numbers: Sequence[int]) -> None:
        """Says which files are needed next, in their order."""

    def open(
        self, number: int, wanted: int | None = None
    ) -> contextlib.AbstractContextManager[ReadRange]:
        """A function that reads ranges of a file.

        Args:
            number: Of the file.
            wanted: The bytes that will be read; None for all.

        Raises:
            DatasetChangedError: It is another file now, or was changed until the block ended.
            BeamTFRecordsError: It cannot be read.
        """

    def renew(self, number: int) -> bool:
        """Whether a damaged copy of a file was found, and deleted: it may be read again.

        Raises:
            DatasetChangedError: It is another file now.
        """


def changed(name: str) -> DatasetChangedError:
    """The error for a file that is not what was opened."""
    return DatasetChangedError(
        f"{name} was changed or deleted while it was read; start again to read what is there now"
    )
