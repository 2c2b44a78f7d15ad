"""Roles of folders by their names: splits, classes or neither."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from beam_pipeline.errors import RecordError
from beam_pipeline.problems import ignoring
from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.folders.pattern import PathPattern
from beam_pipeline.sources.listing import Names
from beam_pipeline.sources.paths import (
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    joined,
    media_kind,
    suffix,
)
from beam_pipeline.sources.tables.types import Kind, class_name, kind_of_text, merge_kinds
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.format.split_names import is_split

# Folders with these names hold media and their annotations, and are not classes.
_NO_CLASSES = frozenset(
    {"images", "image", "imgs", "img", "jpegimages", "pictures", "photos", "frames", "samples"}
    | {"labels", "label", "masks", "mask", "annotations", "annotation", "data", "arrays"}
    | {"segmentationclass", "segmentationobject", "audio", "wavs", "sounds", "clips", "recordings"}
    | IMAGE_SUFFIXES
    | AUDIO_SUFFIXES - {"au"}
)
_NUMBER = re.compile(r"[_\-. ]?\d+$")
# If kinds have equally many files, the first one is read.
_KINDS = ("image", "audio", "array", "text")
NOUNS = {"image": "image", "audio": "audio file", "array": "array", "text": "text"}
# First folders of a path that may be its split or its class.
DEPTH = 5


def outside_classes(path: str) -> RecordError:
    """Return the error for a file next to the class folders, whose name another may have, too."""
    remedy = f", or pass {ignoring(path)}" if "/" in path else ""
    detail = f"it is next to the class folders; move it into the folder of its class{remedy}"
    return RecordError("no class folder", detail)


def is_no_class(name: str) -> bool:
    """Whether a folder is named after a kind of file, not after a class: "images_2"."""
    return _NUMBER.sub("", name.lower()) in _NO_CLASSES


Place = tuple[str, ...]
"""The first folders of a path, () for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The folders of all files of one kind; its size depends on the number of folders only.

    Attributes:
        kind: "image", "audio", "array" or "text".
        number: Number of files.
        folders: Number of files by place; with a pattern only those that match.
        columns: Value kind of each name in a pattern.
    """

    kind: str = "image"
    number: int = 0
    folders: Mapping[Place, int] = field(default_factory=dict)
    columns: Mapping[str, Kind | None] = field(default_factory=dict)

    def roles(self) -> "FolderRoles":
        """Find which folders are splits and classes."""
        tops = {place[0] for place in self.folders if place}
        are_splits = bool(tops) and all(map(is_split, tops))
        depth = 1 if are_splits else 0
        has_classes = any(len(place) > depth for place in self.folders)
        return FolderRoles(
            kind=self.kind,
            splits=tuple(sorted(tops)) if are_splits else (),
            class_depth=depth if has_classes else None,
            has_loose_files=() in self.folders,
            columns=self.columns,
        )

    def classes(self) -> set[str]:
        """Return the names of the classes."""
        placed = map(self.roles().place, self.folders)
        return {place[1] for place in placed if place and place[1]}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRoles:
    """The roles of folders, found once for all files of one kind.

    Attributes:
        kind: "image", "audio", "array" or "text".
        splits: The first folders if all have the name of a split, else none.
        class_depth: Position of the class in a path, from 0; None if the files have no classes.
        has_loose_files: Whether files are in no folder.
        columns: Value kind of each name in a pattern.
    """

    kind: str
    splits: tuple[str, ...]
    class_depth: int | None
    has_loose_files: bool
    columns: Mapping[str, Kind | None]

    def place(self, parts: Sequence[str]) -> tuple[str | None, str | None] | None:
        """Return the split and the class of the files in a folder; None outside class folders.

        The class is "" if the folder is named after a kind of file.
        """
        split = parts[0] if self.splits and parts else None
        if (depth := self.class_depth) is None:
            return split, None
        if len(parts) <= depth:
            return None
        return split, "" if is_no_class(parts[depth]) else class_name(parts[depth])

    def label_of(self, path: str) -> ClassLabel:
        """Return the class of a file; raise RecordError if it is in no class folder."""
        place = self.place(path.split("/")[:-1])
        if not place or not place[1]:
            raise outside_classes(path)
        return ClassLabel(place[1])


StructureByKind = Mapping[str, Structure]


def structures(parts: Iterable[Names], pattern: PathPattern | None = None) -> StructureByKind:
    """Find the structure of a tree by kind of file, in one pass over its parts."""
    return merged(_of_folder(folder, names, pattern) for folder, names in parts)


def _of_folder(folder: str, names: Sequence[str], pattern: PathPattern | None) -> StructureByKind:
    by_kind = defaultdict(list)
    for name in names:
        by_kind[file_kind(name)].append(name)
    return {
        kind: _of_kind(kind, folder, by_kind[kind], pattern) for kind in _KINDS if kind in by_kind
    }


def _of_kind(
    kind: str, folder: str, names: Sequence[str], pattern: PathPattern | None
) -> Structure:
    place = tuple(folder.split("/", DEPTH)[:DEPTH]) if folder else ()
    if pattern is None:
        return Structure(kind=kind, number=len(names), folders={place: len(names)})
    matches = [
        texts for name in names if (texts := pattern.match(joined(folder, name))) is not None
    ]
    columns = (
        {name: kind_of_text(text) for name, text in zip(pattern.names, texts, strict=True) if text}
        for texts in matches
    )
    return Structure(
        kind=kind,
        number=len(names),
        folders={place: len(matches)} if matches else {},
        columns=merge_kinds(columns),
    )


def merged(parts: Iterable[StructureByKind]) -> StructureByKind:
    """Merge the structures of parts of a tree."""
    by_kind = defaultdict(list)
    for part in parts:
        for kind, structure in part.items():
            by_kind[kind].append(structure)
    return {
        kind: Structure(
            kind=kind,
            number=sum(each.number for each in several),
            folders=_sums(each.folders for each in several),
            columns=merge_kinds(each.columns for each in several),
        )
        for kind, several in by_kind.items()
    }


def _sums(parts: Iterable[Mapping[Place, int]]) -> Mapping[Place, int]:
    sums: Counter[Place] = Counter()
    for part in parts:
        sums.update(part)
    return sums


def main_structure(by_kind: StructureByKind) -> Structure:
    """Return the structure of the kind with most files; of texts only if there are no others."""
    media = [by_kind[kind] for kind in _KINDS[:-1] if kind in by_kind]
    if not media:
        return by_kind.get("text", Structure())
    return max(media, key=lambda structure: structure.number)


def file_kind(name: str) -> str:
    """Return the kind of a file by its suffix; "" for others and for texts such as a README."""
    return media_kind(name) or ("text" if suffix(name) == "txt" and may_hold_data(name) else "")
