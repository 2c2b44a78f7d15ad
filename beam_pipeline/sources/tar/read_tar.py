"""Read tar files as in WebDataset: members with the same name are one record.

Format: https://github.com/webdataset/webdataset
"""

import dataclasses
from collections.abc import Iterator

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.members import read_members
from beam_pipeline.records import Consumed, Rejected
from beam_pipeline.running.gathering import Merge, Share
from beam_pipeline.sources.archives import is_tree
from beam_pipeline.sources.gather import Entry, Gather, ReadInBatches, entries_of
from beam_pipeline.sources.layout import Claim, claim_of_files, source_layout
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.rejects import left_out
from beam_pipeline.sources.tables.usual_columns import ValueOptions, value_options
from beam_pipeline.sources.tar.member_records import (
    MemberKinds,
    find_roles,
    kinds_of_members,
    merge_member_kinds,
    record_of_parts,
)
from beam_pipeline.sources.tar.member_values import (
    LEFT_OUT,
    LongValue,
    TarPart,
    name_parts,
    read_part,
)
from beam_pipeline.sources.tree import NOTHING, Ignored, InputFile, Tree, find_files
from beam_pipeline.sources.unpacking import is_packed_tar, with_ranges

# A member takes a kilobyte or more in the tar, and dozens of bytes as an entry.
_BYTES_AN_ENTRY_BYTE = 16


@dataclasses.dataclass
class ReadTar(ValueOptions, beam.PTransform):
    """Read the records of tar files as byte ranges; compressed tars are unpacked once.

    Members of a tar with the same name up to the first dot of the file's name are one record,
    wherever they are in the tar; its key is "<tar>/<name>". The part after the dot identifies a
    member (`parts`, `roles`). Texts, classes and JSON are read immediately.

    Yields a Record or a bad Rejected per name; and a bad Rejected for a truncated or damaged tar,
    whose members before the damage are used.

    Attributes:
        path: A file, a folder, or a pattern of files.
        scratch: The folder where compressed tars are unpacked once; "" rejects them.
        ignored: Files that are left out.
    """

    path: str
    scratch: str = ""
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        files = find_files(self.path, is_tar, self.ignored)
        options = value_options(self)
        paths = tuple(file.path for file in files)
        num_bytes = sum(size or 0 for size in storage.sizes(paths)) // _BYTES_AN_ENTRY_BYTE
        batches = (
            pipeline
            | "Sources" >> Share([*files, Consumed(paths=paths)])  # InputFile | Consumed
            | ReadInBatches(num_bytes, read_tar, (options, self.scratch))  # (bucket, batch)
        )
        roles = (
            batches
            | "LookAtMembers" >> beam.Map(_kinds_in_batch)  # MemberKinds
            | "MergeLooks" >> Merge(merge_member_kinds)  # MemberKinds
            | "FindRoles" >> beam.Map(find_roles, options)  # Role by name
        )
        return batches | Gather(record_of_parts, (AsSingleton(roles), options))


def is_tar(path: str) -> bool:
    """Whether the file has the name of a tar, plain or compressed."""
    return suffix(path) == "tar" or is_packed_tar(path)


def _kinds_in_batch(batch: tuple[int, bytes]) -> MemberKinds:
    return kinds_of_members(part for _, _, (_, part) in entries_of(batch[1]))


def read_tar(
    file: InputFile, options: ValueOptions, scratch: str = ""
) -> Iterator[Entry | Rejected]:
    """Yield the members of one tar, keyed by their record; and rejects."""
    try:
        if scratch:
            file = dataclasses.replace(file, path=with_ranges(file.path, scratch))
        with storage.opened(file.path) as handle:

            def read(offset: int, length: int) -> bytes:
                handle.seek(offset)
                return bytes(handle.read(length))

            logged: set[str] = set()
            for member in read_members(handle):
                source = f"{file.relative}/{member.name}"
                if member.problem and member.problem[0] in ("unsafe path", "not UTF-8"):
                    yield Rejected.of(source, RecordError(*member.problem))
                    continue
                if (named := name_parts(member.name)) is None:
                    continue
                name, extension = named
                if not extension:
                    yield left_out(source, "no extension", "the extension says what a member is")
                elif extension in options.ignore_columns:
                    if extension not in logged:  # one is enough for `find_roles`
                        logged.add(extension)
                        part = TarPart(extension, LEFT_OUT, member.offset, 0)
                        yield Entry(f"{file.relative}/{name}", (member.offset,), (file, part))
                else:
                    part = read_part(member, extension, read, options.schema)
                    long = isinstance(part.value, LongValue)
                    size = 0 if part.value is None or long else part.length
                    yield Entry(f"{file.relative}/{name}", (member.offset,), (file, part), size)
    except RecordError as error:
        yield Rejected.of(file.relative, error)


def claim_tars(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim the tar files of a tree."""
    # A compressed tar in a folder may hold a tree, so it is read only if named.
    if config.layout == "tar" or not tree.is_folder:
        return claim_of_files("tar", tree, [*filter(is_tar, tree.files())])
    tars = tree.files_with("tar")
    if tars and is_tree(tree.path(tars[0])):
        return None  # its folders may be classes
    return claim_of_files("tar", tree, tars)


LAYOUT = source_layout("tar", ".tar files", ReadTar, claim_tars)
