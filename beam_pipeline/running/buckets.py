"""Bucketed shuffle: hash-partitions values into buckets, and packs many into one element.

A GroupByKey costs 10 µs per element, however small; a bucket's values are gathered in memory
(docs/dev/design.md).
"""

import dataclasses
import functools
import itertools
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.running.spill import Repeatable, Spill

# Limits of the values that a worker holds before it sends them.
MAX_WAITING = 16_384
MAX_WAITING_BYTES = 32 << 20
# Values that the reader of a spilled run holds.
_BLOCK = 256

_T = TypeVar("_T")
_K = TypeVar("_K")


class Entry(NamedTuple):
    """A value to group by key.

    Attributes:
        key: The key.
        order: Sort key of the value among those of its key.
        value: Any picklable value.
        num_bytes: Size of a large value.
        num_values: Number of the values together in `value`, such as rows of an image.
    """

    key: str
    order: tuple[Any, ...]
    value: Any
    num_bytes: int = 0
    num_values: int = 1


class Buffer(Generic[_T, _K]):
    """Values that are held until their number or bytes reach a limit, and then divided."""

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
        """Add a value, and yield elements of all values if a limit is reached."""
        self._values.append(value)
        self._num_bytes += num_bytes
        if len(self._values) >= self._max_number or self._num_bytes >= self._max_bytes:
            yield from self.flush()

    def flush(self) -> Iterator[_K]:
        """Yield elements of the remaining values."""
        values, self._values, self._num_bytes = self._values, [], 0
        if values:
            yield from self._divide(values)

    def all(self, values: Iterable[_T], size: Callable[[_T], int]) -> Iterator[_K]:
        """Add any number of values, given the size of each, and yield elements of all."""
        for value in values:
            yield from self.add(value, size(value))
        yield from self.flush()


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets for values with keys; all values of one key are in one bucket."""

    number: int

    @classmethod
    def of(
        cls, amount: int, each: int, *, at_least: int = 1, at_most: int | None = None
    ) -> "Buckets":
        """Return enough buckets for an amount, given how much each may hold."""
        number = max(at_least, -(-amount // each))
        return cls(number if at_most is None else min(number, at_most))

    def bucket(self, key: str | bytes) -> int:
        """Return the bucket of a key."""
        data = key if isinstance(key, bytes) else key.encode(errors="surrogatepass")
        return zlib.crc32(data) % self.number

    def send(
        self, values: Iterable[tuple[str | bytes, Any]], size: Callable[[Any], int] | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Divide any number of (key, value) pairs into (bucket, packed values)."""
        return send(((self.bucket(key), value) for key, value in values), size)


def send(
    numbered: Iterable[tuple[int, Any]], size: Callable[[Any], int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Divide any number of (bucket, value) pairs into (bucket, packed values)."""
    return Buffer(_packed).all(numbered, lambda pair: size(pair[1]) if size else 0)


def _packed(numbered: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, bytes]]:
    by_number: defaultdict[int, list[Any]] = defaultdict(list)
    for number, value in numbered:
        by_number[number].append(value)
    for number, some in by_number.items():
        yield number, pack(some)


def gather(batches: Iterable[bytes]) -> Iterator[Any]:
    """Yield all values of one bucket's batches, unordered."""
    return (value for batch in batches for value in unpack(batch))


def sorted_runs(
    values: Iterable[_T], spill: Spill, run_length: int, key: Callable[[_T], Any] | None = None
) -> list[Iterable[_T]]:
    """Sort values in runs of `run_length`, to be merged; all but the last wait in `spill`."""
    left = iter(values)
    runs: list[Iterable[_T]] = []
    while len(run := sorted(itertools.islice(left, run_length), key=key)) == run_length:  # type: ignore[type-var,arg-type]
        blocks = [
            spill.put(pack(run[start : start + _BLOCK])) for start in range(0, run_length, _BLOCK)
        ]
        runs.append(Repeatable(functools.partial(gather, spill.all(blocks))))
    return [*runs, run]
