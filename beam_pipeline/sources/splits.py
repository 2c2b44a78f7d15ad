"""What a split is called: in the names of folders, files, lists and arrays, of every layout."""

import re
from collections.abc import Iterable, Sequence

from beam_pipeline.sources.paths import stem, uncompressed

_NAMES = (
    *("train", "training", "trainval", "val", "valid", "validation", "minival"),
    *("test", "testing", "dev", "eval", "evaluation"),
)
_SPLIT = re.compile(rf"({'|'.join(_NAMES)})([-_ ]?(\d{{4}}|set|split|data|images))?", re.IGNORECASE)
_WORD_BREAK = re.compile(r"[_\-. ]|(?<=[a-z])(?=[A-Z])")
_YEAR_OR_NUMBER = re.compile(r"\d+$")
# "x_train", "train_x", "trainX", "train": a split's name in an array's.
_IN_ARRAY_NAME = tuple(
    map(
        re.compile,
        (
            r"(?P<split>[A-Za-z]+)(?P<column>)",
            r"(?P<column>.+)[_\-. ](?P<split>[A-Za-z]+)",
            r"(?P<split>[A-Za-z]+)[_\-. ](?P<column>.+)",
            r"(?P<split>[a-z]+)(?P<column>[A-Z].*)",
        ),
    )
)


def is_split(name: str) -> bool:
    """Whether a folder, list or key of this name is a split: "train", "Val", "test2017", …."""
    return _SPLIT.fullmatch(name) is not None


def split_in_name(name: str) -> str | None:
    """The first word of a folder's name that is a split's, in lower case, without number.

    "train" of "seg_train", "trainA" and "train-clean-100"; "test" of "test1".
    """
    words = _WORD_BREAK.split(name)
    found = filter(is_split, (_YEAR_OR_NUMBER.sub("", word) for word in words))
    return next(found, "").lower() or None


def split_of_folders(path: str) -> str | None:
    """The outermost folder of a file's `path` with a split's name, as it is written."""
    return next(filter(is_split, path.split("/")[:-1]), None)


def split_of_name(path: str) -> str | None:
    """The first word of the file's name that is a split's, without year or number.

    "train" of "train-000.tar", "mnist_train.npz" and "instances_train2017.json".
    """
    words = re.split(r"[_\-.]", path.rpartition("/")[2])
    return next(filter(is_split, (_YEAR_OR_NUMBER.sub("", word) for word in words)), None)


def splits_of_files(paths: Sequence[str]) -> list[str | None]:
    """The split of each file, if all lie in folders of splits, or are all called after one."""
    for find in (split_of_folders, split_of_name):
        splits = [find(path) for path in paths]
        if all(splits):
            return splits
    return [None] * len(paths)


def splits_of_tables(names: Sequence[str]) -> dict[str, str]:
    """The split by table, of the tables of a folder that are called after one.

    After it alone: train.csv, beside others; else all of them in part, each after another:
    mnist_train.csv, mnist_test.csv.
    """
    if alone := {name: stem(uncompressed(name)) for name in names if _is_alone(name)}:
        return alone
    splits = {name: split for name in names if (split := split_of_name(name))}
    return splits if len(set(splits.values())) == len(names) else {}


def _is_alone(name: str) -> bool:
    return is_split(stem(uncompressed(name)))


def lists_of_splits(names: Iterable[str]) -> list[str]:
    """Of the names of lists those of splits; "trainval" only without both of its parts."""
    splits = list(filter(is_split, names))
    is_whole = {"train", "val"} <= {name.lower() for name in splits}
    return [name for name in splits if name.lower() != "trainval" or not is_whole]


def without_split(name: str) -> tuple[str, str]:
    """("x", "train") of an array's name "x_train"; the second is "" where it names no split."""
    for pattern in _IN_ARRAY_NAME:
        if (match := pattern.fullmatch(name)) and is_split(match["split"]):
            return match["column"], match["split"]
    return name, ""
