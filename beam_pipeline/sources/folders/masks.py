"""Masks among images: told by their names, or by what lies in a folder of the same names."""

import dataclasses
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations

from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.paths import folder, stem

# What a name ends with, behind that of the image.
_MARK = re.compile(
    r"(?<=[^ _\-.])[ _\-.]+(masks?|segm?|segmentation|labels?|label_?ids|trimaps?|mattes?"
    r"|gt|ground_?truth|annot?|annotations?|1stho|2ndho|manual|l|p)([ _\-.]?\d+)?$",
    re.IGNORECASE,
)
# One of these is in every name that the pattern finds: to look for them takes a tenth of the time.
_PARTS = (
    *("mask", "seg", "label", "trimap", "matte", "gt", "truth", "anno", "stho", "ndho", "manual"),
    *(f"{sign}{letter}" for sign in " _-." for letter in "lp"),
)
# Of the names of all images so many are compared, those with the lowest hashes.
_NUM_NAMES = 128
PATHS_PER_NAME = 8
# One in so many images has a mask: many of a competition's test have none.
_FEWEST = 50
_FILES_LOOKED_INTO = 4


@dataclasses.dataclass(frozen=True, slots=True)
class SameNames:
    """Files of a bounded number of names; the same of a tree in whatever order it is listed.

    Attributes:
        paths: The first paths by the hash of the name, without what marks a mask.
    """

    paths: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, place: str, names: Iterable[str]) -> "SameNames":
        """Files that lie in a folder."""
        prefix = f"{place}/" if place else ""
        names = list(names)
        stems = [name.rpartition(".")[0] or name for name in names]
        if may_be_marked(stems):
            stems = list(map(unmarked, stems))
        hashes = [zlib.crc32(each.encode(errors="surrogatepass")) for each in stems]
        last = sorted(set(hashes))[:_NUM_NAMES][-1] if names else 0
        found: dict[int, list[str]] = {}
        for number, name in zip(hashes, names, strict=True):
            if number <= last:
                found.setdefault(number, []).append(prefix + name)
        return cls(_first(found))

    @classmethod
    def merged(cls, parts: Iterable["SameNames"]) -> "SameNames":
        """The files of several parts of a tree."""
        found: dict[int, list[str]] = {}
        for part in parts:
            for number, paths in part.paths:
                found.setdefault(number, []).extend(paths)
        return cls(_first(found))

    @property
    def all_paths(self) -> list[str]:
        """The paths of all names."""
        return [path for _, paths in self.paths for path in paths]

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The paths of each name."""
        return [paths for _, paths in self.paths]


NO_NAMES = SameNames()


def _first(found: dict[int, list[str]]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    return tuple(
        (number, tuple(sorted(found[number])[:PATHS_PER_NAME]))
        for number in sorted(found)[:_NUM_NAMES]
    )


def may_be_marked(stems: Iterable[str]) -> bool:
    """Whether `unmarked` may find something in one of many names: soon told."""
    text = "\n".join(stems).lower()
    return any(part in text for part in _PARTS)


def unmarked(name: str) -> str:
    """The name of the image whose mask may be called so: "a" of "a_mask", and of "a"."""
    match = _MARK.search(name)
    return name[: match.start()] if match else name


def masks(images: SameNames, has_one_channel: Callable[[str], bool]) -> str:
    """What of the images are masks of others, and what leaves them out; "" where none is.

    Args:
        images: Some of all.
        has_one_channel: Whether the file at a path is an image of one channel.
    """
    groups = images.groups
    pairs = [(path, other) for paths in groups for path, other in _marked(paths)]
    if pairs and len(pairs) * _FEWEST >= len(groups):
        mask, image = pairs[0]
        marked = [each for each, _ in pairs]
        plain = set(images.all_paths).difference(marked)
        return _problem(f"{mask} is called like a mask of {image}", marked, plain)
    if twins := _twins(groups, has_one_channel):
        mask, image = twins
        what = f"{mask} has one channel and the name of {image}, as masks have"
        return _problem(what, [mask], [image])
    return ""


def _problem(what: str, marked: Sequence[str], plain: Collection[str]) -> str:
    return (
        f"{what}, and a mask is no image of a class; pass {_ignoring(marked, plain)} to leave "
        "masks out, or, to read them, call the folders images/ and masks/ (docs/layouts.md#masks)"
    )


def _marked(paths: Sequence[str]) -> list[tuple[str, str]]:
    """The masks among images of one name, each with an image that it is of."""
    plain = [path for path in paths if unmarked(stem(path)) == stem(path)]
    return [
        (path, image)
        for path in paths
        for image in plain[:1]
        if path not in plain and unmarked(stem(path)) == stem(image)
    ]


def _ignoring(marked: Sequence[str], plain: Collection[str]) -> str:
    """The options that leave masks out, and no image."""
    patterns = {_pattern(path, frozenset(plain)) for path in marked}
    return " ".join(f"--ignore {shlex.quote(pattern)}" for pattern in sorted(patterns))


def _pattern(path: str, plain: Collection[str]) -> str:
    """A folder that no image lies in; else "*_mask.png", and "*_mask_*.png" of several."""
    for name in path.split("/")[:-1]:
        if not any(map(Ignored((name,)), plain)):
            return name
    mark = stem(path)[len(unmarked(stem(path))) :]
    return f"*{re.sub('[0-9]+$', '*', mark)}.{path.rpartition('.')[2]}"


def _twins(
    groups: Iterable[Sequence[str]], has_one_channel: Callable[[str], bool]
) -> tuple[str, str] | None:
    """A mask and its image, of one name in one or two folders, where only one has colours."""
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    numbers: Counter[str] = Counter()
    for paths in groups:
        numbers.update(map(folder, paths))
        for one, other in combinations(paths, 2):
            if stem(one) == stem(other):
                pairs.setdefault((folder(one), folder(other)), []).append((one, other))
    in_one = {places: both for places, both in pairs.items() if len(set(places)) == 1}
    in_two = {places: both for places, both in pairs.items() if len(set(places)) == 2}
    found = (_most_alike(each, numbers, has_one_channel) for each in (in_two, in_one) if each)
    return next(filter(None, found), None)


def _most_alike(
    pairs: Mapping[tuple[str, str], Sequence[tuple[str, str]]],
    numbers: Mapping[str, int],
    has_one_channel: Callable[[str], bool],
) -> tuple[str, str] | None:
    """A mask and its image of the folders that share most names."""
    (one, other), shared = max(pairs.items(), key=lambda each: (len(each[1]), each[0]))
    in_each = max(numbers[one], numbers[other]) // (2 if one == other else 1)
    if len(shared) * 5 < in_each * 4:
        return None
    looked = [tuple(map(has_one_channel, each)) for each in shared[:_FILES_LOOKED_INTO]]
    if len(set(looked)) > 1 or looked[0][0] == looked[0][1]:
        return None
    first, second = shared[0]
    return (first, second) if looked[0][0] else (second, first)
