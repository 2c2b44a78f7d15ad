"""Folders that hold the same things in several forms, as the images of two cameras: no classes."""

import math
import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from beam_pipeline.kinds.wording import first_names
from beam_pipeline.sources.as_tables import making, of_views
from beam_pipeline.sources.folders.by_names import ways
from beam_pipeline.sources.folders.masks import PATHS_PER_NAME
from beam_pipeline.sources.folders.profile import Profile
from beam_pipeline.sources.paths import stem
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.table_rows import Files
from beam_pipeline.sources.tree import places

# What the folders of several sensors' images of one place are called.
_SENSORS = frozenset(
    {"s1", "s2", "lc", "rgb", "depth", "disparity", "ir", "nir", "infrared", "thermal", "visible"}
    | {"mul", "pan", "mul-pansharpen", "rgb-pansharpen", "ms", "ps-ms", "ps-rgb", "color", "dsm"}
    | {"3band", "8band", "rgbnir", "ps-rgbnir", "sar-intensity"}
)
# And those of other views of one thing, which may be classes where the names differ.
_VIEWS = _SENSORS.union(
    {"left", "right", "cam", "camera", "view", "im", "high", "low", "hr", "lr", "gray", "flow"},
    {"blur", "blurred", "sharp", "rain", "norain", "rainy", "hazy", "haze", "clear", "clean"},
    {"noisy", "input", "target", "output", "before", "after", "gt", "final", "albedo"},
    {"ground_truth", "groundtruth", "blur_gamma"},
)
# Of these what is no image: it comes behind the others.
_MAPS = frozenset({"lc", "depth", "disparity", "dsm", "flow", "gt", "target", "output", "albedo"})
_MAPS |= {"ground_truth", "groundtruth"}
# The two sides of a pair, whose names may differ: hazy/1_1_0.9.jpg beside clear/1.png.
_PAIRS = frozenset(
    (first, second)
    for firsts, seconds in (
        ("hazy haze foggy", "clear clean gt"),
        ("rain rainy", "norain clean gt ground_truth groundtruth"),
        ("blur blurred blurry", "sharp gt"),
        ("noisy noise", "clean gt"),
        ("input inputs", "target targets output gt ground_truth groundtruth"),
        ("lr lq", "hr hq gt"),
        ("low", "high normal"),
        ("before", "after"),
        ("data", "gt"),
        ("fg", "alpha"),
    )
    for first in firsts.split()
    for second in seconds.split()
)
_FIRST_SIDES = frozenset(first for first, _ in _PAIRS)
_LETTERS = ["A", "B"]  # which tell it only where the names of files pair, too
_NUMBER = re.compile(r"[_\-.]?\d+$|[_-](?:images?|imgs?)$")
_DIGITS = re.compile(r"\d+")
# So many names must be in all folders of views: one of a pair may be missing.
_SHARE, _SHARE_OF_OTHERS = 0.8, 0.95
# What other folders share must be so much, and no mere counting of the files in each.
_FEWEST = 8
_MOST_FOLDERS, _MOST_NAMES = 4, 16
_ROOM = 1.25


class _Name(NamedTuple):
    """A name without suffix, and the first of its files in each class folder."""

    name: str
    files: dict[str, str]


def same_things(profile: Profile, root: str, pattern: str, depth: int | None = None) -> str:
    """That class folders hold the same things, as views of one thing do, and what helps.

    They are called after sensors; or after other views, and share names; or a few share names that
    do not just count the files in each.

    Args:
        profile: Of the files.
        root: Of the folder, an absolute path or URL.
        pattern: The path pattern of classes.
        depth: Which folder of a path may be a view, from 0; None for that of the class.
    """
    is_deeper = depth is not None
    classes, depth = _folders(profile, depth)
    if len(classes) < 2 or depth is None:
        return ""
    names = [_name(paths, depth) for paths in profile.names.groups]
    views = sorted(
        dict.fromkeys(map(_view, classes)),
        key=lambda each: (
            each.lower() in _MAPS,
            "rgb" not in each.lower(),
            _plain(each) not in _FIRST_SIDES,
        ),
    )
    if len(views) > 1 and all(_view(each).lower() in _SENSORS for each in classes):
        told = f"{places(classes)} are called after views of one place, not after classes"
    elif _are_views(classes, names) or _are_the_same(classes, names, profile.number):
        files = [*next(each for each in names if len(each.files) > 1).files.values()]
        told = (
            f"{places(classes)} hold files of the same names, such as {files[0]} and {files[1]}, "
            "as several views of one thing do, not classes"
        )
    else:
        return ""
    return told + _helps(profile, root, views, pattern, _table(root, views), deeper=is_deeper)


def pair(profile: Profile, root: str, pattern: str, depth: int) -> str:
    """That two folders hold the two sides of pairs by what they are called, and what helps.

    The arguments are those of `same_things`.
    """
    sides, _ = _folders(profile, depth)
    views = sorted(sides, key=lambda each: _plain(each) not in _FIRST_SIDES)
    if views != _LETTERS and tuple(map(_plain, views)) not in _PAIRS:
        return ""
    table = _table(root, views)
    if views == _LETTERS and not table:
        return ""
    told = f"{places(views)} are called as the two sides of a pair, not after classes"
    return told + _helps(profile, root, views, pattern, table, deeper=depth > 0)


