"""Image sets: lists below an ImageSets/ that say which annotation is in which split.

Source of the format: the VOC2012 development kit, section "Image sets": one image name a line;
in the lists of a class (`aeroplane_train.txt`) a second column of -1, 0 or 1.
"""

import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected, composed
from beam_pipeline.sources.paths import below, has_image_suffix, left_out, parents, split_at, stem
from beam_pipeline.sources.splits import lists_of_splits
from tfrecord_dataset.split_names import is_split

TASKS = ("main", "")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageSets:
    """The lists of all homes: the folders that hold an ImageSets/.

    Attributes:
        splits: The (home, split) of each list of a split, by path.
        rejected: Lists that name no split, or cannot be read.
    """

    splits: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()

    @functools.cached_property
    def homes(self) -> frozenset[str]:
        """Folders with lists of splits."""
        return frozenset(home for home, _ in self.splits.values())

    def home(self, path: str) -> str | None:
        """The nearest folder above `path` that has lists."""
        if not self.homes:
            return None
        return next((folder for folder in parents(path) if folder in self.homes), None)

    def without(self, paths: Collection[str], why: str) -> "ImageSets":
        """The image sets but for these, which are not used."""
        return ImageSets(
            splits={path: self.splits[path] for path in self.splits if path not in paths},
            rejected=(*self.rejected, *(unused_list(path, why) for path in sorted(paths))),
        )


def find_image_sets(paths: Iterable[str], root: str, tasks: Sequence[str] = TASKS) -> ImageSets:
    """The image sets in these text files; each is read, and none is kept in memory.

    Args:
        paths: Of the files, below `root`.
        root: An absolute folder.
        tasks: The folders of an ImageSets/ that may be meant, the likeliest first.
    """
    names_alone, rejected = [], []
    for path in sorted(paths):
        try:
            if not is_class_list(storage.read_text(below(root, path))):
                names_alone.append(path)
        except RecordError as error:
            rejected.append(Rejected.of(path, error))
    splits, unused = choose_lists(names_alone, tasks)
    rejected += (
        unused_list(
            path,
            "its name is no split's, such as train or val, or its folder no task's; --split-list "
            f"{stem(path)}=FILE reads it",
        )
        for path in unused
    )
    return ImageSets(splits=splits, rejected=tuple(rejected))


def unused_list(path: str, why: str) -> Rejected:
    """A list that makes no split."""
    return left_out(path, "unused list", why)


def choose_lists(
    paths: Iterable[str], tasks: Sequence[str] = TASKS
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """The (home, split) of each list of a split, and the lists that are not used.

    Those of other tasks are neither, unless there are no others; `paths` are without the lists of
    a class.
    """
    by_home: dict[str, dict[str, list[str]]] = {}
    for path in sorted(paths):
        home, task = split_at(path, "imagesets") or ("", "")
        by_home.setdefault(home, {}).setdefault(task.lower(), []).append(path)
    used: dict[str, tuple[str, str]] = {}
    unused: list[str] = []
    for home, lists in by_home.items():
        paths = next(filter(None, map(lists.get, tasks)), [])
        if not paths:
            unused += itertools.chain.from_iterable(lists.values())
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
