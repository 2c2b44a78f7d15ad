"""Inspect a batch of elements and pack it again, in one process.

No Beam here: worker processes import this module.
"""

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from beam_pipeline.batch import Examples, RecordBatch
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.kept import NOTHING_KEPT, Kept
from beam_pipeline.inspect.checks import Other, Problem, inspect_elements
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Rejected
from beam_pipeline.running.parallel import (
    MOST_RECORDS_AT_ONCE,
    Turns,
    files_of,
    map_threads,
)
from beam_pipeline.running.pickling import Constant, Parcel, unpack
from beam_pipeline.running.record_limits import (
    bounded_memory,
    ending_after,
    too_slow,
)
from beam_pipeline.running.worker_processes import Death, Work, run_isolated

Check = Callable[[Any], Problem]


class PackedBatch(NamedTuple):
    """A packed batch of inspected elements; fields without content are empty bytes.

    Attributes:
        records: Table of records (`assign.columns.to_bytes`).
        rejects: Packed rejects (`pickling.pack`).
        statistics: Statistics of its elements (`assign.statistics.Statistics`), to be merged.
        looks: Perceptual hashes of its images (`assign.likeness.SCHEMA`), if requested.
    """

    num_records: int
    records: bytes
    num_rejects: int
    rejects: bytes
    statistics: Parcel[Any]
    looks: bytes = b""


Pack = Callable[[Iterable[Examples | Other]], PackedBatch]
"""Packs all elements of a batch (`assign.packing.Packer.pack`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Options for inspecting batches and packing them again; what is read is kept."""

    rules: Rules
    pack: Pack
    kept: Kept = NOTHING_KEPT


@dataclasses.dataclass(frozen=True, slots=True)
class InspectBatch(Work[bytes, PackedBatch]):
    """Inspect the elements of a packed batch, `threads` at once, and pack them again."""

    settings: Constant[Settings]
    threads: int

    def __call__(self, batch: bytes) -> PackedBatch:
        elements, read = self._with_reader(batch)
        at_once = min(self.threads, MOST_RECORDS_AT_ONCE)
        seconds = self.settings.value.rules.max_seconds * at_once
        with bounded_memory(read, at_once) as bounded, ending_after(seconds) as start_time:

            def check(function: Check, record: Any) -> Problem:
                start_time()
                return function(record)

            inspected = list(self._inspected(elements, bounded, check))
        # The limits are per record, so they do not apply to packing.
        return self.settings.value.pack(inspected)

    def here(self, batch: bytes) -> PackedBatch:
        """Do the same in a process that must not end; a record's time is checked afterwards."""
        rules = self.settings.value.rules

        def check(function: Check, record: Any) -> Problem:
            before = time.thread_time()
            problem = function(record)
            is_slow = time.thread_time() - before > rules.max_seconds
            return too_slow(rules.max_seconds) if is_slow else problem

        return self.settings.value.pack(self._inspected(*self._with_reader(batch), check))

    def _inspected(
        self,
        elements: Iterable[Examples | Other],
        read: storage.ReadFile,
        check: Callable[[Check, Any], Problem],
    ) -> Iterator[Examples | Other]:
        turns = Turns(self.threads)

        def each(function: Check, records: Iterable[Any]) -> Iterator[Problem]:
            work = turns.working(functools.partial(check, function))
            return map_threads(work, records, self.threads)

        return inspect_elements(elements, self.settings.value.rules, turns.waiting(read), each)

    def _with_reader(self, batch: bytes) -> tuple[list[Examples | Other], storage.ReadFile]:
        """Return (elements of a batch, function that reads their files)."""
        elements = unpacked(batch)
        examples = (each for each in elements if isinstance(each, Examples))
        reader = storage.Reader(itertools.chain.from_iterable(map(files_of, examples)))
        return elements, self.settings.value.kept.keeping(reader.read)

    def piece_by_piece(self, batch: bytes) -> PackedBatch:
        rules, pack = self.settings.value.rules, self.settings.value.pack
        elements = [*_one_by_one(unpack(batch))]
        outcomes = run_isolated(functools.partial(_inspect_alone, rules=rules), elements)
        return pack(
            _rejected(element, outcome, rules) if isinstance(outcome, Death) else outcome
            for element, outcome in zip(elements, outcomes, strict=True)
        )


def unpacked(batch: bytes) -> list[Examples | Other]:
    """Return the elements of a batch, and the records among them as columns of values."""
    return [each.examples() if isinstance(each, RecordBatch) else each for each in unpack(batch)]


def _one_by_one(elements: Iterable[RecordBatch | Other]) -> Iterator[RecordBatch | Other]:
    for element in elements:
        if isinstance(element, RecordBatch):
            yield from element.one_by_one()
        else:
            yield element


def _inspect_alone(element: RecordBatch | Other, rules: Rules) -> Examples | Other:
    """Inspect a record in a separate process."""
    given = element.examples() if isinstance(element, RecordBatch) else element
    with bounded_memory(storage.read_bytes, 1) as read, ending_after(rules.max_seconds):
        [inspected] = inspect_elements([given], rules, read)
    return inspected


def _rejected(element: RecordBatch | Other, death: Death, rules: Rules) -> Rejected:
    """Return the reject of a record whose inspection killed its process."""
    assert isinstance(element, RecordBatch)
    crashed = RecordError("crashed its process", f"{death}; leave it out")
    problem = too_slow(rules.max_seconds) if death.ran_out_of_time else crashed
    [source] = element.examples().sources
    return Rejected.of(source, problem)
