"""Elements as bytes: one packed batch is one element of Beam's.

No Beam here: worker processes import this module.
"""

import copyreg
import functools
import pickle
import struct
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import pyarrow as pa

_T = TypeVar("_T")

# A compressed batch begins with a byte that no pickle begins with, and the length of the pickle.
_COMPRESSED = 0
_LENGTH = struct.Struct("<BQ")
_ZSTD = pa.Codec("zstd", compression_level=1)


def crosses(named_tuple: type[_T]) -> type[_T]:
    """Has the values of a NamedTuple pickled in half the time, as a call of it with its fields."""
    copyreg.pickle(named_tuple, _call)  # type: ignore[arg-type]
    return named_tuple


def _call(value: tuple[Any, ...]) -> tuple[type, tuple[Any, ...]]:
    return type(value), tuple(value)


def pack(elements: Iterable[object], *, compressed: bool = True) -> bytes:
    """One batch as bytes: Beam's own coders cost more, element by element (docs/design.md).

    Compressed to a quarter (paths repeat themselves), for 2 µs a record: shuffles and a
    local runner's memory hold what they get. What goes straight to a worker process need not be.
    """
    pickled = pickle.dumps(list(elements), protocol=pickle.HIGHEST_PROTOCOL)
    if not compressed:
        return pickled
    packed: bytes = _ZSTD.compress(pickled, asbytes=True)
    return _LENGTH.pack(_COMPRESSED, len(pickled)) + packed


def unpack(batch: bytes) -> list[Any]:
    """The elements that `pack` packed."""
    pickled: Any = batch
    if not batch.startswith(pickle.PROTO):
        _, length = _LENGTH.unpack_from(batch)
        pickled = _ZSTD.decompress(memoryview(batch)[_LENGTH.size :], length)
    elements: list[Any] = pickle.loads(pickled)
    return elements


def pickled(element: object) -> bytes:
    """An element by itself: the same bytes whatever it is packed with."""
    return pickle.dumps(element, protocol=pickle.HIGHEST_PROTOCOL)


class Constant(Generic[_T]):
    """A value that goes to worker processes with every call, and is made once in each of them.

    Attributes:
        data: It, pickled.
    """

    def __init__(self, value: _T):
        self.data = pickled(value)

    @property
    def value(self) -> _T:
        """The value; one and the same object in a process."""
        value: _T = _unpickled(self.data)
        return value


@functools.lru_cache(maxsize=8)
def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)
