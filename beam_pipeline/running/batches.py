"""Records cross a shuffle in packed batches: Beam then works some hundred times less often.

A GroupByKey of single small values costs 10 µs an element and a Reshuffle 44 µs; a packed
batch costs that once.
"""

from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows

from beam_pipeline.records import Element, Record, Rejected, pack
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.runner import LocalJob

BATCH_SIZE = 256
# How many elements may wait in memory for their batch to fill up.
_MAX_WAITING = 4_096


class KeyedBatches:
    """Gathers elements into one list a key, and gives them up as packed batches."""

    def __init__(self, key: Callable[[Element], str]):
        self._key = key
        self._waiting: dict[str, list[Element]] = {}
        self._count = 0

    def add(self, element: Element) -> Iterator[tuple[str, bytes]]:
        """Takes `element`; yields all batches when too many elements wait."""
        self._waiting.setdefault(self._key(element), []).append(element)
        self._count += 1
        if self._count >= _MAX_WAITING:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[str, bytes]]:
        """Yields (key, packed batch) for all that waits."""
        for key, elements in self._waiting.items():
            yield key, pack(elements)
        self._waiting = {}
        self._count = 0


class BatchSource(beam.DoFn):
    """What a source yields, in packed batches.

    Outputs: main: bytes, a packed batch. "count": int, the records and rejects of a bundle,
    counted here, before any shuffle, so that the end of the job can be held against it.
    """

    COUNT = "count"

    def __init__(self, local: LocalJob):
        self._local = local

    def setup(self) -> None:
        self._meter = Meter(self._local.progress_dir, "read")

    def start_bundle(self) -> None:
        self._waiting: list[Element] = []
        self._count = 0

    def process(self, element: Element) -> Iterator[bytes]:
        self._waiting.append(element)
        if isinstance(element, Record | Rejected):
            self._count += 1
            self._meter.add(1)
        if len(self._waiting) >= BATCH_SIZE:
            yield self._take()

    def finish_bundle(self) -> Iterator[Any]:
        self._meter.beat()
        if self._waiting:
            yield GlobalWindows.windowed_value(self._take())
        yield beam.pvalue.TaggedOutput(self.COUNT, GlobalWindows.windowed_value(self._count))

    def _take(self) -> bytes:
        batch, self._waiting = pack(self._waiting), []
        return batch
