"""The lines of a text file, or of a byte range of it, in blocks; each line's place is known."""

import bisect
import io
import os
import re
import shlex
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.compressed import is_compressed
from beam_pipeline.sources.paths import uncompressed
from beam_pipeline.sources.unpacking import blocks_of

BLOCK_BYTES = 2 << 20
# In memory a row takes up to thirty times its text.
MAX_LINE_BYTES = 16 << 20
_BYTE_ORDER_MARK = "\ufeff"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LETTERS = re.compile(rb"[\x80-\xff]+")
_MOST_IN_A_ROW = 2


class Block(NamedTuple):
    """Whole lines that follow one another.

    Attributes:
        lines: Each with its end; bytes that are not UTF-8 are surrogates.
        starts: The byte at which each begins, and then the one at which the last ends.
        is_unicode: Whether all of them are UTF-8.
        has_quotes: Whether one of them has a double quote.
    """

    lines: list[str]
    starts: list[int]
    is_unicode: bool
    has_quotes: bool

    def before(self, end: int) -> int:
        """How many of the lines begin before the byte `end`."""
        return bisect.bisect_left(self.starts, end, hi=len(self.lines))


# Makes text of what a file holds, block by block.
TextOf = Callable[[str], Iterator[bytes]]


def text_of(path: str, made_by: TextOf | None = None) -> Iterator[bytes]:
    """The text of a file that is compressed, or of which `made_by` makes a text.

    Raises:
        DataError: It is cut short or damaged.
    """
    try:
        yield from (made_by or blocks_of)(path)
    except RecordError as error:
        how, remedy = ("read", "fix it, or ") if made_by else ("decompressed", "")
        raise DataError(f"{path} cannot be {how} ({error}); {remedy}fetch it again") from error


def read_blocks(
    path: str, start: int = 0, block_bytes: int = BLOCK_BYTES, made_by: TextOf | None = None
) -> Iterator[Block]:
    """The lines that begin at byte `start` or behind it, to the file's end.

    A compressed file is decompressed; bytes are those of its content.

    Args:
        path: The file.
        start: 0, or a byte of a file that is text as it is.
        block_bytes: What is read at once of such a file.
        made_by: What makes text of a file that is none.

    Raises:
        ConfigError: The file is UTF-16.
        DataError: It is compressed, and cut short or damaged; or a line has over 16 MiB.
        RecordError: "missing file" or "unreadable file".
    """
    blocks = text_of(path, made_by) if made_by or is_compressed(path) else None
    # The byte before tells whether a line begins at `start`.
    position = max(0, start - 1)
    rest: list[bytes] = []
    is_first = True
    for data in blocks or _stored(path, position, block_bytes):
        if position == 0 and not rest and data.startswith(_UTF_16_MARKS):
            new = shlex.quote(f"{path}.utf8")
            raise ConfigError(
                f"{path} is UTF-16: save it as UTF-8, such as by iconv -f UTF-16 -t UTF-8 "
                f"{shlex.quote(path)} > {new} && mv {new} {shlex.quote(path)}"
            )
        head, line_end, tail = data.rpartition(b"\n")
        if not line_end:
            rest.append(data)
            if sum(map(len, rest)) > MAX_LINE_BYTES:
                raise DataError(
                    f"{path} has a line of over {MAX_LINE_BYTES >> 20} MiB behind byte {position}; "
                    "is it a text file with line ends of LF or CRLF?"
                )
            continue
        whole = b"".join((*rest, head, line_end))
        rest = [tail] if tail else []
        yield from _block(whole, position, is_first, start)
        position += len(whole)
        is_first = False
    if rest:
        yield from _block(b"".join(rest), position, is_first, start)


def as_utf8(path: str, data: bytes) -> str:
    """What makes UTF-8 of the file at `path`: a command, where that is sure to help.

    Letters of Western Europe (Windows-1252, which Latin-1 is a part of) stand alone among those of
    ASCII; those of other encodings, such as GBK and Windows-1251, stand in a row.

    Args:
        path: The file, an absolute path or URL.
        data: Some of it that is not UTF-8.
    """
    if uncompressed(path) != path or not os.path.isfile(path):  # it is remote, or in an archive
        return "save it as UTF-8"
    try:
        data.decode("cp1252")
        is_western = max(map(len, _LETTERS.findall(data)), default=0) <= _MOST_IN_A_ROW
    except UnicodeDecodeError:
        is_western = False
    name, new = shlex.quote(path), shlex.quote(f"{path}.utf8")
    command = f"iconv -f {'CP1252' if is_western else 'ENCODING'} -t UTF-8 {name} > {new}"
    what = "" if is_western else ", where ENCODING is what it was saved in (GBK, CP1251, …)"
    return f"save it as UTF-8, by {command} && mv {new} {name}{what}"


def count_lines(
    path: str, start: int, end: int, made_by: TextOf | None = None
) -> tuple[int, int, bool]:
    """(lines, byte, quotes) of the lines that begin in [start, end).

    That is how many they are, where the line behind them begins, and whether they have quotes.
    Arguments and errors are those of `read_blocks`.
    """
    count, behind, has_quotes = 0, start, False
    for block in read_blocks(path, start, made_by=made_by):
        number = block.before(end)
        count += number
        behind = block.starts[number]
        has_quotes = has_quotes or (block.has_quotes and number > 0)
        if behind >= end:
            break
    return count, behind, has_quotes


def _block(data: bytes, position: int, is_first: bool, start: int) -> Iterator[Block]:
    """The lines of `data`, but for the line that begins before `start`."""
    if is_first and start:
        _, line_end, behind = data.partition(b"\n")
        position += len(data) - len(behind)
        data = behind if line_end else b""
    if not data:
        return
    try:
        text, is_unicode = data.decode(), True
    except UnicodeDecodeError:
        text, is_unicode = data.decode(errors="surrogateescape"), False
    ends = numpy.flatnonzero(numpy.frombuffer(data, numpy.uint8) == ord("\n")) + (position + 1)
    starts = [position, *ends.tolist()]
    if not data.endswith(b"\n"):
        starts.append(position + len(data))
    if position == 0 and text.startswith(_BYTE_ORDER_MARK):
        text = text[1:]
        starts[0] = len(_BYTE_ORDER_MARK.encode())
    lines = list(io.StringIO(text, newline="\n")) or [""]
    yield Block(lines, starts, is_unicode, '"' in text)


def _stored(path: str, position: int, block_bytes: int) -> Iterator[bytes]:
    with storage.opened(path) as handle:
        handle.seek(position)
        while data := bytes(handle.read(block_bytes)):
            yield data
