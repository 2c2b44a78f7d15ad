"""JSON that nobody has checked: its items as a stream, how deep and how large they may be.

What parses it builds as much as it finds, so depth and size are bounded before.
"""

import contextlib
import csv
import json
import re
from collections.abc import Iterator
from typing import Any

import ijson
import numpy

from beam_pipeline.files import storage
from beam_pipeline.sources.malformed import malformed

MAX_DEPTH = 64
# In memory an item takes up to thirty times its text.
MAX_ITEM_BYTES = 16 << 20

_MAX_CSV_BYTES = 256 << 20

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
# By byte: how much deeper it leads.
_STEPS = numpy.zeros(256, numpy.int64)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_PLAIN = bytes(set(range(256)) - set(b'[]{}"'))
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Nesting:
    """Follows a JSON text, piece by piece, through its brackets.

    Args:
        list_depth: Brackets around an item: what lies deeper is one.

    Attributes:
        depth: Open brackets after the last piece.
        deepest: The most of them so far.
        item_bytes: Bytes of the pieces since brackets were last no deeper than a file's lists.
    """

    def __init__(self, list_depth: int = 2) -> None:
        self._list_depth = list_depth
        self.depth = 0
        self.deepest = 0
        self.item_bytes = 0
        self._in_text = False
        self._rest = b""

    def add(self, data: bytes) -> None:
        """Goes on with the next piece."""
        num_bytes = len(data)
        if self._rest or b"\\" in data:
            data = _ESCAPE.sub(b"", self._rest + data)
            self._rest = b"\\" if data.endswith(b"\\") else b""
        parts = data.translate(None, _PLAIN).split(b'"')
        brackets = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        steps = _STEPS[numpy.frombuffer(brackets, numpy.uint8)]
        depths = self.depth + numpy.cumsum(steps)
        shallow = False
        if len(depths):
            self.depth = int(depths[-1])
            self.deepest = max(self.deepest, int(depths.max()))
            shallow = bool(depths.min() <= self._list_depth)
        self.item_bytes = 0 if shallow else self.item_bytes + num_bytes


def is_deep(text: str) -> bool:
    """Whether a JSON text is nested deeper than anything here handles."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    nesting = Nesting()
    nesting.add(text.encode(errors="replace"))
    return nesting.deepest > MAX_DEPTH


def items(path: str, place: str) -> Iterator[Any]:
    """The items of a list in a file of JSON, which may be compressed, one after the other.

    Args:
        path: The file.
        place: Where the list lies, as ijson has it: "" of a file that is the list, else a name.

    Raises:
        RecordError: The file cannot be read, or is not JSON.
    """
    prefix = f"{place}.item" if place else "item"
    with _checked(path, prefix.count(".") + 1) as handle:
        yield from ijson.items(handle, prefix, use_float=True)


def members(path: str, place: str) -> Iterator[tuple[str, Any]]:
    """The (name, value) of an object in a file of JSON, one after the other.

    Args:
        path: The file.
        place: Where the object lies: "" of the file itself, else a name.

    Raises:
        RecordError: The file cannot be read, or is not JSON.
    """
    with _checked(path, 2 if place else 1) as handle:
        yield from ijson.kvitems(handle, place, use_float=True)


@contextlib.contextmanager
def _checked(path: str, list_depth: int) -> Iterator["CheckedJson"]:
    with storage.decompressed(path) as handle:
        try:
            yield CheckedJson(handle, list_depth=list_depth)
        except ijson.JSONError as error:
            message = " ".join(str(error).partition("(right here)")[0].split())
            raise malformed(f"not JSON, before byte {handle.tell()}: {message}") from error
        except ValueError as error:  # a number of thousands of digits
            raise malformed(f"not usable as JSON: {error}") from error


class CheckedJson:
    """A file of JSON on its way to a parser, without its byte order mark.

    Args:
        handle: The file.
        list_depth: As `Nesting`.

    Raises, when it is read, RecordError "malformed annotation": nested too deep, or with an item
    that is too large.
    """

    def __init__(self, handle: Any, list_depth: int = 2):
        self._handle = handle
        self._nesting = Nesting(list_depth)
        self._at_start = True

    def read(self, num_bytes: int = -1) -> bytes:
        """The next bytes."""
        data: bytes = self._handle.read(num_bytes)
        if self._at_start and data:
            self._at_start = False
            data = data.removeprefix(_BYTE_ORDER_MARK) or self._handle.read(num_bytes)
        self._nesting.add(data)
        if self._nesting.deepest > MAX_DEPTH:
            raise malformed(f"it is nested over {MAX_DEPTH} deep")
        if self._nesting.item_bytes > MAX_ITEM_BYTES:
            raise malformed(f"one of its items has over {MAX_ITEM_BYTES:,} bytes")
        return data


def csv_rows(path: str) -> Iterator[dict[str, Any]]:
    """The rows of a CSV by its header; a cell with JSON is what that says.

    Raises:
        RecordError: "malformed annotation", or it cannot be read.
    """
    csv.field_size_limit(2 * MAX_ITEM_BYTES)  # Python's own default is 131,072
    text = storage.read_text(path, _MAX_CSV_BYTES)
    try:
        for row in csv.DictReader(text.splitlines(keepends=True)):
            yield {name: _cell(value) for name, value in row.items() if name}
    except csv.Error as error:
        raise malformed(str(error)) from error


def _cell(value: Any) -> Any:
    try:
        return json.loads(value) if value and value[0] in "[{" else value
    except (ValueError, RecursionError):
        return value
