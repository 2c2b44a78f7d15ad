"""What a source yields crosses to Inspect in packed batches.

A GroupByKey of single small values costs 10 µs an element and a Reshuffle 44 µs; a packed
batch costs that once.
"""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows

from beam_pipeline.records import Array, Element, Record, Rejected
from beam_pipeline.running.counters import counter
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.remote.problems import check_folder
from beam_pipeline.running.runner import Job

# Of a batch, whatever it reaches first.
MAX_ELEMENTS = 256
MAX_BYTES = 1 << 20


class BatchSource(beam.DoFn):
    """What a source yields, in packed batches.

    Outputs: main: bytes, a packed batch. "count": int, the records and rejects of a bundle,
    counted here, before any shuffle, so that the end of the job can be held against it.
    """

    COUNT = "count"

    def __init__(self, job: Job):
        self._job = job

    def setup(self) -> None:
        check_folder(self._job)
        self._meter = Meter(self._job.progress_dir, "read", self._job.beat_s)
        self._num_read = counter("records read")

    def start_bundle(self) -> None:
        self._waiting: list[Element] = []
        self._num_bytes = 0
        self._count = 0

    def process(self, element: Element) -> Iterator[bytes]:
        self._waiting.append(element)
        if isinstance(element, Record):
            self._num_bytes += inline_bytes(element)
        if isinstance(element, Record | Rejected):
            self._count += 1
            self._meter.add(1)
        if len(self._waiting) >= MAX_ELEMENTS or self._num_bytes >= MAX_BYTES:
            yield self._take()

    def finish_bundle(self) -> Iterator[Any]:
        self._meter.beat()
        if self._waiting:
            yield in_global_window(self._take())
        self._num_read.inc(self._count)
        yield in_global_window(beam.pvalue.TaggedOutput(self.COUNT, self._count))

    def _take(self) -> bytes:
        batch, self._waiting, self._num_bytes = pack(self._waiting), [], 0
        return batch


def inline_bytes(record: Record) -> int:
    """About how many bytes of texts and arrays a record holds itself."""
    num_bytes = 0
    for value in record.features.values():
        if isinstance(value, str | bytes):
            num_bytes += len(value)
        elif isinstance(value, Array):
            num_bytes += len(value.data)
        elif isinstance(value, tuple):
            num_bytes += sum(map(len, value))
    return num_bytes


def in_global_window(output: Any) -> Any:
    """What a DoFn's `process` yields, as its `finish_bundle` must."""
    if isinstance(output, beam.pvalue.TaggedOutput):
        return beam.pvalue.TaggedOutput(output.tag, in_global_window(output.value))
    return GlobalWindows.windowed_value(output)
