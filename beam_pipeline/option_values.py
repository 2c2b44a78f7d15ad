"""Values of a build's options: `parse_…` reads the command line's text, `make_…` checks a value.

Each raises a ValueError for an invalid value, which continues `--option 'value' …`, or a
ConfigError that names the invalid one of several values.
"""

import math
import numbers
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.records import composed
from tfrecord_dataset import plugins
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.errors import raise_together
from tfrecord_dataset.format.metadata import VERSION
from tfrecord_dataset.format.split_names import is_split, split_in_name
from tfrecord_dataset.options import make_names
from tfrecord_dataset.shown_text import is_unicode
from tfrecord_dataset.store.urls import unsigned

# The entry points by which other packages add layouts (docs/dev/own-source.md).
LAYOUT_GROUP = "beam_tfrecords.layouts"
AUTO = "auto"
OWN_LAYOUTS = (
    *("folders", "coco", "voc", "yolo", "kitti", "labelme", "masks", "dota", "labelstudio"),
    *("cvat", "via", "createml", "karpathy", "vott", "supervisely", "bdd100k", "visdrone"),
    *("widerface", "mot", "captions", "transcripts", "csv", "jsonl", "xlsx", "parquet"),
    *("arrow", "lines", "tar", "arrays", "idx", "tfrecord"),
)
# The default for an input without splits.
ONE_SPLIT: Mapping[str, float] = {"train": 1.0}

# Values of `missing_numbers` that are not numbers.
NAN, REJECT = "nan", "reject"

_Number = TypeVar("_Number", int, float)


def parse_fractions(text: str) -> dict[str, float]:
    """Fractions by split in "train=0.8,test=0.2"."""
    return _numbers(text, float, "train=0.8,test=0.2")


def parse_shards(text: str) -> int | dict[str, int]:
    """Shards in "8", or by split in "train=8,test=1"."""
    if text.strip().isdigit():
        return int(text)
    return _numbers(text, int, "8 or train=8,test=1")


def parse_names(text: str) -> tuple[str, ...]:
    """Names in "a,b"."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_missing_numbers(text: str) -> str | float:
    """A number, or "nan" or "reject"."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text.strip().lower()
    return number if math.isfinite(number) else text.strip().lower()


def make_missing_numbers(value: Any) -> str | float:
    """A finite number, or "nan" or "reject"."""
    if isinstance(value, float) and math.isnan(value):
        return NAN
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value in (NAN, REJECT) or (is_number and abs(value) < math.inf):
        return value  # type: ignore[no-any-return]
    raise ValueError("cannot be used: give nan, reject or a number, such as -1")


def parse_columns(text: str) -> bool | tuple[str, ...]:
    """Names in "a,b", or all columns ("true") or none ("false")."""
    return {"true": True, "false": False}.get(text.strip().lower(), parse_names(text))


def make_columns(value: Any) -> bool | tuple[str, ...]:
    """Names of columns, or True for all and False for none."""
    return value if isinstance(value, bool) else make_names(value)


def parse_one(text: str) -> tuple[str, ...]:
    """A single text, commas included."""
    return (text,)


def make_fractions(value: Any) -> Mapping[str, float]:
    """Positive fractions by split, with sum 1, or less if `train` takes the rest."""
    if not isinstance(value, Mapping) or not all(
        isinstance(fraction, numbers.Real) for fraction in value.values()
    ):
        raise ValueError("cannot be used: give fractions by split, as in train=0.9,test=0.1")
    if not value or not all(isinstance(name, str) and re.fullmatch(r"\w+", name) for name in value):
        raise ValueError(
            "cannot be used: name splits with letters, digits and underscores, as in --split "
            "train=0.9,test=0.1"
        )
    total = sum(value.values())
    is_whole = abs(total - 1) < 1e-6 or ("train" not in value and total < 1)
    if not all(fraction > 0 for fraction in value.values()) or not is_whole:
        raise ValueError(
            "cannot be used: give positive fractions by split whose sum is 1, or leave the rest to "
            "train, as in --split validation=0.1"
        )
    return value


