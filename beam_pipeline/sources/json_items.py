"""Read JSON files of any size item by item, each parsed once by Python's own decoder.

The depth and the size of an item are bounded, since files are not trusted.
"""

import codecs
import contextlib
import csv
import io
import itertools
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.rejects import malformed
from tfrecord_dataset.delimited import lines_of

# An item takes up to thirty times as much memory as its text.
MAX_ITEM_CHARACTERS = 16 << 20
MAX_DEPTH = 64
_MAX_CSV_BYTES = 256 << 20

_BYTES_AT_ONCE = 1 << 20
_BEHIND = frozenset(",]}: \t\n\r")
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*(?=.)")
_NO_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[^][{}"]+', re.DOTALL)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


_scan = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]

_TOKENS = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"|\Z)|[][{}:,]', re.DOTALL)
_BRACKETS = re.compile(r"[][{}]")
_ANY_NAME = r"[^][{}]*"


class JsonSign:
    """Structure that identifies a format of JSON, matched like a compiled regular expression.

    A path has the members and brackets from the top to a value: "{images[{id" is the member `id` of
    an object in the list `images`, "{images[]" an empty list.

    Args:
        paths: Alternatives. Brackets are literal, `*` is any name, and the rest is a regular
            expression.
    """

    def __init__(self, *paths: str) -> None:
        escaped = (_BRACKETS.sub(r"\\\g<0>", path).replace("*", _ANY_NAME) for path in paths)
        self._pattern = re.compile("|".join(f"(?:{path})" for path in escaped))

    def search(self, start: bytes) -> bool:
        """Whether the start of a file has one of the paths."""
        return any(map(self._pattern.fullmatch, paths_of(start)))


def paths_of(start: bytes) -> Iterator[str]:
    """Yield the paths of the members and lists in the start of a JSON file, as in `JsonSign`."""
    text = start.decode("utf-8-sig", errors="replace")
    opened, member, before, name = list[str](), "", "", ""
    for token in _TOKENS.finditer(text):
        kind = token[0][0]
        if kind == '"':
            name = token[1]
        elif kind == ":":
            member = (opened[-1] if opened else "") + _BRACKETS.sub("", name)
            yield member
        elif kind in "[{":
            of_list = bool(opened) and opened[-1].endswith("[")
            opened.append((opened[-1] if of_list else member) + kind)
            yield opened[-1]
        elif kind in "]}":
            if before == "[":
                yield f"{opened[-1]}]"
            opened = opened[:-1]
            if not opened:
                return
        before = kind


def walk(path: str, into: Collection[str] = ()) -> Iterator[tuple[str, str, Any]]:
    """Yield (member, name, value) for everything in a file's outermost list or object.

    Items of a top-level list have no member and no name, items of a list in a member have no name.
    An object in a member is one value, unless the member is in `into`: then its members are values.

    Args:
        path: The file, which may be compressed.
        into: Names of members that are objects with many members.

    Raises:
        RecordError: The file cannot be read, or is not JSON; raised after the values before it.
    """
    with storage.decompressed(path) as handle:
        text = _Text(handle)
        try:
            yield from _walk(text, into)
        except RecursionError:
            raise malformed("not usable as JSON: it is nested too deep") from None
        except ValueError as error:  # invalid UTF-8, or a number with thousands of digits
            raise text.fault(str(error)) from None


def items(path: str, member: str = "") -> Iterator[Any]:
    """Yield the items of a list in one member of a file, or of a top-level list."""
    return (value for place, name, value in walk(path) if place == member and not name)


def place_of_objects(start: bytes, names: Collection[str]) -> str | None:
    """Locate a list of objects in JSON: "" at the top, or one of the members `names`."""
    text = _Text(io.BytesIO(start))
    with contextlib.suppress(RecordError, ValueError, RecursionError):  # `start` is cut off
        for name in _names(text) if text.peek() == "{" else [""]:
            if text.peek() == "[" and (not name or name in names):
                text.take("[")
                return name if text.peek() == "{" else None
            text.value()
    return None


