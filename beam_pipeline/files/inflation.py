"""Compressed content that is far larger than its file is refused before it fills memory or disk."""

import gzip
from typing import Any

from beam_pipeline.errors import RecordError

TOO_LARGE = "file too large"
# Both have to be passed: text rarely reaches a ratio of 50, an array of zeros 1,000.
_MAX_BYTES = 256 << 20
_MAX_RATIO = 100


def check_inflation(name: str, packed_bytes: int, content_bytes: int) -> None:
    """Checks how much larger than its file some content is.

    Raises:
        RecordError: "file too large".
    """
    if content_bytes > _MAX_BYTES and content_bytes > _MAX_RATIO * packed_bytes:
        raise RecordError(
            TOO_LARGE,
            f"{name} unpacks to over {_MAX_BYTES >> 20} MiB and over {_MAX_RATIO} times its size; "
            "if it is meant to, save it uncompressed",
        )


class GunzipReader(gzip.GzipFile):
    """The content of a gzip file, whose `read` checks its size.

    Args:
        packed: The open file.
        name: Of the file, for errors.
    """

    def __init__(self, packed: Any, name: str):
        super().__init__(fileobj=packed, mode="rb")
        self._packed = packed
        self._name = name

    def read(self, size: int | None = -1) -> bytes:
        """Up to `size` bytes.

        Raises:
            RecordError: "file too large".
        """
        data = super().read(size)
        check_inflation(self._name, self._packed.tell(), self.tell())
        return data
