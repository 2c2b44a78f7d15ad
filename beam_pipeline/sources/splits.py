"""Find splits in the names of folders, tables, lists and arrays."""

import re
from collections.abc import Iterable, Sequence

from beam_pipeline.sources.paths import stem, uncompressed
from tfrecord_dataset.format.split_names import is_split, split_of_name, splits_of_shards

_BETWEEN = re.compile(r"([_\-. ])")
_BEFORE_CAPITAL = re.compile(r"(?P<split>[a-z]+)(?P<column>[A-Z].*)")  # "trainX"


def splits_of_tables(names: Sequence[str]) -> dict[str, str]:
    """Map tables of a folder to the splits in their names.

    If some tables are named exactly after a split (train.csv), only these count; otherwise all
    names must contain different splits (mnist_train.csv, mnist_test.csv), or be shards of the
    Hugging Face Hub.
    """
    if of_shards := splits_of_shards(names):
        return dict(zip(names, of_shards, strict=True))
    if alone := {name: only for name in names if is_split(only := stem(uncompressed(name)))}:
        return alone
    splits = {name: split for name in names if (split := split_of_name(name))}
    return splits if len(set(splits.values())) == len(names) else {}


def lists_of_splits(names: Iterable[str]) -> list[str]:
    """Return the names of splits, without "trainval" if both of its parts are there."""
    splits = list(filter(is_split, names))
    is_whole = {"train", "val"} <= {name.lower() for name in splits}
    return [name for name in splits if name.lower() != "trainval" or not is_whole]


def without_split(name: str) -> tuple[str, str]:
    """Divide an array's name into column and split: ("x", "train"); the split may be "".

    The split is the last word, the first, another one, or the part before a capital letter.
    """
    words = _BETWEEN.split(name)
    for at in (len(words) - 1, *range(0, len(words) - 2, 2)):
        if is_split(words[at]):
            others = words[: at - 1] + words[at + 1 :] if at else words[2:]
            return "".join(others), words[at]
    match = _BEFORE_CAPITAL.fullmatch(name)
    return (match["column"], match["split"]) if match and is_split(match["split"]) else (name, "")
