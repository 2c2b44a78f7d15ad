"""Inspect: read every file once, check, measure and hash it, and free its bytes."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.batch import Examples, RecordBatch
from beam_pipeline.inspect.inspect_batch import InspectBatch, Pack, PackedBatch, Settings
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.failures import errors_handed_over
from beam_pipeline.running.parallel import (
    are_by_column,
    choose_parallelism,
    start_processes,
    started_processes,
)
from beam_pipeline.running.pickling import Constant, Parcel, unpack
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.runner import Job
from beam_pipeline.running.worker_processes import Ahead

# With fewer batches, the half second to start worker processes does not pay off.
_BATCHES_WITHOUT_PROCESSES = 4


class InspectedInput(NamedTuple):
    """Output of Inspect; everything except statistics is spilled (`Job.spill`).

    Attributes:
        records: Tables of records.
        rejected: Packed batches of Rejected.
        statistics: Parcels of the statistics of batches.
        looks: Tables of perceptual hashes of images.
    """

    records: beam.PCollection[bytes]
    rejected: tuple[beam.PCollection[bytes], ...]
    statistics: tuple[beam.PCollection[Any], ...]
    looks: beam.PCollection[bytes]


@dataclasses.dataclass
class InspectMedia(beam.PTransform):
    """Inspect packed batches of elements; yields `InspectedInput`.

    Attributes:
        pack: Packs inspected elements, in the process that inspected them.
        threads: Concurrent records in a process; 0 means automatic.
    """

    rules: Rules
    pack: Pack
    threads: int
    job: Job

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, batches: beam.PCollection[bytes]) -> InspectedInput:
        outputs = batches | "InspectBatch" >> beam.ParDo(_InspectBatch(self)).with_outputs(
            _InspectBatch.REJECTED,
            _InspectBatch.STATISTICS,
            _InspectBatch.LOOKS,
            main="records",
        )
        return InspectedInput(
            records=outputs["records"],
            rejected=(outputs[_InspectBatch.REJECTED],),
            statistics=(outputs[_InspectBatch.STATISTICS],),
            looks=outputs[_InspectBatch.LOOKS],
        )


class _InspectBatch(beam.DoFn):
    REJECTED = "rejected"
    STATISTICS = "statistics"
    LOOKS = "looks"

    def __init__(self, settings: InspectMedia):
        self._settings = Constant.of(Settings(settings.rules, settings.pack, settings.job.kept))
        self._threads = settings.threads
        self._job = settings.job

    def setup(self) -> None:
        self._meter = Meter(self._job.progress_dir, "inspect", self._job.beat_s)
        self._num_batches = 0

    def start_bundle(self) -> None:
        self._ahead: Ahead[PackedBatch] | None = None
        self._statistics: Parcel[Any] | None = None

    def process(self, batch: bytes) -> Iterator[Any]:
        with errors_handed_over(self._job):
            yield from self._inspected(batch)

    def _inspected(self, batch: bytes) -> Iterator[Any]:
        begins_here = False
        if not self._num_batches:
            examples = [
                Examples.with_files(each.table)
                for each in unpack(batch)
                if isinstance(each, RecordBatch)
            ]
            self._parallelism = choose_parallelism(examples, self._threads, self._job.processes)
            # Sending it would take as long, and nothing in it is decoded, which may crash.
            begins_here = all(map(are_by_column, examples))
        self._num_batches += 1
        inspect = InspectBatch(self._settings, self._parallelism.threads)
        if self._ahead is None and self._parallelism.processes and not begins_here:
            self._ahead = self._processes_ahead()
        ahead = self._ahead
        for inspected in ahead.call(inspect, batch) if ahead else [inspect.here(batch)]:
            yield from self._outputs(inspected)

    def finish_bundle(self) -> Iterator[Any]:
        for inspected in self._ahead.rest() if self._ahead else ():
            yield from map(in_global_window, self._outputs(inspected))
        if self._statistics:
            yield in_global_window(TaggedOutput(self.STATISTICS, self._statistics))
        self._meter.beat()

    def _processes_ahead(self) -> Ahead[PackedBatch] | None:
        """Return calls in worker processes; None while they start, as this process is faster."""
        if self._num_batches > _BATCHES_WITHOUT_PROCESSES:
            start_processes(self._parallelism.processes)
        processes = started_processes()
        return processes.ahead() if processes and processes.ready else None

    def _outputs(self, packed: PackedBatch) -> Iterator[Any]:
        self._meter.add(packed.num_records + packed.num_rejects)
        if self._statistics is None:
            self._statistics = packed.statistics
        else:
            merged = self._statistics.take()
            merged.merge(packed.statistics.take())
            self._statistics = Parcel(merged)
        spill = self._job.spill
        if packed.num_records:
            yield spill.put(packed.records)
        if packed.num_rejects:
            yield TaggedOutput(self.REJECTED, spill.put(packed.rejects))
        if packed.looks:
            yield TaggedOutput(self.LOOKS, spill.put(packed.looks))
