"""Parsers of the command line's values: sizes, fractions, names.

Each raises argparse.ArgumentTypeError for a value that it cannot read, with an example.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from beam_pipeline.records import composed

_Number = TypeVar("_Number", int, float)

_BYTE_UNITS = {"": 1, "b": 1} | {
    unit: int(factor**power)
    for power, letter in enumerate("kmgt", 1)
    for unit, factor in ((letter, 1024), (f"{letter}ib", 1024), (f"{letter}b", 1000))
}


def parse_bytes(text: str) -> int:
    """Bytes in "128MiB", "1.5GB" (powers of 1000) or "4096"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if not match or match[2] not in _BYTE_UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it as 128MiB or 1GB")
    return round(float(match[1]) * _BYTE_UNITS[match[2]])


def parse_fractions(text: str) -> dict[str, float]:
    """Fractions by split in "train=0.8,test=0.2"."""
    return _numbers(text, float, "train=0.8,test=0.2")


def parse_shards(text: str) -> int | dict[str, int]:
    """Shards in "8", or by split in "train=8,test=1"."""
    if text.strip().isdigit():
        return int(text)
    return _numbers(text, int, "8 or train=8,test=1")


def parse_size(text: str) -> tuple[int, int]:
    """(width, height) in pixels in "224" or "640x480"."""
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", text.strip().lower())
    if not match:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size; write 224, or 640x480 for width x height"
        )
    return int(match[1]), int(match[2] or match[1])


def parse_names(text: str) -> tuple[str, ...]:
    """Names in "a,b"."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_classes(text: str) -> tuple[str, ...]:
    """Class names in "cat,dog", or one per line in the file at that path."""
    path = Path(text)
    if path.is_file():
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8; save it as UTF-8") from error
        return tuple(composed(line.strip()) for line in lines if line.strip())
    if "," not in text and (path.suffix or "/" in text):
        raise argparse.ArgumentTypeError(
            f"there is no file {text!r}; give a file with one name per line, or names such as "
            "cat,dog"
        )
    return parse_names(text)


def _numbers(text: str, number: Callable[[str], _Number], example: str) -> dict[str, _Number]:
    """Numbers by name in "a=1,b=2"; `example` shows how to write it."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        numbers = {name.strip(): number(value) for name, _, value in pairs}
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be read; write it as {example}"
        ) from error
    if len(numbers) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} names a split twice")
    return numbers
