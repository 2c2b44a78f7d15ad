"""A batch of elements is inspected and packed again, in one process.

No Beam here: worker processes import this module.
"""

import functools
from collections.abc import Iterable
from typing import Any, Protocol

from beam_pipeline.inspect.record import inspect_element
from beam_pipeline.inspect.rules import Rules
from beam_pipeline.records import Element
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.running.pickling import Constant, unpack


class Packed(Protocol):
    """A batch of inspected elements as it leaves its process (`assign.packing.PackedBatch`)."""

    num_records: int
    records: bytes
    num_rejects: int
    rejects: bytes
    statistics: Any


class Packs(Protocol):
    """What packs inspected elements (`assign.packing.Packer`)."""

    def pack(self, elements: Iterable[Element]) -> Packed:
        """All elements of a batch, packed."""


def inspect_batch(batch: bytes, settings: Constant[tuple[Rules, Packs]], threads: int) -> Packed:
    """The elements of a packed batch, inspected and packed again, `threads` at once."""
    rules, packer = settings.value
    inspect = functools.partial(inspect_element, rules=rules)
    return packer.pack(map_threads(inspect, unpack(batch), threads))
