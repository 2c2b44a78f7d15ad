"""A batch of elements is inspected and packed again, in one process.

No Beam here: worker processes import this module.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from beam_pipeline.files import storage
from beam_pipeline.inspect.record import inspect_element
from beam_pipeline.inspect.rules import Rules
from beam_pipeline.records import Element, ExampleRecord, FileRef, Record
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
    elements = unpack(batch)
    reader = storage.Reader(file for each in elements for file in files_of(each))
    inspect = functools.partial(inspect_element, rules=rules, read=reader.read)
    return packer.pack(map_threads(inspect, elements, threads))


def files_of(element: Element) -> Iterator[FileRef]:
    """The files that an element is read from, or their ranges."""
    if isinstance(element, ExampleRecord):
        yield element.file
    elif isinstance(element, Record):
        for value in element.features.values():
            if isinstance(file := getattr(value, "file", None), FileRef):
                yield file
