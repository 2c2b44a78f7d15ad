"""Read JSON files of any size item by item, each parsed once by Python's own decoder.

ijson takes three times as long for a file of boxes, and goes through it once for each list.
"""

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.malformed import malformed

# In memory an item takes up to thirty times its text.
MAX_ITEM_CHARACTERS = 16 << 20

_BYTES_AT_ONCE = 1 << 20
_BEHIND = frozenset(",]}: \t\n\r")
_SPACE = re.compile(r"[ \t\n\r]*")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


_scan = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]


def walk(path: str, into: Collection[str] = ()) -> Iterator[tuple[str, str, Any]]:
    """Yield (member, name, value) for everything in a file's outermost list or object.

    The items of a list at the top have no member and no name, those of a list in a member no name.
    An object in a member is one value, unless it is one of `into`: then its own members are.

    Args:
        path: The file, which may be compressed.
        into: Names of members that are objects with many members.

    Raises:
        RecordError: The file cannot be read, or is not JSON; at its end, if the fault is there.
    """
    with storage.decompressed(path) as handle:
        text = _Text(handle)
        try:
            yield from _walk(text, into)
        except RecursionError:
            raise malformed("not usable as JSON: it is nested too deep") from None
        except ValueError as error:  # no UTF-8, or a number of thousands of digits
            raise text.fault(str(error)) from None


def items(path: str, member: str = "") -> Iterator[Any]:
    """The items of the list in one member of a file, or of a file that is a list."""
    return (value for place, name, value in walk(path) if place == member and not name)


class _Text:
    """The text of a file, as much of it as the next value needs."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._before = "", 0, 0
        self._is_whole = False

    def _more(self, num_bytes: int = 0) -> bool:
        """Read on; False at the end of the file."""
        if self._is_whole:
            return False
        data = self._handle.read(num_bytes or _BYTES_AT_ONCE)
        self._is_whole = not data
        self._before += self._at
        self._text = self._text[self._at :] + self._decoder.decode(data, final=not data)
        self._at = 0
        return True

    def peek(self) -> str:
        """The next character that is no space; "" at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, characters: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in characters:
            raise self.fault(f"expected {' or '.join(characters)}, found {found!r}")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value."""
        self.peek()
        num_bytes = _BYTES_AT_ONCE
        while True:
            try:
                value, end = _scan(self._text, self._at)
                # "1e" where the text ends may go on: "1e5".
                if self._text[end : end + 1] in _BEHIND or self._is_whole:
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

    def fault(self, why: str) -> RecordError:
        """The error of a file that is not JSON."""
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
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        yield text.value()
        if text.take(",]") == "]":
            return


def _names(text: _Text) -> Iterator[str]:
    """The names of an object's members; who asks for the next has taken the value."""
    text.take("{")
    if text.peek() == "}":
        text.take("}")
        return
    while True:
        name = text.value() if text.peek() == '"' else text.take('"')
        text.take(":")
        yield name
        if text.take(",}") == "}":
            return
