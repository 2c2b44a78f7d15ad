"""Read archives as folders: zips, and tars of a folder tree."""

import contextlib
import dataclasses
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from beam_pipeline.batch import RecordBatch
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, RecordError, whole_input
from beam_pipeline.files import storage
from beam_pipeline.files.archive.member_paths import inside, top_of
from beam_pipeline.files.archive.members import read_members
from beam_pipeline.option_values import AUTO
from beam_pipeline.problems import rename
from beam_pipeline.records import Element, FileRef, Record, file_of
from beam_pipeline.sources.paths import folder, is_submission, stem, suffix, uncompressed
from beam_pipeline.sources.unpacking import in_packed_tar, is_packed_tar, with_ranges
from tfrecord_dataset.store.urls import is_web, unsigned

# Number of members that distinguish a tar of a tree from a WebDataset.
_MEMBERS_LOOKED_AT = 512
_TABLES = frozenset({"csv", "tsv", "jsonl", "ndjson", "parquet", "arrow", "tfrecord"})
_THROUGH = re.compile(r"(\.(?:zip|tar))/", re.IGNORECASE)


def through_archives(config: BuildConfig, scratch: str = "") -> BuildConfig:
    """Replace archives by the folders inside them; compressed tars are unpacked below `scratch`.

    Raises:
        ConfigError, DataError: An archive cannot be read as a folder.
    """
    top, image_root = (
        path and _top(path, config.layout, scratch) for path in (config.input, config.image_root)
    )
    if (top, image_root) == (config.input, config.image_root):
        return config
    return dataclasses.replace(config, input=top, image_root=image_root)


@contextlib.contextmanager
def reading_through_archives(config: BuildConfig, scratch: str) -> Iterator[BuildConfig]:
    """Yield what `through_archives` returns; errors name compressed tars, not unpacked copies."""
    into = through_archives(config, scratch)
    try:
        yield into
    except BeamTFRecordsError as error:
        pairs = ((config.input, into.input), (config.image_root, into.image_root))
        for given, read in pairs:
            tar, _ = in_packed_tar(given) or (given, "")
            if is_packed_tar(tar) and (copy := inside(read)):
                rename(error, copy.archive, tar)
        raise


def _top(path: str, layout: str, scratch: str) -> str:
    """Return the folder inside the archive at `path`, or `path` itself."""
    if scratch and (member := in_packed_tar(path)) and not storage.exists(path):
        return storage.join(_top(member[0], "", scratch), member[1])
    into = _THROUGH.sub(r"\1:/", path, count=1)  # "x.zip/train.csv", as people may write it
    if into != path and not inside(path) and not storage.exists(path):
        enclosing = inside(into)
        if enclosing and _is_archive(enclosing.archive) and storage.exists(into):
            path = into
    is_packed = bool(scratch) and is_packed_tar(path)
    ending = suffix(unsigned(path))
    if not (is_packed or ending in ("zip", "tar")) or not _is_archive(path):
        return path
    if is_web(path) and "?" in path:
        raise ConfigError(
            f"{unsigned(path)} cannot be read in place, since its URL has a query; download it, or "
            "give a URL of its bucket (s3://, gs://)"
        )
    try:
        archive = with_ranges(path, scratch) if is_packed and layout != "tar" else path
        if ending != "zip" and not (is_tree(archive) if layout == AUTO else layout != "tar"):
            return path
        if outer := inside(path):
            raise ConfigError(f"{path} is an archive in an archive; {_unpack(outer.archive)}")
        storage.is_directory(top_of(archive))  # reads the archive's index
    except RecordError as error:
        raise whole_input(error, f"{path} cannot be read: {error}") from error
    return top_of(archive)


def refuse_archives(root: str, files: Sequence[str]) -> None:
    """Raise ConfigError if unclaimed files contain archives other than WebDatasets."""
    tars = (storage.join(root, path) for path in files if suffix(path) == "tar")
    archives = ("zip", "tar") if any(map(is_tree, itertools.islice(tars, 1))) else ("zip",)
    if with_files := [path for path in files if suffix(path) in archives or is_packed_tar(path)]:
        named = ", ".join(with_files[:3]) + (", …" if with_files[3:] else "")
        one = min(with_files, key=lambda path: (is_submission(path), "train" not in path.lower()))
        if outer := inside(root):
            raise ConfigError(f"{root} holds archives ({named}); {_unpack(outer.archive)}")
        give = f"give {shlex.quote(storage.join(root, one))}, or unpack"
        if not with_files[1:]:
            raise ConfigError(
                f"{root} holds an archive ({named}), which is read only if it is the input: "
                f"{give} it"
            )
        raise ConfigError(f"{root} holds archives ({named}), but only one can be read: {give} them")


def _unpack(archive: str) -> str:
    """Return what to type to unpack an archive next to it."""
    module = "zipfile" if suffix(archive) == "zip" else "tarfile"
    source = shlex.quote(archive)
    return f"unpack it once: python -m {module} -e {source} {shlex.quote(stem(archive))}"


def _is_archive(path: str) -> bool:
    return not storage.is_directory(path) and storage.exists(path)


def is_tree(path: str) -> bool:
    """Whether a tar has tables or several folders, and no two members belong to one record."""
    records, folders, has_table = set[str](), set[str](), False
    try:
        with storage.opened(path) as handle:
            for member in itertools.islice(read_members(handle), _MEMBERS_LOOKED_AT):
                place, name = folder(member.name), member.name.rpartition("/")[2]
                record = f"{place}/{name.partition('.')[0]}"
                if record in records:
                    return False
                if not name.startswith((".", "__")):
                    records.add(record)
                    folders |= {place} - {".."}  # outside of the archive
                    has_table |= suffix(uncompressed(name)) in _TABLES
    except RecordError:  # its reader reports it
        return False
    return has_table or len(folders) > 1


def placed(element: Element | RecordBatch) -> Element | RecordBatch:
    """Add the locations of an element's files in their archives, so that reading needs no index."""
    if not isinstance(element, Record):
        return element
    features: dict[str, Any] = dict(element.features)
    for name, value in features.items():
        if file := file_of(value):
            features[name] = dataclasses.replace(value, file=_resolved(file))
    example = element.example and _resolved(element.example)
    return dataclasses.replace(element, features=features, example=example)


def _resolved(file: FileRef) -> FileRef:
    return dataclasses.replace(file, path=storage.resolved(file.path))
