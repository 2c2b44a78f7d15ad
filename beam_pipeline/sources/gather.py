"""Brings together what belongs together: images and their annotations, rows of one picture.

A GroupByKey costs 10 µs for every small value, so entries cross it in packed batches, each
of one bucket of keys; within a bucket they are gathered in memory (docs/design.md).
"""

import itertools
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam

from beam_pipeline.records import Element

# A bucket is what one worker holds at once: of 15 million boxes, 60,000.
NUM_BUCKETS = 256
# While it reads, a worker holds at most buckets × batch entries, some tens of megabytes.
BATCH_ENTRIES = 256


class Entry(NamedTuple):
    """A value on its way to the others of its key.

    Attributes:
        key: What is gathered by.
        order: Where the value goes among those of its key; comparable and unique there.
        value: Anything that pickles.
    """

    key: str
    order: tuple[Any, ...]
    value: Any


def in_batches(entries: Iterable[Entry]) -> Iterator[tuple[int, bytes]]:
    """Packs `entries` into (bucket, batch) pairs for `Gather`."""
    pending: dict[int, list[tuple[Any, ...]]] = {}
    for entry in entries:
        bucket = zlib.crc32(entry.key.encode()) % NUM_BUCKETS
        batch = pending.setdefault(bucket, [])
        batch.append(tuple(entry))
        if len(batch) == BATCH_ENTRIES:
            yield bucket, _packed(pending.pop(bucket))
    for bucket, batch in pending.items():
        yield bucket, _packed(batch)


def _packed(batch: list[tuple[Any, ...]]) -> bytes:
    return pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)


def gathered(batches: Iterable[bytes]) -> Iterator[tuple[str, list[Any]]]:
    """Every key of one bucket's batches with its values in order; keys in order, too."""
    entries = list(itertools.chain.from_iterable(map(pickle.loads, batches)))
    entries.sort(key=lambda entry: entry[:2])
    for key, group in itertools.groupby(entries, key=lambda entry: entry[0]):
        yield key, [value for _, _, value in group]


class Gather(beam.PTransform):
    """PCollection[(bucket, batch)] from `in_batches` → PCollection[(key, values in order)]."""

    def expand(self, batches: beam.PCollection) -> beam.PCollection:
        return (
            batches
            | "GroupBuckets" >> beam.GroupByKey()  # (bucket, batches)
            | "GatherBucket" >> beam.FlatMap(lambda group: gathered(group[1]))  # (key, values)
        )


class ReadInBatches(beam.DoFn):
    """Runs `read` on a source: the entries leave in batches, other elements one by one.

    Outputs: the main one for `Gather`, and ELEMENTS for what needs no gathering.
    """

    ELEMENTS = "elements"

    def __init__(self, read: Callable[[Any], Iterable[Entry | Element]]):
        self._read = read

    def process(self, source: Any) -> Iterator[Any]:
        elements: list[Element] = []
        for batch in in_batches(self._entries(source, elements)):
            yield batch
            yield from self._tagged(elements)
        yield from self._tagged(elements)

    def _entries(self, source: Any, elements: list[Element]) -> Iterator[Entry]:
        for item in self._read(source):
            if isinstance(item, Entry):
                yield item
            else:
                elements.append(item)

    def _tagged(self, elements: list[Element]) -> Iterator[Any]:
        while elements:
            yield beam.pvalue.TaggedOutput(self.ELEMENTS, elements.pop())
