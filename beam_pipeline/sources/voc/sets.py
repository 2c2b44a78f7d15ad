"""Pascal VOC's image sets: which annotation is in which split.

Source of the format: the VOC2012 development kit, section "Image sets": one image name a line;
in the lists of a class (`aeroplane_train.txt`) a second column of -1, 0 or 1.
"""

import collections
import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected, composed
from beam_pipeline.sources.listing import name_of
from beam_pipeline.sources.paths import (
    below,
    has_image_suffix,
    parents,
    split_at,
    stem,
)
from beam_pipeline.sources.splits import is_split, lists_of_splits


class ListedName(NamedTuple):
    """A line of an image set: the image's name without suffix, maybe with folders."""

    path: str
    number: int
    name: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageSets:
    """The lists of all homes: the folders that hold an ImageSets/.

    Attributes:
        splits: The (home, split) of each list of a split, by path.
        homes: Folders with lists of splits.
        rejected: Lists that name no split, or cannot be read.
    """

    splits: Mapping[str, tuple[str, str]]
    homes: frozenset[str]
    rejected: tuple[Rejected, ...]

    def home(self, path: str) -> str | None:
        """The nearest folder above `path` that has lists."""
        return nearest_home(path, self.homes)


def find_image_sets(paths: Iterable[str], root: str) -> ImageSets:
    """The image sets in these text files; each is read, and none is kept in memory."""
    names_alone, rejected = [], []
    for path in sorted(paths):
        try:
            if not is_class_list(storage.read_text(below(root, path))):
                names_alone.append(path)
        except RecordError as error:
            rejected.append(Rejected(source=path, reason=error.reason, detail=error.detail))
    splits, unused = choose_lists(names_alone)
    rejected += (
        Rejected(
            source=path,
            reason="unused list",
            detail="the list has no split's name, such as train or val",
            bad=False,
        )
        for path in unused
    )
    homes = frozenset(home for home, _ in splits.values())
    return ImageSets(splits=splits, homes=homes, rejected=tuple(rejected))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListedSplits:
    """What the image sets say of some annotations.

    Attributes:
        sets: The image sets.
        splits: The splits that list an annotation.
        missing: Where a name is listed ("…/train.txt:12") that has no annotation, by (home, name).
    """

    sets: ImageSets
    splits: Mapping[str, frozenset[str]]
    missing: Mapping[tuple[str, str], str]

    def split(self, annotation: str) -> str | Rejected | None:
        """The split of an annotation; None where there are no lists for it."""
        names = self.splits.get(annotation, frozenset())
        if len(names) > 1:
            names = frozenset(name for name in names if name.lower() != "trainval")
        if len(names) == 1:
            return next(iter(names))
        if names:
            return Rejected(
                source=annotation,
                reason="in two splits",
                detail=f"listed in {', '.join(sorted(names))}; take it out of all but one",
            )
        if self.sets.home(annotation) is None:
            return None
        return Rejected(
            source=annotation,
            reason="in no image set",
            detail="no list of ImageSets/ names it",
            bad=False,
        )

    def left_over(self) -> Iterator[Rejected]:
        """What the lists name and nobody annotated."""
        for (_, name), source in self.missing.items():
            yield Rejected(
                source=source,
                reason="missing annotation",
                detail=f"{name!r} is listed and has no XML file",
            )


def splits_of_listed(
    listed: Iterable[ListedName], sets: ImageSets, annotations: Iterable[str]
) -> ListedSplits:
    """The splits of these annotations, from the lines with their names."""
    by_name: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for annotation in annotations:
        home = sets.home(annotation)
        if home is not None:
            name = name_of(annotation)
            inner = (split_at(annotation, "annotations") or ("", ""))[1]
            for listed_as in {name, f"{composed(inner)}/{name}".strip("/")}:
                by_name[home, listed_as].append(annotation)

    splits: dict[str, set[str]] = collections.defaultdict(set)
    missing: dict[tuple[str, str], str] = {}
    for path, number, name in sorted(listed):
        home, split = sets.splits[path]
        bare = bare_name(name)
        found = by_name.get((home, name)) or by_name.get((home, bare))
        for annotation in found or ():
            splits[annotation].add(split)
        if not found:
            missing.setdefault((home, bare), f"{path}:{number}")
    return ListedSplits(
        sets=sets,
        splits={annotation: frozenset(names) for annotation, names in splits.items()},
        missing=missing,
    )


def bare_name(name: str) -> str:
    """A listed name without folders."""
    return name.rpartition("/")[2]


def nearest_home(path: str, homes: Collection[str]) -> str | None:
    """The nearest folder above `path` that is one of `homes`."""
    return next((parent for parent in parents(path) if parent in homes), None) if homes else None


def choose_lists(paths: Iterable[str]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """The (home, split) of each list of a split, and the lists that are not used.

    Those of other tasks than Main are neither; `paths` are without the lists of a class.
    """
    by_home: dict[str, dict[str, list[str]]] = {}
    for path in sorted(paths):
        home, task = split_at(path, "imagesets") or ("", "")
        by_home.setdefault(home, {}).setdefault(task.lower(), []).append(path)
    used, unused = {}, []
    for home, tasks in by_home.items():
        paths = tasks.get("main") or tasks.get("") or []
        splits = lists_of_splits(map(stem, paths))
        for path in paths:
            if stem(path) in splits:
                used[path] = (home, stem(path))
            elif not is_split(stem(path)):
                unused.append(path)
    return used, unused


def is_class_list(text: str) -> bool:
    """Whether the lines have a second column: whether the image shows the list's class."""
    lines = (line.split() for line in text.splitlines() if line.strip())
    first = next(lines, [])
    return all(
        len(line) > 1 and line[-1] in {"-1", "0", "1"} for line in itertools.chain([first], lines)
    )


def listed_names(text: str) -> Iterator[tuple[int, str]]:
    """Line number (from 1) and image name, without suffix, of each line that has one."""
    for number, line in enumerate(text.splitlines(), start=1):
        if name := composed(line.strip()):
            yield number, name.rpartition(".")[0] if has_image_suffix(name) else name
