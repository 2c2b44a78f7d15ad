"""What kind of files a folder holds, and what its folders stand for, told by the files' paths."""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence

from beam_pipeline.sources.beside import NO_FILES, Named, may_hold_data
from beam_pipeline.sources.columns.kinds import Kind, kind_of_text, merge_kinds
from beam_pipeline.sources.folders.masks import NO_NAMES, SameNames
from beam_pipeline.sources.folders.pattern import PathPattern
from beam_pipeline.sources.listing import Names
from beam_pipeline.sources.paths import joined, media_kind, suffix
from tfrecord_dataset.split_names import is_split

# Folders that are no classes, whatever lies in them: reason and detail of their files.
NO_CLASSES = {
    "_background_noise_": ("background noise", "these noises are to be mixed with others"),
    "unsup": ("no label", "these texts have no label"),  # of aclImdb
}
# Of kinds with as many files, the first is taken.
_KINDS = ("image", "audio", "array", "text")
# How many of a file's folders are looked at: of a split, of a class, and what lies in these.
_DEPTH = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All files of one kind, in a form that grows with the number of folders alone.

    Attributes:
        number: How many files there are.
        folders: The first three folders in which they lie, () for none; with a pattern, only
            those of files that match it.
        columns: The kind of each name of the pattern.
        beside: The files of no kind, or another one, that may hold data.
        names: Some files, those with a name in common together; without a pattern.
    """

    number: int = 0
    folders: frozenset[tuple[str, ...]] = frozenset()
    columns: Mapping[str, Kind | None] = dataclasses.field(default_factory=dict)
    beside: Named = NO_FILES
    names: SameNames = NO_NAMES

    @property
    def tops(self) -> frozenset[str]:
        """The first folders in which files lie, at any depth."""
        return frozenset(place[0] for place in self.folders if place)

    @property
    def in_splits(self) -> bool:
        """Whether the first folders are splits, and those below them the classes."""
        return any(len(place) > 1 for place in self.folders) and all(map(is_split, self.tops))

    @property
    def only_in_splits(self) -> bool:
        """Whether every file lies in the folder of a split."""
        return () not in self.folders and all(map(is_split, self.tops))

    def has_folders_in(self, folder: str) -> bool:
        """Whether files lie in folders of a first folder."""
        return any(place[0] == folder for place in self.folders if place[1:])

    @property
    def class_depth(self) -> int | None:
        """Which folder of a path is its class, from 0; None where no file lies in a folder."""
        if not self.tops:
            return None
        return 1 if self.in_splits else 0

    @property
    def classes(self) -> frozenset[str]:
        """The names of the class folders; none where the files have no labels."""
        depth = self.class_depth
        if depth is None:
            return frozenset()
        names = frozenset(place[depth] for place in self.folders if len(place) > depth)
        return names - NO_CLASSES.keys()


_NOTHING = Profile()
ProfileByKind = Mapping[str, Profile]


def profile_of(parts: Iterable[Names], pattern: PathPattern | None = None) -> ProfileByKind:
    """The profiles of a tree, of each kind; its parts are gone through once, and not kept."""
    return merge_profiles(_of_folder(folder, names, pattern) for folder, names in parts)


def _of_folder(folder: str, names: Sequence[str], pattern: PathPattern | None) -> ProfileByKind:
    kinds = list(map(file_kind, names))
    beside = _beside(folder, names, kinds)
    return {kind: _of_kind(kind, folder, names, kinds, pattern, beside[kind]) for kind in _KINDS}


def _of_kind(
    kind: str,
    folder: str,
    names: Sequence[str],
    kinds: Sequence[str],
    pattern: PathPattern | None,
    beside: Named,
) -> Profile:
    """The profile of the files of one kind in a folder."""
    own = list(itertools.compress(names, map(kind.__eq__, kinds)))
    if not own:
        return Profile(beside=beside) if beside.number else _NOTHING
    place = frozenset({tuple(folder.split("/", _DEPTH)[:_DEPTH]) if folder else ()})
    if pattern is None:
        same = SameNames.of(folder, own)
        return Profile(number=len(own), folders=place, beside=beside, names=same)
    found = [texts for name in own if (texts := pattern.match(joined(folder, name))) is not None]
    columns = (dict(zip(pattern.names, map(kind_of_text, texts), strict=True)) for texts in found)
    return Profile(
        number=len(own),
        folders=place if found else frozenset(),
        columns=merge_kinds(columns),
        beside=beside,
    )


def _beside(folder: str, names: Sequence[str], kinds: Sequence[str]) -> dict[str, Named]:
    """For each kind, the files in a folder that are not of it, and may hold data."""
    data = [
        (joined(folder, name), kind)
        for name, kind in zip(names, kinds, strict=True)
        if kind not in ("image", "audio") and may_hold_data(name)
    ]
    return {of: Named.of(path for path, kind in data if kind != of) for of in _KINDS}


def merge_profiles(parts: Iterable[ProfileByKind]) -> ProfileByKind:
    """The profiles of a tree from those of its parts."""
    parts = list(parts)
    of_kinds = {
        kind: [part[kind] for part in parts if part[kind] is not _NOTHING] for kind in _KINDS
    }
    return {kind: _merged(profiles) for kind, profiles in of_kinds.items()}


def _merged(profiles: Sequence[Profile]) -> Profile:
    return Profile(
        number=sum(each.number for each in profiles),
        folders=frozenset().union(*(each.folders for each in profiles)),
        columns=merge_kinds(each.columns for each in profiles),
        beside=functools.reduce(Named.and_of, (each.beside for each in profiles), NO_FILES),
        names=SameNames.merged(each.names for each in profiles),
    )


def main_kind(profiles: ProfileByKind) -> str:
    """ "image", "audio" or "array": what most of the files are; "text" where they are none."""
    *media, text = _KINDS
    kind = max(media, key=lambda kind: profiles[kind].number)
    return text if profiles[text].number and not profiles[kind].number else kind


def file_kind(name: str) -> str:
    """One of the kinds, as the file's name ends; "" for others, and for texts such as a README."""
    return media_kind(name) or ("text" if suffix(name) == "txt" and may_hold_data(name) else "")
