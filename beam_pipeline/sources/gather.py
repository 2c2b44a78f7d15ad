"""Brings together what belongs together: images and their annotations, rows of one image.

A GroupByKey costs 10 µs for every small value, so entries cross it in packed batches, each
of one bucket of keys; within a bucket they are gathered in memory (docs/design.md).
"""

import dataclasses
import itertools
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam

from beam_pipeline.records import Element

# A bucket is what one worker holds at once, some times as large in memory as in its file.
_BUCKET_BYTES = 8 << 20
_MAX_BUCKETS = 4096
BATCH_ENTRIES = 256
# What a worker holds while it reads; entries say how large they are where that is much.
_MAX_WAITING = 16_384
_MAX_WAITING_BYTES = 32 << 20
# Starts the keys under which finished elements travel along.
_FINISHED = "\0"


class Entry(NamedTuple):
    """A value on its way to the others of its key.

    Attributes:
        key: What is gathered by.
        order: Where the value goes among those of its key.
        value: Anything that pickles.
        num_bytes: What a large value takes.
    """

    key: str
    order: tuple[Any, ...]
    value: Any
    num_bytes: int = 0


def num_buckets(num_bytes: int) -> int:
    """Into how many buckets so many bytes of annotations go."""
    return min(max(1, -(-num_bytes // _BUCKET_BYTES)), _MAX_BUCKETS)


def in_batches(entries: Iterable[Entry], buckets: int) -> Iterator[tuple[int, bytes]]:
    """Packs `entries` into (bucket, batch) pairs, of so many buckets."""
    pending: dict[int, list[tuple[Any, ...]]] = {}
    waiting, waiting_bytes = 0, 0
    for entry in entries:
        bucket = zlib.crc32(entry.key.encode()) % buckets
        batch = pending.setdefault(bucket, [])
        batch.append(entry[:3])
        waiting += 1
        waiting_bytes += entry.num_bytes
        if waiting >= _MAX_WAITING or waiting_bytes > _MAX_WAITING_BYTES:
            yield from _all_packed(pending)
            pending, waiting, waiting_bytes = {}, 0, 0
        elif len(batch) == BATCH_ENTRIES:
            yield bucket, _packed(pending.pop(bucket))
            waiting -= BATCH_ENTRIES
    yield from _all_packed(pending)


def _all_packed(pending: dict[int, list[tuple[Any, ...]]]) -> Iterator[tuple[int, bytes]]:
    for bucket, batch in pending.items():
        yield bucket, _packed(batch)


def _packed(batch: list[tuple[Any, ...]]) -> bytes:
    return pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)


def gathered(
    batches: Iterable[bytes], max_values: int | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Every key of one bucket's batches with its values in order; keys in order, too.

    Args:
        batches: Of one bucket.
        max_values: So many values of a key are kept, those that come first.
    """
    every = itertools.chain.from_iterable(map(pickle.loads, batches))
    entries = list(every if max_values is None else _first(every, max_values))
    entries.sort(key=lambda entry: entry[:2])
    for key, group in itertools.groupby(entries, key=lambda entry: entry[0]):
        yield key, [value for _, _, value in group]


def _first(entries: Iterable[tuple[Any, ...]], max_values: int) -> Iterator[tuple[Any, ...]]:
    numbers: Counter[str] = Counter()
    for entry in entries:
        numbers[entry[0]] += 1
        if numbers[entry[0]] <= max_values or entry[0].startswith(_FINISHED):
            yield entry


@dataclasses.dataclass
class ReadAndGather(beam.PTransform):
    """Reads sources, brings the entries of one key together, and makes elements of them.

    One straight chain without side outputs: where collections of records are flattened,
    Beam's local runner encodes them one by one.

    Attributes:
        sources: What `read` takes, one a file.
        num_bytes: The size of what is gathered, or more.
        read: Yields entries, and elements that are finished already, such as Rejected.
        join: Makes elements of a key and its values in order.
    """

    sources: Sequence[Any]
    num_bytes: int
    read: Callable[[Any], Iterable[Entry | Element]]
    join: Callable[..., Iterable[Element]]

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        return (
            pipeline
            | "Sources" >> beam.Create(self.sources)
            | "BalanceSources" >> beam.Reshuffle()
            | ReadInBatches(self.num_bytes, self.read)  # (bucket, batch)
            | Gather(self.join)  # Element
        )


@dataclasses.dataclass
class ReadInBatches(beam.PTransform):
    """The first half of `ReadAndGather`: sources to entries in packed batches, by bucket.

    Attributes:
        arguments: More arguments of `read`; may be side inputs.
    """

    num_bytes: int
    read: Callable[..., Iterable[Entry | Element]]
    arguments: Sequence[Any] = ()

    def expand(self, sources: beam.PCollection) -> beam.PCollection:
        return sources | "Read" >> beam.FlatMap(
            _read_in_batches, self.read, num_buckets(self.num_bytes), *self.arguments
        )  # (bucket, batch)


@dataclasses.dataclass
class Gather(beam.PTransform):
    """The second half of `ReadAndGather`: batches to elements.

    Attributes:
        join: Makes elements of a key and its values in order, and of `arguments`.
        arguments: More arguments of `join`; may be side inputs.
        max_values: So many values of a key reach `join` at most, which refuses so many.
    """

    join: Callable[..., Iterable[Element]]
    arguments: Sequence[Any] = ()
    max_values: int | None = None

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return (
            batches
            | "GroupBuckets" >> beam.GroupByKey()  # (bucket, batches)
            | "Join"
            >> beam.FlatMap(_join_bucket, self.join, self.max_values, *self.arguments)  # Element
        )


def _read_in_batches(
    source: Any, read: Callable[..., Iterable[Entry | Element]], buckets: int, *arguments: Any
) -> Iterator[tuple[int, bytes]]:
    return in_batches(
        (
            item if isinstance(item, Entry) else Entry(f"{_FINISHED}{number % buckets}", (), item)
            for number, item in enumerate(read(source, *arguments))
        ),
        buckets,
    )


def entries_of(batch: bytes) -> list[tuple[str, tuple[Any, ...], Any]]:
    """(key, order, value) of the entries of one packed batch, but for finished elements."""
    entries: list[tuple[str, tuple[Any, ...], Any]] = pickle.loads(batch)
    return [entry for entry in entries if not entry[0].startswith(_FINISHED)]


def _join_bucket(
    group: tuple[int, Iterable[bytes]],
    join: Callable[..., Iterable[Element]],
    max_values: int | None,
    *arguments: Any,
) -> Iterator[Element]:
    for key, values in gathered(group[1], max_values):
        if key.startswith(_FINISHED):
            yield from values
        else:
            yield from join(key, values, *arguments)
