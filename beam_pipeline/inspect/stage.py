"""Inspect: every file is read once, checked, measured and hashed; its bytes are let go again."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows

from beam_pipeline.inspect.record import inspect_batch
from beam_pipeline.inspect.rules import Rules
from beam_pipeline.records import Element, unpack
from beam_pipeline.running.parallel import Ahead, ahead_in_processes, divide_labour
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.runner import LocalJob

# How often it is looked at what the files are. The first time, processes are not thought of:
# so many batches are worth the half second that they take to start.
_BATCHES_A_LOOK = 8


@dataclasses.dataclass
class InspectMedia(beam.PTransform):
    """Packed batches of elements to lists of them, each Record inspected or Rejected."""

    rules: Rules
    threads: int
    local: LocalJob

    def expand(self, batches: beam.PCollection[bytes]) -> beam.PCollection[list[Element]]:
        return batches | "InspectBatch" >> beam.ParDo(_InspectBatch(self))


class _InspectBatch(beam.DoFn):
    def __init__(self, settings: InspectMedia):
        self._inspect = functools.partial(inspect_batch, rules=settings.rules)
        self._threads = settings.threads
        self._local = settings.local

    def setup(self) -> None:
        self._meter = Meter(self._local.progress_dir, "inspect")
        self._num_batches = 0

    def start_bundle(self) -> None:
        self._ahead: Ahead[bytes] | None = None

    def process(self, batch: bytes) -> Iterator[list[Element]]:
        if self._num_batches % _BATCHES_A_LOOK == 0:
            processes = self._local.processes if self._num_batches else 0
            self._labour = divide_labour(unpack(batch), self._threads, processes)
        self._num_batches += 1
        labour = self._labour
        inspect = functools.partial(self._inspect, threads=labour.threads)
        if not labour.processes:
            yield self._done(inspect(batch))
            return
        self._ahead = self._ahead or ahead_in_processes(labour.processes)
        yield from map(self._done, self._ahead.call(inspect, batch))

    def finish_bundle(self) -> Iterator[Any]:
        for batch in self._ahead.rest() if self._ahead else ():
            yield GlobalWindows.windowed_value(self._done(batch))
        self._meter.beat()

    def _done(self, batch: bytes) -> list[Element]:
        elements = unpack(batch)
        self._meter.add(len(elements))
        return elements
