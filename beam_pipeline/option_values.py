"""Parsers of the command line's values: fractions, shards, names.

Each raises a ValueError for a text that it cannot read, which continues `--option 'text' …`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from beam_pipeline.files import storage
from beam_pipeline.records import composed
from tfrecord_dataset.split_names import is_split, split_in_name
from tfrecord_dataset.store.urls import unsigned

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


def parse_one(text: str) -> tuple[str, ...]:
    """One of several texts, commas and all."""
    return (text,)


def split_list(text: str) -> str:
    """What `--split-list` says, as SPLIT=PATH: the name of a FILE alone says its split.

    Raises:
        ValueError: It says none, or there is no such file.
    """
    split, is_named, path = text.partition("=")
    if not is_named or not re.fullmatch(r"\w+", split):
        path = text
        name = unsigned(text).rpartition("/")[2].partition(".")[0]
        split = name if is_split(name) else split_in_name(name) or name
    if not re.fullmatch(r"\w+", split):
        raise ValueError("has a name that is no split's; write it as SPLIT=FILE")
    path = storage.absolute(path)
    if not storage.exists(path):
        raise ValueError(f"is no file (looked at {path})")
    return f"{split}={path}"


def parse_classes(text: str) -> tuple[str, ...]:
    """Class names in "cat,dog", or one per line in the file at that path."""
    path = Path(text)
    if path.is_file():
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise ValueError("is not UTF-8; save it as UTF-8") from error
        return tuple(composed(line.strip()) for line in lines if line.strip())
    if "," not in text and (path.suffix or "/" in text):
        raise ValueError("is no file; give a file with one name per line, or names such as cat,dog")
    return parse_names(text)


def _numbers(text: str, number: Callable[[str], _Number], example: str) -> dict[str, _Number]:
    """Numbers by name in "a=1,b=2"; `example` shows how to write it."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        numbers = {name.strip(): number(value) for name, _, value in pairs}
    except ValueError as error:
        raise ValueError(f"cannot be read; write it as {example}") from error
    if len(numbers) < len(pairs):
        raise ValueError("names a split twice")
    return numbers
