"""What a source yields crosses to Inspect in packed batches.

A GroupByKey of single small values costs 10 µs an element and a Reshuffle 44 µs; a packed
batch costs that once.

On other machines a batch is decided by what the source yields, not by when: elements go to
buckets by their bytes, and are in order there. So the next attempt of a job, or of a part of it
whose machine was lost, has the same batches, and finds what was found in them (`inspect.kept`).
Here, one process reads in one order.
"""

import dataclasses
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline import kinds
from beam_pipeline.records import Element, Record, Rejected
from beam_pipeline.running.buckets import Buckets, Waiting, gather
from beam_pipeline.running.counters import counter
from beam_pipeline.running.pickling import pack, pickled, unpack
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.remote.job_folder import check_folder
from beam_pipeline.running.runner import Job

# Of a batch, whatever it reaches first.
MAX_ELEMENTS = 256
MAX_BYTES = 1 << 20


# Few, so that small inputs make few small batches.
BUCKETS = 32
# Of a bucket, some 400 bytes each; the others wait as packed parts, of 25 bytes.
ELEMENTS_AT_ONCE = 50_000


@dataclasses.dataclass
class BatchElements(beam.PTransform):
    """What a source yields (`Record | Rejected | DeclaredClasses`), in packed batches.

    Yields (PCollection[bytes], a packed batch each; PCollection[int], of one element: the records
    and rejects, counted before any shuffle, so that the end of the job can be held against it).
    """

    job: Job

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(
        self, elements: beam.PCollection[Element]
    ) -> tuple[beam.PCollection[bytes], beam.PCollection[int]]:
        outputs = elements | "Pack" >> beam.ParDo(BatchSource(self.job)).with_outputs(
            BatchSource.COUNT, main="packed"
        )
        packed = outputs["packed"]  # bytes: a packed batch
        if not self.job.is_here:
            packed = (
                packed  # (bucket, packed part of it)
                | "GroupBuckets" >> beam.GroupByKey()  # (bucket, packed parts)
                | "CutBatches" >> beam.FlatMap(batches_of_bucket)  # bytes
                | "Balance" >> beam.Reshuffle()  # bytes
            )
        # One a bundle: to combine them would take a shuffle.
        counts = beam.pvalue.AsIter(outputs[BatchSource.COUNT])
        count = elements.pipeline | "Once" >> beam.Impulse() | "CountRead" >> beam.Map(_sum, counts)
        return packed, count  # bytes, int


def _sum(_: bytes, counts: Iterable[int]) -> int:
    return sum(counts)


class BatchSource(beam.DoFn):
    """What a source yields, in packed batches; on other machines in packed parts of buckets.

    Outputs: main: bytes, or (bucket, bytes). COUNT: int, the records and rejects of a bundle.
    """

    COUNT = "count"

    def __init__(self, job: Job):
        self._job = job

    def setup(self) -> None:
        check_folder(self._job)
        self._meter = Meter(self._job.progress_dir, "read", self._job.beat_s)
        self._num_read = counter("records read")

    def start_bundle(self) -> None:
        self._waiting: Waiting[Element, Any] = (
            Waiting(_batch, max_number=MAX_ELEMENTS, max_bytes=MAX_BYTES)
            if self._job.is_here
            else Waiting(_parts)
        )
        self._count = 0

    def process(self, element: Element) -> Iterator[Any]:
        if isinstance(element, Record | Rejected):
            self._count += 1
            self._meter.add(1)
        num_bytes = inline_bytes(element) if isinstance(element, Record) else 0
        yield from self._waiting.add(element, num_bytes)

    def finish_bundle(self) -> Iterator[Any]:
        self._meter.beat()
        yield from map(in_global_window, self._waiting.flush())
        self._num_read.inc(self._count)
        yield in_global_window(beam.pvalue.TaggedOutput(self.COUNT, self._count))


def _batch(elements: Sequence[Element]) -> Iterator[bytes]:
    yield pack(elements, compressed=False)


def _parts(elements: Sequence[Element]) -> Iterator[tuple[int, bytes]]:
    """(bucket, packed part of it), each element pickled by itself."""
    return Buckets(BUCKETS).divide((data, data) for data in map(pickled, elements))


def batches_of_bucket(keyed: tuple[int, Iterable[bytes]]) -> Iterator[bytes]:
    """The packed parts of a bucket as packed batches: the same whatever the parts are."""
    parts = list(keyed[1])
    turns = 1 + sum(len(unpack(part)) for part in parts) // ELEMENTS_AT_ONCE
    for turn in range(turns):
        in_turn = (data for data in gather(parts) if zlib.crc32(data) // BUCKETS % turns == turn)
        yield from map(pack, _cut(sorted(in_turn)))


def _cut(elements: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Pickled elements in batches."""
    batch: list[bytes] = []
    num_bytes = 0
    for data in elements:
        if len(batch) >= MAX_ELEMENTS or (batch and num_bytes + len(data) > MAX_BYTES):
            yield batch
            batch, num_bytes = [], 0
        batch.append(data)
        num_bytes += len(data)
    if batch:
        yield batch


def inline_bytes(record: Record) -> int:
    """About how many bytes of texts and arrays a record holds itself."""
    return sum(map(kinds.inline_bytes, record.features.values()))


def in_global_window(output: Any) -> Any:
    """What a DoFn's `process` yields, as its `finish_bundle` must."""
    if isinstance(output, beam.pvalue.TaggedOutput):
        return beam.pvalue.TaggedOutput(output.tag, in_global_window(output.value))
    return GlobalWindows.windowed_value(output)
