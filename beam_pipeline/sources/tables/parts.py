"""Parts of a file of rows or records, so that several workers of a cluster read one file."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from tfrecord_dataset.delimited import (
    MAX_CHARACTERS,
    Dialect,
    LongLineError,
    has_row_places,
    row_places,
)

# Least size of a part. What fewer bytes may unpack to is never too large (`format/inflation.py`),
# so if a file is too large, so is one of its parts.
LEAST_BYTES = 4 << 20
_MOST_PARTS = 1024  # of a file


class Part(NamedTuple):
    """Consecutive rows or records of a file, which can be read without those above.

    Attributes:
        start: Where they begin, in bytes or row groups; 0 for the beginning of the file.
        end: Where they end; None for the end of the file.
        row: Number of the first one, of a row as in `Batch.lines`; 0 for the first of the file.
        num_bytes: Size in the file; 0 if it is unknown.
    """

    start: int = 0
    end: int | None = None
    row: int = 0
    num_bytes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the part is the whole file."""
        return self.end is None

    def join(self, below: "Part") -> "Part":
        """Return these rows and those below."""
        return Part(self.start, below.end, self.row, self.num_bytes + below.num_bytes)


WHOLE = Part()


def is_divisible(file_bytes: int) -> bool:
    """Whether a file is large enough for several parts."""
    return file_bytes >= 2 * LEAST_BYTES


def joined_parts(smallest: Iterable[Part], file_bytes: int) -> list[Part]:
    """Join neighbours until each is large enough for the size of their file."""
    least = max(LEAST_BYTES, file_bytes // _MOST_PARTS)
    joined: list[Part] = []
    for part in smallest:
        if joined and joined[-1].num_bytes < least:
            part = joined.pop().join(part)
        joined.append(part)
    if joined[1:] and joined[-1].num_bytes < least:
        joined[-2:] = [joined[-2].join(joined[-1])]
    return joined if joined[1:] else [WHOLE]


def divided(path: str, smallest: Iterable[Part]) -> list[Part]:
    """Join the smallest parts of a large file; one that cannot be read to its end stays whole."""
    size = storage.size(path) or 0
    if is_divisible(size):
        with contextlib.suppress(DataError, RecordError):  # whoever reads all of it reports it
            return joined_parts(smallest, size)
    return [WHOLE]


def parts_of_text(
    path: str,
    dialect: Dialect,
    width: int | None = None,
    *,
    num_above: int = 0,
    at_most: int = MAX_CHARACTERS,
) -> Iterator[Part]:
    """Yield the smallest parts of a text of rows, none if it is compressed; raises DataError."""
    if storage.is_compressed(path) or not has_row_places(dialect.encoding):
        return
    with opened_text(path) as content:
        start, row = 0, 0
        places = row_places(content, dialect, width, num_above=num_above, at_most=at_most)
        for place, line in places:
            if place > start:
                yield Part(start, place, row, place - start)
                start, row = place, line


@contextlib.contextmanager
def opened_text(path: str, part: Part = WHOLE) -> Iterator[Any]:
    """Open a part of a text to be read in order; raises as `readable`."""
    with readable(path), storage.decompressed(path) as content:
        if part.end is None:
            yield content
        else:
            content.seek(part.start)
            yield _Range(content, part.end - part.start)


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """Raise DataError for a text that cannot be read."""
    try:
        yield
    except RecordError as error:
        raise DataError(f"{path} cannot be read ({error}); fetch it again") from error
    except LongLineError as error:
        raise DataError(f"{path} has {error}") from error


class _Range:
    """The next bytes of an open file."""

    def __init__(self, content: Any, num_bytes: int) -> None:
        self._content, self._left = content, num_bytes

    def read(self, size: int) -> bytes:
        data: bytes = self._content.read(min(size, self._left))
        self._left -= len(data)
        return data
