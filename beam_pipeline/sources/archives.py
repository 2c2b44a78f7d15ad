"""Archives as inputs: what lies in a zip, or in a tar of a tree, is read as if it were unpacked."""

import contextlib
import dataclasses
import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.paths import inside, top_of
from beam_pipeline.files.archive.tar_members import read_members
from beam_pipeline.problems import ProblemError
from beam_pipeline.records import Element, FileRef, Record, file_of
from beam_pipeline.sources.paths import folder, is_submission, stem, suffix, uncompressed
from beam_pipeline.sources.unpacking import discard, is_packed_tar, tar_place, with_ranges
from tfrecord_dataset.format.split_names import is_split
from tfrecord_dataset.store.urls import is_web, unsigned

# What tells a tar of a tree from one of WebDataset: of each tar so many members.
_MEMBERS_LOOKED_AT = 512
_TABLES = frozenset({"csv", "tsv", "jsonl", "ndjson", "parquet", "arrow", "tfrecord"})
_THROUGH = re.compile(r"(\.(?:zip|tar))/", re.IGNORECASE)
_THROUGH_PACKED = re.compile(
    r"(.+?\.(?:tgz|tbz2?|txz|tzst|tar\.(?:gz|bz2|xz|zst))):?/(.+)", re.IGNORECASE | re.DOTALL
)


def through_archives(config: BuildConfig, scratch: str = "") -> BuildConfig:
    """`config` with the folder inside an archive in place of the archive, where one is an input.

    A compressed tar of a tree is unpacked below `scratch`, to a tar.

    Raises:
        ConfigError: An archive cannot be read so.
    """
    top, image_root = (
        path and _top(path, config.layout, scratch) for path in (config.input, config.image_root)
    )
    if (top, image_root) == (config.input, config.image_root):
        return config
    return dataclasses.replace(config, input=top, image_root=image_root)


def _top(path: str, layout: str, scratch: str) -> str:
    """The folder inside the archive at `path`, or `path` itself."""
    into = _THROUGH.sub(r"\1:/", path, count=1)  # "x.zip/train.csv", as people may write it
    if into != path and not inside(path) and not storage.exists(path):
        found = inside(into)
        if found and _is_archive(found.archive) and storage.exists(into):
            return into
    if is_packed_tar(path) and layout != "tar" and scratch and _is_archive(path):
        return _unpacked_top(path, layout, scratch)
    if scratch and (packed := _THROUGH_PACKED.fullmatch(path)) and _is_archive(packed[1]):
        return f"{_unpacked_top(packed[1], '', scratch)}/{packed[2]}"
    if suffix(unsigned(path)) not in ("zip", "tar") or not _is_archive(path):
        return path
    if is_web(path) and "?" in path:
        raise ConfigError(
            f"{unsigned(path)} cannot be read in place, since its URL has a query; download it, or "
            "give a URL of its bucket (s3://, gs://)"
        )
    if suffix(path) == "tar" and not _is_meant_as_tree(path, layout):
        return path
    return _top_of(path, path)


def _is_meant_as_tree(path: str, layout: str) -> bool:
    return is_tree(path) if layout == "auto" else layout != "tar"


def _top_of(archive: str, named: str) -> str:
    try:
        storage.is_directory(top_of(archive))
    except RecordError as error:
        raise ConfigError(f"{named} cannot be read: {error}") from error
    return top_of(archive)


def _unpacked_top(path: str, layout: str, scratch: str) -> str:
    """The folder inside a compressed tar, once it is unpacked; the path itself of WebDataset's."""
    try:
        tar = with_ranges(path, scratch)
    except RecordError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return _top_of(tar, path) if _is_meant_as_tree(tar, layout) else path


def refused(config: BuildConfig, scratch: str, error: ConfigError) -> ConfigError:
    """Delete the tars that were unpacked for a build that is refused; its error names them.

    The facts of a problem have the compressed tars in place of these.
    """
    renamed: dict[str, str] = {}
    unpacked = ""
    for path in filter(None, (config.input, config.image_root)):
        found = _THROUGH_PACKED.fullmatch(path)
        packed = found[1] if found else path
        if scratch and is_packed_tar(packed) and storage.exists(packed):
            with contextlib.suppress(RecordError):
                tar = tar_place(packed, scratch)
                renamed[tar] = packed
                unpacked = unpacked or (packed if storage.exists(tar) else "")
                discard(tar)
        renamed[f"{packed}::"] = f"{packed}:"
    if isinstance(error, ProblemError):
        facts = {name: _renamed(fact, renamed) for name, fact in error.problem.facts.items()}
        choices = tuple(str(_renamed(each, renamed)) for each in error.problem.choices)
        problem = dataclasses.replace(error.problem, facts=facts, choices=choices)
        return ProblemError(problem, error.decided)
    return ConfigError(f"{unpacked}, unpacked: {error}") if unpacked else error


def _renamed(value: object, places: Mapping[str, str]) -> object:
    """A fact in which the places of unpacked archives are those of the archives."""
    if isinstance(value, str):
        for old, new in places.items():
            value = value.replace(old, new)
    return value


def refuse_archives(root: str, files: Sequence[str]) -> None:
    """Raises ConfigError where archives lie among files of which no layout takes any."""
    if found := [path for path in files if _is_of_files(path)]:
        named = ", ".join(found[:3]) + (", …" if found[3:] else "")
        one = min(found, key=lambda path: (is_submission(path), "train" not in path.lower()))
        raise ConfigError(
            f"{root} holds archives ({named}), which are read one at a time: give "
            f"{shlex.quote(storage.join(root, one))}, or unpack them"
        )


def _is_of_files(path: str) -> bool:
    """Whether an archive is one of files, and no tar of WebDataset, by its name."""
    return suffix(path) == "zip" or is_packed_tar(path) or names_tree_of_split(path)


def names_tree_of_split(path: str) -> bool:
    """Whether a tar's name is a split's, as those of trees and of small WebDatasets are."""
    return suffix(path) == "tar" and is_split(stem(path))


def _is_archive(path: str) -> bool:
    return not storage.is_directory(path) and storage.exists(path)


def is_tree(path: str) -> bool:
    """Whether a tar's members are tables or lie in several folders, and no two are one record's."""
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
                    folders.add(place)
                    has_table |= suffix(uncompressed(name)) in _TABLES
    except RecordError:  # whoever reads it says so
        return False
    return has_table or len(folders) > 1


def placed(element: Element) -> Element:
    """An element with the places of its files in their archives.

    So the workers that read them need not know what else an archive holds.
    """
    if not isinstance(element, Record):
        return element
    features = {name: _placed(value) for name, value in element.features.items()}
    example = element.example and _placed_file(element.example)
    return dataclasses.replace(element, features=features, example=example)


def _placed(value: Any) -> Any:
    file = file_of(value)
    if file is None or (there := _placed_file(file)) is file:
        return value
    return dataclasses.replace(value, file=there)


def _placed_file(file: FileRef) -> FileRef:
    path = storage.resolved(file.path)
    return file if path == file.path else dataclasses.replace(file, path=path)
