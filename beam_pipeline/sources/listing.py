"""List a whole tree in packed batches of names.

Names travel to other workers in packed batches of 4 to 25 bytes per file, since a shuffle costs
per element (docs/design.md).
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence

import apache_beam as beam

from beam_pipeline.files import storage
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.running.gathering import Balance
from beam_pipeline.running.pickling import pack
from beam_pipeline.sources.paths import below, joined
from beam_pipeline.sources.tree import NOTHING, Ignored

Names = tuple[str, Sequence[str]]
"""A folder below the root, "" for the root itself, and names of its files."""

Part = tuple[bytes, bytes]
"""A folder below the root to list, or a packed batch of names."""

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
        parts = (
            pipeline
            | "Once" >> beam.Impulse()
            | "ListParts" >> beam.FlatMap(_parts, self.folders, self.root, self.ignored)  # Part
        )
        if storage.is_remote(self.root):  # a local folder is one part
            parts = parts | "BalanceParts" >> Balance()  # Part
        return parts | "ListFiles" >> beam.FlatMap(list_part, self.root, self.ignored)  # bytes


def _parts(_: bytes, folders: Sequence[str], root: str, ignored: Ignored) -> Iterator[Part]:
    """Divide folders into parts that workers list in parallel.

    A local folder is one part, so that links to its parents are detected. Parts are bytes, since
    Beam's strings cannot hold names that are not UTF-8.
    """
    if not storage.is_remote(root):
        yield from ((os.fsencode(folder), b"") for folder in folders)
        return
    for folder in folders:
        files = []
        for name, is_folder in storage.scan_folder(_path(root, folder)):
            if is_folder:
                yield os.fsencode(joined(folder, name)), b""
            elif not ignored(joined(folder, name)):
                files.append(name)
            if len(files) == storage.NAMES_AT_ONCE:
                yield b"", pack([(folder, files)])
                files = []
        if files:
            yield b"", pack([(folder, files)])


def list_part(part: Part, root: str, ignored: Ignored = NOTHING) -> Iterator[bytes]:
    """List the files of a part of `root` in packed batches of a thousand names or more."""
    top, batch = os.fsdecode(part[0]), part[1]
    if batch:
        yield batch
        return
    waiting: list[Names] = []
    number = 0
    for folder, names in storage.list_names(_path(root, top)):
        place = joined(top, folder) if folder else top
        if kept := ignored.kept(place, names):
            waiting.append((place, kept))
            number += len(kept)
        if number >= storage.NAMES_AT_ONCE:
            yield pack(waiting)
            waiting, number = [], 0
    if waiting:
        yield pack(waiting)


def _path(root: str, folder: str) -> str:
    return below(root, folder) if folder else root


def buckets_of_names(files: int, at_least: int) -> Buckets:
    """Return the buckets for the names of `files` files."""
    return Buckets.of(files, _FILES_PER_BUCKET, at_least=at_least, at_most=_MAX_BUCKETS)
