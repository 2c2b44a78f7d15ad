"""Reads files to predict for as serialized Examples like the training data."""

import csv
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.store.urls import is_remote
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.tasks import Task

_ROWS = (".csv", ".jsonl")
_MAX_CELL_CHARACTERS = 1 << 28  # Python's own default is 131,072


class Item(NamedTuple):
    """One record to predict for."""

    source: str  # path, or `rows.csv:3`, as in the predictions
    example: bytes  # a serialized tf.train.Example
    # Columns of a .csv or .jsonl file; for another file `stem`, its name without the suffix.
    row: Mapping[str, Any] = MappingProxyType({})


def read_items(paths: Iterable[str], task: Task, features: Mapping[str, Feature]) -> Iterator[Item]:
    """Read the records of files and folders in order; folders recursively.

    A model with one such input takes an image, audio file or text as a record. Each row of a .csv
    or .jsonl file is a record with columns named like the inputs; images and audio files in it are
    paths relative to the file.

    Raises:
        ConfigError: A path does not exist, or the model does not support the file.
        DatasetDamagedError: A file cannot be read.
    """
    for path in paths:
        if is_remote(path):
            raise ConfigError(
                f"{path} is not a dataset, and single files on a store are not read; copy them "
                "here, or build a dataset of them"
            )
        place = Path(path)
        if not place.exists():
            raise ConfigError(f"there is no file or folder {path}; check the path")
        if place.is_file():
            yield from _read_file(place, task, features)
            continue
        suffixes = _suffixes(task)
        files = sorted(each for each in place.rglob("*") if each.suffix.lower() in suffixes)
        if not files:
            raise ConfigError(
                f"{path} has no file that the model takes ({', '.join(suffixes)}); name another "
                "folder"
            )
        for each in files:
            yield from _read_file(each, task, features)


def _suffixes(task: Task) -> tuple[str, ...]:
    """Return the suffixes of files that the model takes."""
    (first, *more) = task.inputs.values()
    return _ROWS if more else first.suffixes or _ROWS


def _read_file(path: Path, task: Task, features: Mapping[str, Feature]) -> Iterator[Item]:
    if path.suffix.lower() in _ROWS:
        yield from items_of_rows(_rows(path), f"{path}:", path.parent, task, features)
        return
    (first, *more) = task.inputs.values()
    if more or path.suffix.lower() not in _suffixes(task):
        raise ConfigError(
            f"{path} does not suit this model, which takes "
            f"{', '.join(each.name for each in (first, *more))}: give "
            f"{' or '.join(_suffixes(task))}; a row of a .csv or .jsonl file has a "
            "column for each input"
        )
    row = {first.name: first.of_file(path)}
    example = _example(row, str(path), path.parent, task, features)
    yield Item(str(path), example, {"stem": path.stem})


def items_of_rows(
    rows: Iterable[Mapping[str, Any]],
    prefix: str,
    folder: Path,
    task: Task,
    features: Mapping[str, Feature],
) -> Iterator[Item]:
    """Make records of rows with a column per input; paths are relative to `folder`.

    Raises:
        UnknownNameError: A row lacks a column.
        DatasetDamagedError: A value is not of the input's type, or a file cannot be read.
    """
    for number, row in enumerate(rows, start=1):
        source = f"{prefix}{number}"
        yield Item(source, _example(row, source, folder, task, features), row)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    is_csv = path.suffix.lower() == ".csv"
    csv.field_size_limit(_MAX_CELL_CHARACTERS)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from csv.DictReader(lines) if is_csv else _json_rows(path, lines)
    except (UnicodeDecodeError, csv.Error) as error:
        problem = f"{path} cannot be read: {error}; save it as JSON Lines in UTF-8"
        raise DatasetDamagedError(problem) from error


def _json_rows(path: Path, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise TypeError(f"it is {json.dumps(row)[:20]}")
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"{path}:{number} is not a JSON object: {error}; correct the line"
            raise DatasetDamagedError(problem) from error
        yield row


def _example(
    row: Mapping[str, Any],
    source: str,
    folder: Path,
    task: Task,
    features: Mapping[str, Feature],
) -> bytes:
    """Serialize the model's inputs in `row` as an Example."""
    values: dict[str, Any] = {}
    for each in task.inputs.values():
        feature = features[each.name]
        if each.name not in row:
            raise UnknownNameError("column, which the model needs,", each.name, row, source)
        values[feature.key] = each.stored(row[each.name], feature, folder, source)
    return encode(values)


def write_chunks(
    items: Iterable[Item], folder: Path, size: int
) -> Iterator[tuple[str, list[Item]]]:
    """Write `size` records at a time to a TFRecord file; yield its path and the records.

    The next iteration removes the file.
    """
    iterator = iter(items)
    for number in itertools.count():
        chunk = list(itertools.islice(iterator, size))
        if not chunk:
            return
        file = folder / f"{number:05d}.tfrecord"
        with file.open("wb") as handle:
            handle.writelines(framed(item.example) for item in chunk)
        yield os.fspath(file), chunk
        file.unlink()
