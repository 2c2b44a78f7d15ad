"""Roles of folders by their names: splits, classes or neither."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.wording import first_names
from beam_pipeline.problems import Problem
from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.folders.pattern import PathPattern
from beam_pipeline.sources.listing import Names
from beam_pipeline.sources.paths import (
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    folder,
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
OUTSIDE_CLASSES = (
    "it is next to the class folders; move it into the folder of its class, or leave it out with "
    "--ignore"
)
# Relevant folders of a path: split, class, and one below.
_DEPTH = 3


def is_no_class(name: str) -> bool:
    """Whether a folder is named after a kind of file, not after a class: "images_2"."""
    return _NUMBER.sub("", name.lower()) in _NO_CLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The folders of all files of one kind; its size depends on the number of folders only.

    Attributes:
        kind: "image", "audio", "array" or "text".
        number: Number of files.
        folders: First three folders of the files' paths, () for none.
        columns: Value kind of each name in a pattern.
    """

    kind: str = "image"
    number: int = 0
    folders: frozenset[tuple[str, ...]] = frozenset()
    columns: Mapping[str, Kind | None] = field(default_factory=dict)

    @property
    def tops(self) -> frozenset[str]:
        """The first folders."""
        return frozenset(place[0] for place in self.folders if place)

    @property
    def in_splits(self) -> bool:
        """Whether all first folders have the name of a split."""
        return bool(self.tops) and all(map(is_split, self.tops))

    @property
    def class_depth(self) -> int | None:
        """Position of the class in a path, from 0; None if the files have no classes."""
        depth = 1 if self.in_splits else 0
        return depth if any(len(place) > depth for place in self.folders) else None

    @property
    def classes(self) -> frozenset[str]:
        """The class folders."""
        return frozenset(name for name in self._named if not is_no_class(name))

    @property
    def _named(self) -> set[str]:
        depth = self.class_depth
        return {place[depth] for place in self.folders if depth is not None and len(place) > depth}

    def problem(self, path: str, *, one_class: bool) -> Problem | None:
        """Return why the files below `path` are not class folders; None if they are."""
        splits = sorted(filter(is_split, self.tops))
        if splits and not self.in_splits:
            others = first_names(sorted(self.tops.difference(splits)))
            facts = {"path": path, "splits": first_names(splits), "others": others}
            return Problem(code="some folders are splits", facts=facts)
        if self.class_depth is None or len(self.classes) > 1:
            return None
        if not self.classes:
            facts = {"path": path, "names": first_names(sorted(self._named))}
            return Problem(code="no class folders", facts=facts, option="path_pattern")
        if one_class:
            return None
        facts = {"path": path, "name": min(self.classes)}
        return Problem(code="one class", facts=facts, option="one_class")

    def place(self, folder: str) -> tuple[str | None, str | None] | None:
        """Return the split and the class of files in `folder`; None outside all class folders.

        The class is "" if the folder is named after a kind of file.
        """
        parts = folder.split("/") if folder else []
        split = parts[0] if self.in_splits and parts else None
        if (depth := self.class_depth) is None:
            return split, None
        if len(parts) <= depth:
            return None
        return split, "" if is_no_class(parts[depth]) else class_name(parts[depth])

    def label_of(self, path: str) -> ClassLabel:
        """Return the class of a file; raise RecordError if it is in no class folder."""
        place = self.place(folder(path))
        if not place or not place[1]:
            raise RecordError("no class folder", OUTSIDE_CLASSES)
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
    place = tuple(folder.split("/", _DEPTH)[:_DEPTH]) if folder else ()
    if pattern is None:
        return Structure(kind=kind, number=len(names), folders=frozenset({place}))
    matches = [
        texts for name in names if (texts := pattern.match(joined(folder, name))) is not None
    ]
    columns = (dict(zip(pattern.names, map(kind_of_text, texts), strict=True)) for texts in matches)
    return Structure(
        kind=kind,
        number=len(names),
        folders=frozenset({place}) if matches else frozenset(),
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
            folders=frozenset().union(*(each.folders for each in several)),
            columns=merge_kinds(each.columns for each in several),
        )
        for kind, several in by_kind.items()
    }


def main_structure(by_kind: StructureByKind) -> Structure:
    """Return the structure of the kind with most files; of texts only if there are no others."""
    media = [by_kind[kind] for kind in _KINDS[:-1] if kind in by_kind]
    if not media:
        return by_kind.get("text", Structure())
    return max(media, key=lambda structure: structure.number)


def file_kind(name: str) -> str:
    """Return the kind of a file by its suffix; "" for others and for texts such as a README."""
    return media_kind(name) or ("text" if suffix(name) == "txt" and may_hold_data(name) else "")
