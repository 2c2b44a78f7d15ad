"""Names of splits and numbered shards in folders, files, lists and arrays of every layout."""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence

from tfrecord_dataset.errors import DatasetDamagedError

TFDS_NAME = re.compile(r"(?P<name>[a-zA-Z]\w*)-(?P<split>\w+)\.tfrecord-\d{5,}-of-\d{5,}(\.gz)?")
"""A shard name of TFDS: `cells-train.tfrecord-00000-of-00008`."""
_SHARD_OF_HUB = re.compile(r"(?P<split>\w+)-\d{5}-of-\d{5}(-[0-9a-f]+)?\.")

_NAMES = (
    *("train", "training", "trainval", "val", "valid", "validation", "minival"),
    *("test", "testing", "dev", "eval", "evaluation"),
)
_SPLIT = re.compile(rf"({'|'.join(_NAMES)})([-_ ]?(\d{{4}}|set|split|data|images))?", re.IGNORECASE)
SPLIT_WORDS = f"(?i:{'|'.join(sorted(_NAMES, key=len, reverse=True))})"
"""Expression for the longest name of a split at the beginning of a text."""
_WORD_BREAK = re.compile(r"[_\-. ]|(?<=[a-z])(?=[A-Z])")
_YEAR_OR_NUMBER = re.compile(r"\d+$")


def is_split(name: str) -> bool:
    """Whether the name of a folder, list or key is a split's: "train", "Val", "test2017", …."""
    return _SPLIT.fullmatch(name) is not None


def first_split(words: Sequence[str]) -> str | None:
    """Return the first word that names a split, without year or number."""
    return next(filter(is_split, (_YEAR_OR_NUMBER.sub("", word) for word in words)), None)


def split_in_name(name: str) -> str | None:
    """Return the first word of a folder's or list's name that names a split, lower case, no number.

    "train" for "seg_train", "trainA" and "train-clean-100"; "test" for "test1".
    """
    return (first_split(_WORD_BREAK.split(name)) or "").lower() or None


def split_word(name: str) -> str | None:
    """Return the first word of a folder's name that is a split's: "train" for "asl_train"."""
    return next(filter(is_split, _WORD_BREAK.split(name)), None)


def split_of_folders(path: str) -> str | None:
    """Return the outermost folder in a file's `path` that is named like a split, unchanged."""
    return next(filter(is_split, path.split("/")[:-1]), None)


def split_of_name(path: str) -> str | None:
    """Return the first word of the file's name that names a split, without year or number.

    "train" for "train-000.tar", "mnist_train.npz" and "instances_train2017.json".
    """
    return first_split(re.split(r"[_\-.]", path.rpartition("/")[2]))


def splits_of_files(paths: Sequence[str]) -> list[str | None]:
    """Return the split of each file, if all folders or all file names state one."""
    splits = _of_all(paths, (split_of_folders, split_of_name))
    return splits if any(splits) else [*splits_of_shards(paths)] or splits


def splits_of_shards(paths: Sequence[str]) -> list[str]:
    """Return each file's split, if all are named as on the Hugging Face Hub, one split as usual.

    "unsupervised" for "unsupervised-00000-of-00001.parquet"; empty for other files.
    """
    matches = [_SHARD_OF_HUB.match(path.rpartition("/")[2]) for path in paths]
    splits = [match["split"] for match in matches if match]
    return splits if len(splits) == len(paths) and any(map(split_in_name, splits)) else []


def splits_of_record_files(paths: Sequence[str]) -> list[str | None]:
    """Return the split of each TFRecord file, if all state one, in TFDS's or other names."""
    return _of_all(paths, (_split_of_tfds, split_of_folders, split_of_name))


def _split_of_tfds(path: str) -> str | None:
    match = TFDS_NAME.fullmatch(path.rpartition("/")[2])
    return match["split"] if match else None


def _of_all(paths: Sequence[str], ways: Sequence[Callable[[str], str | None]]) -> list[str | None]:
    for find in ways:
        splits = [find(path) for path in paths]
        if all(splits):
            return splits
    return [None] * len(paths)


_NUMBERED = re.compile(r"(?P<start>.*)-(?P<number>\d{5,})-of-(?P<count>\d{5,})(?P<end>[^/]*)")
_MOST_NUMBERS = 5


def check_all_shards(files: Iterable[str]) -> None:
    """Check that no shard is missing from a numbering.

    Args:
        files: Paths or URLs. Other names are ignored.

    Raises:
        DatasetDamagedError: Shards are missing; the message has their numbers and the option that
            allows it.
    """
    numbers: dict[tuple[str, str, str], set[int]] = {}
    for file in files:
        if match := _NUMBERED.fullmatch(file):
            key = (match["start"], match["count"], match["end"])
            numbers.setdefault(key, set()).add(int(match["number"]))
    for (start, count, end), there in sorted(numbers.items()):
        num_missing = int(count) - sum(number < int(count) for number in there)
        if num_missing > 0:
            missing = (each for each in range(int(count)) if each not in there)
            named = [f"{each:05d}" for each in itertools.islice(missing, _MOST_NUMBERS)]
            more = ", …" if num_missing > len(named) else ""
            raise DatasetDamagedError(
                f"{start}-*-of-{count}{end} lacks {num_missing} of {int(count)} shards: "
                f"{', '.join(named)}{more}; copy them there, or pass allow_missing_shards "
                "(--allow-missing-shards)"
            )
