"""A bucketed shuffle: what belongs together meets, from whatever machines it comes.

A GroupByKey costs 10 µs for every small value, so what is sent waits until much of a bucket can
cross as one element; what one bucket has is gathered in memory (docs/design.md).
"""

import dataclasses
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from beam_pipeline.running.pickling import pack, unpack

# What a worker holds while it sends.
MAX_WAITING = 16_384
MAX_WAITING_BYTES = 32 << 20

_T = TypeVar("_T")
_K = TypeVar("_K")


class Waiting(Generic[_T, _K]):
    """What is sent, held until it is worth an element of each key.

    Args:
        divide: Makes (key, packed values) of all that waits.
        max_number, max_bytes: So much waits at most.
    """

    def __init__(
        self,
        divide: Callable[[Sequence[_T]], Iterable[_K]],
        *,
        max_number: int | None = None,
        max_bytes: int | None = None,
    ):
        self._divide = divide
        self._max_number = max_number or MAX_WAITING
        self._max_bytes = max_bytes or MAX_WAITING_BYTES
        self._values: list[_T] = []
        self._num_bytes = 0

    def add(self, value: _T, num_bytes: int = 0) -> Iterator[_K]:
        """Takes a value; yields what all are divided into, when too much waits."""
        self._values.append(value)
        self._num_bytes += num_bytes
        if len(self._values) >= self._max_number or self._num_bytes >= self._max_bytes:
            yield from self.flush()

    def flush(self) -> Iterator[_K]:
        """Yields what is left."""
        values, self._values, self._num_bytes = self._values, [], 0
        if values:
            yield from self._divide(values)

    def all(self, values: Iterable[_T], size: Callable[[_T], int]) -> Iterator[_K]:
        """Yields what any number of values is divided into, each of so many bytes."""
        for value in values:
            self._values.append(value)
            self._num_bytes += size(value)
            if len(self._values) >= self._max_number or self._num_bytes >= self._max_bytes:
                yield from self.flush()
        yield from self.flush()


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
    """So many buckets; all values of one key are in one of them.

    Attributes:
        number: How many.
    """

    number: int

    @classmethod
    def of(
        cls, amount: int, each: int, *, at_least: int = 1, at_most: int | None = None
    ) -> "Buckets":
        """As many as so much asks for, so that each holds about as much as a worker should."""
        number = max(at_least, -(-amount // each))
        return cls(number if at_most is None else min(number, at_most))

    def bucket(self, key: str | bytes) -> int:
        """The bucket of a key."""
        data = key if isinstance(key, bytes) else key.encode(errors="surrogatepass")
        return zlib.crc32(data) % self.number

    def divide(self, values: Iterable[tuple[str | bytes, Any]]) -> Iterator[tuple[int, bytes]]:
        """The (bucket, packed values) of (key, value) pairs."""
        return _packed((self.bucket(key), value) for key, value in values)

    def send(
        self,
        values: Iterable[tuple[str | bytes, Any]],
        size: Callable[[Any], int] | None = None,
    ) -> Iterator[tuple[int, bytes]]:
        """The (bucket, packed values) of any number of (key, value) pairs.

        Args:
            values: The pairs.
            size: The bytes of a value, where they may be many.
        """
        return send(((self.bucket(key), value) for key, value in values), size)


def send(
    numbered: Iterable[tuple[int, Any]], size: Callable[[Any], int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """The (number, packed values) of any number of (number, value) pairs, as `Buckets.send`."""
    return Waiting(_packed).all(numbered, lambda pair: size(pair[1]) if size else 0)


def _packed(numbered: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, bytes]]:
    by_number: defaultdict[int, list[Any]] = defaultdict(list)
    for number, value in numbered:
        by_number[number].append(value)
    for number, some in by_number.items():
        yield number, pack(some)


def gather(batches: Iterable[bytes]) -> Iterator[Any]:
    """All values of one bucket's batches, in no order."""
    return (value for batch in batches for value in unpack(batch))
