"""Group values by key, such as an image with its annotations, or the rows of an image.

Entries are shuffled in buckets of keys (`running/buckets.py`).
"""

import dataclasses
import heapq
import itertools
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam

from beam_pipeline.records import Consumed, Element, Rejected
from beam_pipeline.running.buckets import Buckets, gather, sorted_runs
from beam_pipeline.running.buckets import Entry as Entry
from beam_pipeline.running.pickling import unpack
from beam_pipeline.running.spill import Spill, spilling

# One worker holds a whole bucket, in several times as much memory.
_BUCKET_BYTES = 8 << 20
_MAX_BUCKETS = 4096
# About 100 MB in memory; the rest of a bucket waits in a file.
_ENTRIES_AT_ONCE = 100_000
# Prefix of the keys of finished elements.
_FINISHED = "\0"
# Sort key of an entry: its key and order.
_PLACE = operator.itemgetter(0, 1)


def in_batches(entries: Iterable[Entry], buckets: Buckets) -> Iterator[tuple[int, bytes]]:
    """Pack entries into batches; yield (bucket, batch)."""
    packed = ((entry.key, tuple(entry)) for entry in entries)
    return buckets.send(packed, size=operator.itemgetter(3))


def gathered(
    batches: Iterable[bytes], max_values: int | None = None
) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield the keys of a bucket in order, with `max_values` values in order, or few more.

    A large bucket is sorted in parts in a temporary file, so that the number of values of a key is
    unlimited.
    """
    numbers: Counter[str] = Counter()

    def is_kept(entry: tuple[Any, ...]) -> bool:
        number = numbers[entry[0]]
        numbers[entry[0]] += entry[4]
        return number < (max_values or 0) or entry[0].startswith(_FINISHED)

    entries = gather(batches) if max_values is None else filter(is_kept, gather(batches))
    with spilling() as spill:
        runs = sorted_runs(entries, spill, _ENTRIES_AT_ONCE, key=_PLACE)
        ordered = heapq.merge(*runs, key=_PLACE)
        for key, group in itertools.groupby(ordered, key=operator.itemgetter(0)):
            yield key, map(operator.itemgetter(2), group)


def bucketed(
    entries: Iterable[Entry], num_bytes: int, spill: Spill, at_least: int = 1
) -> Iterator[list[bytes]]:
    """Divide one worker's entries, about `num_bytes`, into buckets; yield the batches of each."""
    buckets = Buckets.of(num_bytes, _BUCKET_BYTES, at_least=at_least, at_most=_MAX_BUCKETS)
    batches: defaultdict[int, list[bytes]] = defaultdict(list)
    for bucket, batch in in_batches(entries, buckets):
        batches[bucket].append(spill.put(batch))
    return (list(spill.all(of_bucket)) for of_bucket in batches.values())


@dataclasses.dataclass
class ReadInBatches(beam.PTransform):
    """Read sources into packed batches of entries by bucket, for `Gather`; pass Rejected, Consumed.

    A single chain without side outputs, since Beam's local runner encodes the records of flattened
    collections one by one.

    Attributes:
        num_bytes: Estimated size of all entries.
        read: Yields the entries of a source, and finished elements such as Rejected.
        arguments: Further arguments of `read`; may be side inputs.
    """

    num_bytes: int
    read: Callable[..., Iterable[Entry | Element]]
    arguments: Sequence[Any] = ()

    def expand(self, sources: beam.PCollection) -> beam.PCollection:
        buckets = Buckets.of(self.num_bytes, _BUCKET_BYTES, at_most=_MAX_BUCKETS)
        return sources | "Read" >> beam.FlatMap(
            _read_in_batches, self.read, buckets, *self.arguments
        )  # (bucket, batch)


@dataclasses.dataclass
class Gather(beam.PTransform):
    """Group batches of entries by key, and join the values of each key into elements.

    Attributes:
        join: Makes elements from a key, its values in order, and `arguments`.
        arguments: Further arguments of `join`; may be side inputs.
        max_values: Limit on values per key for `join`, which rejects a key that reaches it.
        hold: Collects the values for `join`: `iter` if it reads them once.
    """

    join: Callable[..., Iterable[Element]]
    arguments: Sequence[Any] = ()
    max_values: int | None = None
    hold: Callable[[Iterator[Any]], Iterable[Any]] = list

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        how = (self.join, self.max_values, self.hold)
        return (
            batches
            | "GroupBuckets" >> beam.GroupByKey()  # (bucket, batches)
            | "Join" >> beam.FlatMap(_join_bucket, *how, *self.arguments)  # Element
        )


def _read_in_batches(
    source: Any, read: Callable[..., Iterable[Entry | Element]], buckets: Buckets, *arguments: Any
) -> Iterator[tuple[int, bytes]]:
    elements = [source] if isinstance(source, Rejected | Consumed) else read(source, *arguments)
    entries = (
        item
        if isinstance(item, Entry)
        else Entry(f"{_FINISHED}{number % buckets.number}", (), item)
        for number, item in enumerate(elements)
    )
    return in_batches(entries, buckets)


def entries_of(batch: bytes) -> list[tuple[str, tuple[Any, ...], Any]]:
    """Return (key, order, value) of a packed batch's entries, without finished elements."""
    return [entry[:3] for entry in unpack(batch) if not entry[0].startswith(_FINISHED)]


def _join_bucket(
    group: tuple[int, Iterable[bytes]],
    join: Callable[..., Iterable[Element]],
    max_values: int | None,
    hold: Callable[[Iterator[Any]], Iterable[Any]],
    *arguments: Any,
) -> Iterator[Element]:
    for key, values in gathered(group[1], max_values):
        if key.startswith(_FINISHED):
            yield from values
        else:
            yield from join(key, hold(values), *arguments)
