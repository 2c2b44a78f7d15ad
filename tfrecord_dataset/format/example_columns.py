"""Examples of one value per key as columns: parsed together with NumPy, key by key."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecord_dataset.format.example import TAGS, in_order

_Places = npt.NDArray[np.int64]
_PADDING = 16  # longer than a number
_VARINT_BYTES = 10


class SingleValues:
    """Values of Examples as this project writes them, with one value under each key.

    Args:
        content: Bytes that contain the Examples.
        starts, ends: Where each begins and ends, int64 [examples].
        kinds: "bytes", "float32" or "int64" by key: all keys that each Example has.

    Attributes:
        are_such: Whether each Example is written so and has these keys; others may be valid, too.
    """

    def __init__(
        self, content: bytes, starts: _Places, ends: _Places, kinds: Mapping[str, str]
    ) -> None:
        self._content, self._kinds = content, kinds
        self._bytes = np.frombuffer(content + bytes(_PADDING), np.uint8)
        self._spans: dict[str, tuple[_Places, _Places]] = {}
        self._at, self.are_such = starts, np.ones(len(starts), bool)
        self._enter(b"\n", ends)
        for key in in_order(tuple(kinds)):
            self._read_entry(key, kinds[key])
        self.are_such &= self._at == ends

    def of(self, key: str) -> list[Any]:
        """Return the values of a key in those Examples."""
        starts, ends = (places[self.are_such] for places in self._spans[key])
        kind = self._kinds[key]
        if kind == "bytes":
            spans = zip(starts.tolist(), ends.tolist(), strict=True)
            return [self._content[start:end] for start, end in spans]
        if kind == "int64":
            numbers, _ = self._varints(starts)
            return [*numbers.view(np.int64).tolist()]
        places = starts[:, None] + np.arange(4)
        return [*np.ascontiguousarray(self._bytes[places]).view("<f4")[:, 0].tolist()]

    def _read_entry(self, key: str, kind: str) -> None:
        """Read a key's entry of Features: the key, and a Feature with a list of one value."""
        end = self._enter(b"\n")
        name = key.encode()
        length = self._enter(b"\n") - self._at
        self.are_such &= length == len(name)
        self._read(name)
        self._enter(b"\x12", end)
        self._enter(TAGS[kind], end)
        self._enter(b"\n", end)
        start = self._at
        if kind == "int64":
            _, after = self._varints(start)
            self.are_such &= after == end
        elif kind == "float32":
            self.are_such &= end - start == 4
        self._spans[key] = start, end
        self._at = end

    def _read(self, expected: bytes) -> None:
        places = self._inside(self._at[:, None] + np.arange(len(expected)))
        self.are_such &= (self._bytes[places] == np.frombuffer(expected, np.uint8)).all(axis=1)
        self._at = self._at + len(expected)

    def _enter(self, tag: bytes, end: _Places | None = None) -> _Places:
        """Pass a field's tag and length; return where it ends, which is at `end` if given."""
        self._read(tag)
        lengths, self._at = self._varints(self._at)
        self.are_such &= (self._at >= 0) & (lengths <= len(self._content))
        stated = self._at + lengths.view(np.int64)
        if end is not None:
            self.are_such &= stated == end
        return self._inside(stated)

    def _varints(self, at: _Places) -> tuple[npt.NDArray[np.uint64], _Places]:
        """Read a number at each place; return the numbers, and the places below them.

        A place is -1 below a number of more than 64 bits, or without an end.
        """
        numbers = np.zeros(len(at), np.uint64)
        lengths = np.zeros(len(at), np.int64)
        more = np.arange(len(at))
        for number in range(_VARINT_BYTES):
            byte = self._bytes[self._inside(at[more] + number)]
            numbers[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * number)
            lengths[more] += 1
            more = more[byte >= (0x80 if number < _VARINT_BYTES - 1 else 2)]
            if not more.size:
                break
        below = at + lengths
        below[more] = -1
        return numbers, below

    def _inside(self, places: _Places) -> _Places:
        """Return places, those outside of the content moved to its end."""
        return np.clip(places, 0, len(self._content))
