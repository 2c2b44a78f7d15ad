"""Pascal VOC's image sets: which annotation is in which split.

Source of the format: the VOC2012 development kit, section "Image sets": one image name a line;
in the lists of a class (`aeroplane_train.txt`) a second column of -1, 0 or 1.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from beam_pipeline.records import Rejected, composed
from beam_pipeline.sources.paths import (
    has_image_suffix,
    parents,
    split_at,
    stem,
)
from beam_pipeline.sources.splits import is_split, lists_of_splits


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageSets:
    """The lists of all homes: the folders that hold an ImageSets/.

    Attributes:
        homes: Folders with lists of splits.
        splits: The splits that list an annotation.
        missing: Where a name is listed ("…/train.txt:12") that has no annotation, by (home, name).
        unused: Lists that name no split.
    """

    homes: frozenset[str]
    splits: Mapping[str, frozenset[str]]
    missing: Mapping[tuple[str, str], str]
    unused: tuple[str, ...]

    def home(self, path: str) -> str | None:
        """The nearest folder above `path` that has lists."""
        return nearest_home(path, self.homes)

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
        if self.home(annotation) is None:
            return None
        return Rejected(
            source=annotation,
            reason="in no image set",
            detail="no list of ImageSets/ names it",
            bad=False,
        )

    def left_over(self) -> Iterator[Rejected]:
        """What the lists name and nobody annotated, and lists that are not used."""
        for (_, name), source in self.missing.items():
            yield Rejected(
                source=source,
                reason="missing annotation",
                detail=f"{name!r} is listed and has no XML file",
            )
        for path in self.unused:
            yield Rejected(
                source=path,
                reason="unused list",
                detail="the list has no split's name, such as train or val",
                bad=False,
            )


def read_image_sets(lists: Mapping[str, str], annotations: Iterable[str]) -> ImageSets:
    """The image sets in the texts of the `lists`, by path, for these annotations."""
    used, unused = choose_lists(lists)
    homes = frozenset(home for home, _ in used.values())
    by_name: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for annotation in annotations:
        home = nearest_home(annotation, homes)
        if home is not None:
            inner = (split_at(annotation, "annotations") or ("", ""))[1]
            for name in {stem(annotation), f"{inner}/{stem(annotation)}".strip("/")}:
                by_name[home, composed(name)].append(annotation)

    splits: dict[str, set[str]] = collections.defaultdict(set)
    missing: dict[tuple[str, str], str] = {}
    for path in sorted(used):
        home, split = used[path]
        for number, name in listed_names(lists[path]):
            bare = name.rpartition("/")[2]
            found = by_name.get((home, name)) or by_name.get((home, bare))
            for annotation in found or ():
                splits[annotation].add(split)
            if not found:
                missing.setdefault((home, bare), f"{path}:{number}")
    return ImageSets(
        homes=homes,
        splits={annotation: frozenset(names) for annotation, names in splits.items()},
        missing=missing,
        unused=tuple(unused),
    )


def nearest_home(path: str, homes: Collection[str]) -> str | None:
    """The nearest folder above `path` that is one of `homes`."""
    return next((parent for parent in parents(path) if parent in homes), None) if homes else None


def choose_lists(lists: Mapping[str, str]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """The (home, split) of each list of a split, and the lists that are not used.

    Lists of a class, and of other tasks than Main, are neither.
    """
    by_home: dict[str, dict[str, list[str]]] = {}
    for path in sorted(lists):
        home, task = split_at(path, "imagesets") or ("", "")
        if not is_class_list(lists[path]):
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
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(len(line) > 1 and line[-1] in {"-1", "0", "1"} for line in lines)


def listed_names(text: str) -> Iterator[tuple[int, str]]:
    """Line number (from 1) and image name, without suffix, of each line that has one."""
    for number, line in enumerate(text.splitlines(), start=1):
        if name := composed(line.strip()):
            yield number, name.rpartition(".")[0] if has_image_suffix(name) else name