def make_shards(value: Any) -> int | Mapping[str, int]:
    """A number of shards for every split, or one by split."""
    for count in value.values() if isinstance(value, Mapping) else (value,):
        if type(count) is not int or not 1 <= count <= 99_999:
            raise ValueError("cannot be used: give 1 to 99,999 (file names have five digits)")
    return value  # type: ignore[no-any-return]


def make_name(name: str) -> str:
    """A dataset's name; "" is none."""
    if name and not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(
            "cannot be used: start with a letter, then letters, digits and underscores, all lower "
            "case: tfds.load does not find other names"
        )
    return name


def make_version(version: str) -> str:
    """A dataset's version."""
    if not VERSION.fullmatch(version):
        raise ValueError("cannot be used: give three numbers, such as 1.0.0")
    return version


def make_classes(names: tuple[str, ...]) -> tuple[str, ...]:
    """Class names."""
    if twice := {name for name, count in Counter(names).items() if count > 1}:
        raise ValueError(f"names {min(twice)!r} twice; name each once")
    return names


def make_path(path: str) -> str:
    """Return an absolute path; "" is none."""
    return storage.absolute(path) if path else ""


def make_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return absolute paths."""
    return tuple(map(storage.absolute, paths))


def make_described(path: str) -> str:
    """Return an absolute path that UTF-8 can encode, as the dataset's description names it."""
    path = make_path(path)
    if not is_unicode(path):
        raise ValueError(
            "cannot be used: its name is not UTF-8, in which the description of a dataset is "
            "written; rename the folder"
        )
    return path


def make_output(path: str) -> str:
    """Return an absolute path that Beam can write to."""
    path = make_described(path)
    if set("*?[") & set(path):
        raise ValueError(
            "cannot be used: leave out the characters * ? [, which Beam reads as a pattern for "
            "many paths"
        )
    return path


def make_split_lists(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Parse `--split-list` into SPLIT=PATH each; a bare FILE names its split."""
    lists, wrong = [], []
    for text in texts:
        try:
            lists.append(_split_list(text))
        except ValueError as error:
            wrong.append(ConfigError(f"--split-list {text!r} {error}"))
    raise_together(wrong)
    return tuple(lists)


def _split_list(text: str) -> str:
    split, is_named, path = text.partition("=")
    if not is_named or not re.fullmatch(r"\w+", split):
        path = text
        name = unsigned(text).rpartition("/")[2].partition(".")[0]
        split = name if is_split(name) else split_in_name(name) or name
    if not re.fullmatch(r"\w+", split):
        raise ValueError("does not name a split; write it as SPLIT=FILE")
    path = storage.absolute(path)
    if not storage.exists(path) or os.path.isdir(path):
        raise ValueError(f"does not exist (looked at {path})")
    return f"{split}={path}"


def parse_classes(text: str) -> tuple[str, ...]:
    """Class names in "cat,dog", or one per line in the file at that path."""
    path = Path(text)
    if path.is_file():
        try:
            lines = bare_lines(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValueError("is not UTF-8; save it as UTF-8") from error
        return tuple(composed(line.strip()) for line in lines if line.strip())
    if "," not in text and (path.suffix or "/" in text):
        raise ValueError(
            "is not a file; give a file with one name per line, or names such as cat,dog"
        )
    return parse_names(text)


def _numbers(text: str, number: Callable[[str], _Number], example: str) -> dict[str, _Number]:
    """Numbers by name in "a=1,b=2"; `example` shows how to write it."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        values = {name.strip(): number(value) for name, _, value in pairs}
    except ValueError as error:
        raise ValueError(f"cannot be read; write it as {example}") from error
    if len(values) < len(pairs):
        raise ValueError("names a split twice")
    return values


def layout_names() -> list[str]:
    """Return the values of `--layout`, "auto" first, without importing registered packages."""
    added = (entry.name for entry in plugins.registered(LAYOUT_GROUP))
    return [AUTO, *dict.fromkeys([*OWN_LAYOUTS, *added])]