def _table(root: str, views: Sequence[str]) -> str:
    """The command that makes a table of views; "" where no names pair."""
    if not 1 < len(views) <= _MOST_FOLDERS or not of_views(Files(root), views):
        return ""
    return making(f"{root}/views.csv", root, *views)


def _helps(
    profile: Profile, root: str, views: Sequence[str], pattern: str, table: str, *, deeper: bool
) -> str:
    told = ""
    if table:
        told += f": make a table with all of one thing in a row by {table}, and give that"
    elif not profile.in_splits and not deeper:
        one = min(profile.classes, default=views[0])
        told += f"; give {shlex.quote(f'{root}/{one}')} to read one of them alone"
    return told + ways(profile, ("where they are classes", pattern))


def _folders(profile: Profile, depth: int | None) -> tuple[list[str], int | None]:
    """The folders at a depth, or the classes and theirs."""
    if depth is None:
        return sorted(profile.classes), profile.class_depth
    return sorted({place[depth] for place in profile.folders if len(place) > depth}), depth


def things(profile: Profile, root: str, pattern: str, depth: int | None = None) -> str:
    """That each class folder holds the same few files, as one thing does, and what helps.

    The files are called by words, such as mixture, drums and bass, or after their folder, such as
    BigEarthNet's bands. The arguments are those of `same_things`.
    """
    classes, depth = _folders(profile, depth)
    if len(classes) < 2 or depth is None:
        return ""
    files = _called_after_folders(profile, depth, len(classes))
    names = [_name(paths, depth) for paths in profile.names.groups]
    if not files and _are_things(classes, names):
        files = {name_of(path) for each in names for path in each.files.values()}
    if not files:
        return ""
    first, *others = sorted(files, key=lambda each: (stem(each) not in ("mixture", "mix"), each))
    made = making(f"{root}/things.jsonl", root, first, *others)
    few = first_names(each.removeprefix("{}") for each in sorted(files))
    return (
        f"{places(classes)} hold the same few files each ({few}), as one thing, no class: make "
        f"a table with all of one thing in a row by {made}, and give that"
        f"{ways(profile, ('where they are classes', pattern))}"
    )


def _called_after_folders(profile: Profile, depth: int, number: int) -> set[str]:
    """What the files of each class folder are called: "{}_B01.tif", where {} is its name.

    None where some are not called after it, or differ from folder to folder, or just count.
    """
    found = set()
    for path in profile.names.all_paths:
        *homes, name = path.split("/")
        if len(homes) != depth + 1 or not name.startswith(homes[-1]):
            return set()
        found.add(f"{{}}{name.removeprefix(homes[-1])}")
    most = len(found) * number
    is_same = 1 < len(found) <= _MOST_NAMES and _SHARE * most <= profile.number <= most
    return found if is_same and not _count([*map(stem, found)], len(found)) else set()


def _plain(name: str) -> str:
    return _NUMBER.sub("", name.lower())


def _view(name: str) -> str:
    """ "s1" of "s1_12", which is a share of the files."""
    short, _, number = name.rpartition("_")
    return short if short.lower() in _VIEWS and number.isdigit() else name


def _name(paths: Sequence[str], depth: int) -> _Name:
    files: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        if len(parts) > depth + 1:
            files.setdefault(parts[depth], path)
    return _Name(stem(paths[0]), files)


def _are_views(classes: Sequence[str], names: Sequence[_Name]) -> bool:
    """Whether all folders are called after views of one thing, and share most names."""
    if not all({each.lower(), _plain(each)} & _VIEWS for each in classes):
        return False
    in_all = [each for each in names if len(each.files) == len(classes)]
    return len(in_all) >= _SHARE * len(names)


def _are_the_same(classes: Sequence[str], names: Sequence[_Name], number: int) -> bool:
    """Whether a few folders share nearly all names, which say more than the number of a file."""
    in_all = [each for each in names if len(each.files) == len(classes)]
    return (
        len(classes) <= _MOST_FOLDERS
        and len(in_all) >= max(_FEWEST, _SHARE_OF_OTHERS * len(names))
        and not _count([each.name for each in names], number / len(classes))
    )


def _are_things(classes: Sequence[str], names: Sequence[_Name]) -> bool:
    """Whether many folders hold the same few files, called by words: mixture, drums, bass."""
    return (
        len(classes) > _MOST_FOLDERS
        and 1 < len(names) <= _MOST_NAMES
        and all(len(each.files) >= min(len(classes), PATHS_PER_NAME) for each in names)
        and not _count([each.name for each in names], len(names))
    )


def _count(names: Sequence[str], number: float) -> bool:
    """Whether names differ by numbers alone, which count so many files, perhaps in steps."""
    if len({_DIGITS.sub("0", name) for name in names}) > 1:
        return False
    fields = zip(*(map(int, _DIGITS.findall(name)) for name in names), strict=True)
    return all(_are_numbers_of(values, number) for values in fields)


def _are_numbers_of(values: Sequence[int], number: float) -> bool:
    first = min(values)
    step = math.gcd(*(value - first for value in values)) or 1
    return (max(values) - first) / step < _ROOM * number
