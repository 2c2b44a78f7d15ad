"""What kind of files a folder holds, and what its folders stand for, told by the files' paths."""

import dataclasses
from collections.abc import Iterable, Mapping

from beam_pipeline.sources.columns.kinds import Kind, kind_of_text, merge_kinds, wider
from beam_pipeline.sources.folders.pattern import PathPattern
from beam_pipeline.sources.paths import media_kind
from beam_pipeline.sources.splits import is_split

# Of kinds with as many files, the first is taken.
_KINDS = ("image", "audio", "array")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All files of one kind, in a form that does not grow with their number.

    Attributes:
        number: How many files there are.
        folders: The first folders in which they lie, "" for none; with a pattern, only those of
            files that match it.
        is_deep: Whether some lie two folders deep.
        columns: The kind of each name of the pattern.
    """

    number: int = 0
    folders: frozenset[str] = frozenset()
    is_deep: bool = False
    columns: Mapping[str, Kind | None] = dataclasses.field(default_factory=dict)

    @property
    def in_splits(self) -> bool:
        """Whether the first folders are splits, and those below them the classes."""
        return self.is_deep and all(map(is_split, self.folders - {""}))

    @property
    def only_in_splits(self) -> bool:
        """Whether every file lies in the folder of a split."""
        return all(map(is_split, self.folders))

    @property
    def class_depth(self) -> int | None:
        """Which folder of a path is its class, from 0; None where no file lies in a folder."""
        if not self.folders - {""}:
            return None
        return 1 if self.in_splits else 0


ProfileByKind = Mapping[str, Profile]


def profile_of(relatives: Iterable[str], pattern: PathPattern | None = None) -> ProfileByKind:
    """The profiles of a folder, of each kind; the paths are gone through once, and not kept."""
    numbers = dict.fromkeys(_KINDS, 0)
    folders: dict[str, set[str]] = {kind: set() for kind in _KINDS}
    deep: set[str] = set()
    columns: dict[str, dict[str, Kind | None]] = {kind: {} for kind in _KINDS}
    for relative in relatives:
        if not (kind := media_kind(relative)):
            continue
        numbers[kind] += 1
        if pattern:
            if (texts := pattern.match(relative)) is None:
                continue
            of_kind = columns[kind]
            for name, text in zip(pattern.names, texts, strict=True):
                of_kind[name] = wider(of_kind.get(name), kind_of_text(text))
        first, slash, inner = relative.partition("/")
        folders[kind].add(first if slash else "")
        if "/" in inner:
            deep.add(kind)
    return {
        kind: Profile(
            number=numbers[kind],
            folders=frozenset(folders[kind]),
            is_deep=kind in deep,
            columns=columns[kind],
        )
        for kind in _KINDS
    }


def merge_profiles(parts: Iterable[ProfileByKind]) -> ProfileByKind:
    """The profiles of a folder from those of its parts."""
    merged = dict.fromkeys(_KINDS, Profile())
    for part in parts:
        for kind, more in part.items():
            known = merged[kind]
            merged[kind] = Profile(
                number=known.number + more.number,
                folders=known.folders | more.folders,
                is_deep=known.is_deep or more.is_deep,
                columns=merge_kinds((known.columns, more.columns)),
            )
    return merged


def main_kind(profiles: ProfileByKind) -> str:
    """ "image", "audio" or "array": what most of the files are."""
    return max(_KINDS, key=lambda kind: profiles[kind].number)
