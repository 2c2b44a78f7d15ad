"""List a whole tree in packed batches of names.

Names travel to other workers in packed batches of 4 to 25 bytes per file, since a shuffle costs
per element (docs/dev/design.md).
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence

import apache_beam as beam

from beam_pipeline.files import storage
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.running.gathering import Balance
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.running.runner import runs_here
from beam_pipeline.sources.paths import below, joined
from beam_pipeline.sources.tree import NOTHING, Ignored

Names = tuple[str, Sequence[str]]
"""A folder below the root, "" for the root itself, and names of its files."""

Part = tuple[bytes, bytes, bytes]
"""A folder to list, "" for the root, and a packed range of its keys; or a packed batch of names."""

# About 10 MB, which one worker holds at once.
_FILES_PER_BUCKET = 50_000
# A batch of the listing must have files for most buckets.
_MAX_BUCKETS = 256


@dataclasses.dataclass
class ListNames(beam.PTransform):
    """List all files in `folders` below `root`, without hidden ones, in packed batches of names."""

    root: str
    folders: Sequence[str] = ("",)
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        is_divided = storage.is_remote(self.root) and not runs_here(pipeline.pipeline)
        parts = (
            pipeline
            | "Once" >> beam.Impulse()
            | "ListParts"
            >> beam.FlatMap(
                _parts, self.folders, self.root, self.ignored, is_divided=is_divided
            )  # Part
        )
        if is_divided:
            parts = parts | "BalanceParts" >> Balance()  # Part
        return parts | "ListFiles" >> beam.FlatMap(list_part, self.root, self.ignored)  # bytes


def _parts(
    _: bytes, folders: Sequence[str], root: str, ignored: Ignored, *, is_divided: bool
) -> Iterator[Part]:
    """Divide folders into parts that workers list in parallel.

    A local folder is one part, so that links to its parents are detected. One of a store is listed
    here until ranges of keys are left. Parts are bytes, since Beam's strings cannot hold names that
    are not UTF-8.
    """
    for folder in folders:
        if not is_divided:
            yield os.fsencode(folder), b"", b""
            continue
        for part in storage.list_parts(_path(root, folder)):
            if isinstance(part, storage.KeyRange):
                yield os.fsencode(folder), pack(part), b""
            else:
                yield b"", b"", pack([_kept(part, folder, ignored)])


def list_part(part: Part, root: str, ignored: Ignored = NOTHING) -> Iterator[bytes]:
    """List the files of a part of `root` in packed batches of a thousand names or more."""
    place, keys, batch = part
    if batch:
        yield batch
        return
    top = os.fsdecode(place)
    ranges = [storage.KeyRange(*unpack(keys))] if keys else None
    waiting: list[Names] = []
    number = 0
    for listed in storage.list_names(_path(root, top), ranges):
        folder, names = _kept(listed, top, ignored)
        if names:
            waiting.append((folder, names))
            number += len(names)
        if number >= storage.NAMES_AT_ONCE:
            yield pack(waiting)
            waiting, number = [], 0
    if waiting:
        yield pack(waiting)


def _kept(listed: Names, top: str, ignored: Ignored) -> Names:
    folder, names = listed
    place = joined(top, folder) if folder else top
    return place, ignored.kept(place, names)


def _path(root: str, folder: str) -> str:
    return below(root, folder) if folder else root


def buckets_of_names(files: int, at_least: int) -> Buckets:
    """Return the buckets for the names of `files` files."""
    return Buckets.of(files, _FILES_PER_BUCKET, at_least=at_least, at_most=_MAX_BUCKETS)
