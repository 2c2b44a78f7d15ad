"""Archives as inputs: what lies in a zip, or in a tar of a tree, is read as if it were unpacked."""

import dataclasses
import itertools
import re
import shlex
from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.paths import inside, top_of
from beam_pipeline.files.archive.tar_members import read_members
from beam_pipeline.records import Element, FileRef, Record, file_of
from beam_pipeline.sources.paths import folder, suffix
from tfrecord_dataset.store.urls import is_web, unsigned

# What tells a tar of a tree from one of WebDataset: of each tar so many members.
_MEMBERS_LOOKED_AT = 512
_THROUGH = re.compile(r"(\.(?:zip|tar))/", re.IGNORECASE)


def through_archives(config: BuildConfig) -> BuildConfig:
    """`config` with the folder inside an archive in place of the archive, where one is an input.

    Raises:
        ConfigError: An archive cannot be read so.
    """
    top, image_root = (
        path and _top(path, config.layout) for path in (config.input, config.image_root)
    )
    if (top, image_root) == (config.input, config.image_root):
        return config
    return dataclasses.replace(config, input=top, image_root=image_root)


def _top(path: str, layout: str) -> str:
    """The folder inside the archive at `path`, or `path` itself."""
    into = _THROUGH.sub(r"\1:/", path, count=1)  # "x.zip/train.csv", as people may write it
    if into != path and not inside(path) and not storage.exists(path):
        found = inside(into)
        if found and _is_archive(found.archive) and storage.exists(into):
            return into
    if suffix(unsigned(path)) not in ("zip", "tar") or not _is_archive(path):
        return path
    if is_web(path) and "?" in path:
        raise ConfigError(
            f"{unsigned(path)} cannot be read in place, since its URL has a query; download it, or "
            "give a URL of its bucket (s3://, gs://)"
        )
    if suffix(path) == "tar" and (layout == "tar" or not (layout != "auto" or _is_tree(path))):
        return path
    try:
        storage.is_directory(top_of(path))
    except RecordError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return top_of(path)


def refuse_zips(root: str, files: Sequence[str]) -> None:
    """Raises ConfigError where zips lie among files of which no layout takes any."""
    if zips := [path for path in files if suffix(path) == "zip"]:
        raise ConfigError(
            f"{root} holds zips ({', '.join(zips[:3])}{', …' if zips[3:] else ''}), which are read "
            f"one at a time: give {shlex.quote(storage.join(root, zips[0]))}, or unpack them"
        )


def _is_archive(path: str) -> bool:
    return not storage.is_directory(path) and storage.exists(path)


def _is_tree(path: str) -> bool:
    """Whether the members of a tar lie in several folders, and none are the parts of one record."""
    records, folders = set[str](), set[str]()
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
    except RecordError:  # whoever reads it says so
        return False
    return len(folders) > 1


@dataclasses.dataclass
class PlaceMembers(beam.PTransform):
    """Elements whose files lie in archives, with the paths that say where they lie there.

    So the workers that read them need not know what else an archive holds.
    """

    def expand(self, elements: beam.PCollection[Element]) -> beam.PCollection[Element]:
        return elements | beam.Map(placed)  # Element


def placed(element: Element) -> Element:
    """An element with the places of its files in their archives."""
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
