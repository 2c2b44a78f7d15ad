"""Lists a tree once, and says in what bucket files of one name meet: never all in one place.

A name crosses to other workers in packed batches, of 4 to 25 bytes a file: crossing costs per
element (docs/design.md).
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam

from beam_pipeline.files import storage
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.running.gathering import Balance
from beam_pipeline.running.pickling import pack
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.paths import below, joined

Names = tuple[str, Sequence[str]]
"""A folder below the root, "" for the root itself, and the names of files in it."""

Part = tuple[bytes, bytes]
"""A folder below the root that is yet to be listed, or a packed batch of names."""

# What one worker holds at once: some 10 MB.
FILES_PER_BUCKET = 50_000
# A batch of the listing must leave some files for each.
_MAX_BUCKETS = 256


@dataclasses.dataclass
class ListNames(beam.PTransform):
    """The names of every file below some folders, but hidden ones, in packed batches.

    Attributes:
        root: The folder that names are below.
        folders: The folders that are listed, below `root`.
        ignored: What of them is left out.
    """

    root: str
    folders: Sequence[str] = ("",)
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        parts = (
            pipeline
            | "Once" >> beam.Impulse()
            | "ListParts" >> beam.FlatMap(_parts, self.folders, self.root, self.ignored)  # Part
        )
        if storage.is_remote(self.root):  # else there is one
            parts = parts | "BalanceParts" >> Balance()  # Part
        return parts | "ListFiles" >> beam.FlatMap(list_part, self.root, self.ignored)  # bytes


def _parts(_: bytes, folders: Sequence[str], root: str, ignored: Ignored) -> Iterator[Part]:
    """The parts of folders that workers can list at once, and what their own levels hold already.

    A local folder is one part, for only so links that lead back up are known. As bytes, for
    Beam's strings hold no name that is not UTF-8.
    """
    if not storage.is_remote(root):
        yield from ((os.fsencode(folder), b"") for folder in folders)
        return
    for folder in folders:
        files = []
        for name, is_folder in storage.scan_folder(_path(root, folder)):
            if is_folder:
                yield os.fsencode(joined(folder, name)), b""
            elif not (ignored and ignored(joined(folder, name))):
                files.append(name)
            if len(files) == storage.NAMES_AT_ONCE:
                yield b"", pack([(folder, files)])
                files = []
        if files:
            yield b"", pack([(folder, files)])


def list_part(part: Part, root: str, ignored: Ignored = NOTHING) -> Iterator[bytes]:
    """The names of the files in a part of `root`, a thousand or some more at a time, packed."""
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


def paths_in(names: Iterable[Names]) -> Iterator[str]:
    """The paths of files below the root."""
    for folder, files in names:
        prefix = f"{folder}/" if folder else ""
        yield from (prefix + name for name in files)


def buckets_of_names(
    files: int, at_least: int, files_per_bucket: int = FILES_PER_BUCKET
) -> Buckets:
    """Return the buckets for the names of so many files."""
    return Buckets.of(files, files_per_bucket, at_least=at_least, at_most=_MAX_BUCKETS)