def is_deep(text: str) -> bool:
    """Whether a JSON text is nested too deep."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    steps = map(_STEPS.__getitem__, _NO_BRACKETS.sub("", text))
    return max(itertools.accumulate(steps), default=0) > MAX_DEPTH


def csv_rows(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV by column, and parse cells of JSON; raise RecordError."""
    csv.field_size_limit(2 * MAX_ITEM_CHARACTERS)  # Python's own default is 131,072
    text = storage.read_text(path, _MAX_CSV_BYTES)
    try:
        for row in csv.DictReader(lines_of(text), strict=True):
            yield {name: _cell(value) for name, value in row.items() if name}
    except csv.Error as error:
        raise malformed(str(error)) from error


def _cell(value: Any) -> Any:
    try:
        return json.loads(value) if value and value[0] in "[{" else value
    except (ValueError, RecursionError):
        return value


class _Text:
    """Window of a file's text that holds the next value."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._before = "", 0, 0
        self._is_whole = False

    def _more(self, num_bytes: int = 0) -> bool:
        """Read more text; return False at the end of the file."""
        if self._is_whole:
            return False
        data = self._handle.read(num_bytes or _BYTES_AT_ONCE)
        self._is_whole = not data
        self._before += self._at
        self._text = self._text[self._at :] + self._decoder.decode(data, final=not data)
        self._at = 0
        return True

    def peek(self) -> str:
        """Return the next non-space character; "" at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, characters: str) -> str:
        """Take the next character, which must be one of `characters`."""
        next_byte = self.peek()
        if not next_byte or next_byte not in characters:
            raise self.fault(f"expected {' or '.join(characters)}, found {next_byte!r}")
        self._at += 1
        return next_byte

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        num_bytes = _BYTES_AT_ONCE
        while True:
            try:
                value, end = _scan(self._text, self._at)
                # "1e" at the end of the text may continue: "1e5".
                if self._text[end : end + 1] in _BEHIND or self._is_whole:
                    if is_deep(self._text[self._at : end]):
                        raise malformed(f"one of its items is nested over {MAX_DEPTH} deep")
                    self._at = end
                    return value
            except StopIteration:
                if self._is_whole:
                    raise self.fault("a value is missing") from None
            except json.JSONDecodeError as error:
                if self._is_whole:
                    raise self.fault(error.msg) from None
            if len(self._text) - self._at > MAX_ITEM_CHARACTERS:
                raise malformed(
                    f"not JSON, or one of its items has over {MAX_ITEM_CHARACTERS:,} characters, "
                    f"from character {self._before + self._at} on"
                )
            self._more(num_bytes)
            num_bytes *= 2

    def values(self) -> Iterator[Any]:
        """Yield the next values of a list that are complete in memory, up to the last comma."""
        self.peek()
        text = self._text
        with contextlib.suppress(StopIteration, json.JSONDecodeError):  # `value` reports it
            while True:
                value, end = _scan(text, self._at)
                comma = _COMMA.match(text, end)
                if not comma or (end - self._at > 2 * MAX_DEPTH and is_deep(text[self._at : end])):
                    return
                self._at = comma.end()
                yield value

    def fault(self, why: str) -> RecordError:
        """Return the error for a file that is not JSON."""
        return malformed(f"not JSON, at character {self._before + self._at}: {why}")


def _walk(text: _Text, into: Collection[str]) -> Iterator[tuple[str, str, Any]]:
    if text.peek() == "[":
        yield from (("", "", value) for value in _list(text))
    else:
        for name in _names(text):
            if text.peek() == "[":
                yield from ((name, "", value) for value in _list(text))
            elif name in into and text.peek() == "{":
                yield from ((name, inner, text.value()) for inner in _names(text))
            else:
                yield "", name, text.value()
    if text.peek():
        raise text.fault("there is more behind its end")


def _list(text: _Text) -> Iterator[Any]:
    for _ in _parts(text, "[", "]"):
        yield from text.values()
        yield text.value()


def _names(text: _Text) -> Iterator[str]:
    """Yield the names of an object's members; the caller takes each value before the next name."""
    for _ in _parts(text, "{", "}"):
        name = text.value() if text.peek() == '"' else text.take('"')
        text.take(":")
        yield name


def _parts(text: _Text, start: str, end: str) -> Iterator[None]:
    """Yield before each item of a list or object; the caller takes the item."""
    text.take(start)
    if text.peek() == end:
        text.take(end)
        return
    yield
    while text.take(f",{end}") == ",":
        yield
