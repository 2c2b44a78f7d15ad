"""Files to predict for, as serialized Examples like those that the model was trained on."""

import csv
import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfrecord_dataset.example import encode
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.frames import framed
from tfrecord_dataset.store.urls import is_remote
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.tasks import Task
from trainer.tasks.inputs.audio import Audio

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")
AUDIO_SUFFIXES = (".wav", ".flac", ".ogg", ".mp3")
TEXT_SUFFIXES = (".txt",)
ROW_SUFFIXES = (".csv", ".jsonl")
_SUFFIXES = {"image": IMAGE_SUFFIXES, "audio": AUDIO_SUFFIXES, "text": TEXT_SUFFIXES}
# Formats of Pillow that TensorFlow reads, too.
_DECODABLE = ("JPEG", "PNG", "GIF", "BMP")
_ORIENTATION = 0x0112  # Exif


class Item(NamedTuple):
    """One record to predict for.

    Attributes:
        source: What it is called in the predictions: a path, or `rows.csv:3`.
        example: A serialized tf.train.Example.
    """

    source: str
    example: bytes


def read_items(paths: Iterable[str], task: Task, features: Mapping[str, Feature]) -> Iterator[Item]:
    """The records in files and folders, in order; folders with all that is below them.

    Args:
        paths: Of images, audio files or texts, each a record of a model with one such input; or
            of .csv and .jsonl files, each row a record, whose columns are named like the inputs.
            There an image or audio file is a path, relative to the file.
        task: The model's.
        features: Of the model's inputs, by name.

    Raises:
        ConfigError: A path does not exist, or the model cannot take what is there.
        DatasetDamagedError: A file cannot be read.
    """
    for path in paths:
        if is_remote(path):
            raise ConfigError(
                f"{path} is no dataset, and files on a store are not read one by one; copy them "
                "here, or build a dataset of them"
            )
        place = Path(path)
        if not place.exists():
            raise ConfigError(f"there is no file or folder {path}; check the path")
        if place.is_file():
            yield from _read_file(place, task, features)
            continue
        suffixes = _suffixes(task, features)
        found = sorted(each for each in place.rglob("*") if each.suffix.lower() in suffixes)
        if not found:
            raise ConfigError(
                f"{path} has no file that the model takes ({', '.join(suffixes)}); name another "
                "folder"
            )
        for each in found:
            yield from _read_file(each, task, features)


def _suffixes(task: Task, features: Mapping[str, Feature]) -> tuple[str, ...]:
    """Of the files that the model takes."""
    inputs = [features[each.name] for each in task.inputs.values()]
    own = _SUFFIXES.get(inputs[0].kind, ()) if len(inputs) == 1 else ()
    return own or ROW_SUFFIXES


def _read_file(path: Path, task: Task, features: Mapping[str, Feature]) -> Iterator[Item]:
    if path.suffix.lower() in ROW_SUFFIXES:
        for number, row in enumerate(_rows(path), start=1):
            source = f"{path}:{number}"
            yield Item(source, _example(row, source, path.parent, task, features))
        return
    names = [each.name for each in task.inputs.values()]
    if len(names) > 1 or path.suffix.lower() not in _suffixes(task, features):
        raise ConfigError(
            f"{path} is no file for this model, which takes {', '.join(names)}: give "
            f"{' or '.join(_suffixes(task, features))}; a row of a .csv or .jsonl file has a "
            "column for each input"
        )
    value = path.name if features[names[0]].kind != "text" else path.read_text(encoding="utf-8")
    yield Item(str(path), _example({names[0]: value}, str(path), path.parent, task, features))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        if path.suffix.lower() == ".csv":
            yield from csv.DictReader(lines)
            return
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DatasetDamagedError(
                    f"{path}:{number} is not JSON: {error}; correct the line"
                ) from error
            if not isinstance(row, dict):
                raise DatasetDamagedError(f"{path}:{number} is not a JSON object; correct the line")
            yield row


def _example(
    row: Mapping[str, Any],
    source: str,
    folder: Path,
    task: Task,
    features: Mapping[str, Feature],
) -> bytes:
    """The serialized Example of the model's inputs in `row`."""
    values: dict[str, Any] = {}
    for each in task.inputs.values():
        feature = features[each.name]
        if each.name not in row:
            raise UnknownNameError(f"column in {source}, which the model needs,", each.name, row)
        value = row[each.name]
        match feature.kind:
            case "image":
                values[feature.key] = [_image(folder / value)]
            case "audio":
                values[feature.key] = [_audio(folder / value, each)]
            case _:
                values[feature.key] = _numbers_or_text(value, feature, source)
    return encode(values)


def _image(path: Path) -> bytes:
    """The file, or a PNG of it where TensorFlow cannot read it, or Exif turns it."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # here: most commands need no Pillow

    try:
        encoded = path.read_bytes()
        with Image.open(io.BytesIO(encoded)) as image:
            is_upright = image.getexif().get(_ORIENTATION, 1) == 1
            if is_upright and image.format in _DECODABLE and image.mode != "CMYK":
                return encoded
            copy = io.BytesIO()
            ImageOps.exif_transpose(image).convert("RGB").save(copy, "PNG")
            return copy.getvalue()
    except (OSError, UnidentifiedImageError) as error:
        raise DatasetDamagedError(f"{path} is not a readable image: {error}") from error


def _audio(path: Path, audio: Any) -> bytes:
    import soundfile  # here: most models take no audio

    assert isinstance(audio, Audio)
    try:
        rate = soundfile.info(os.fspath(path)).samplerate
    except soundfile.LibsndfileError as error:
        raise DatasetDamagedError(f"{path} is not readable audio: {error}") from error
    if rate != audio.sample_rate:
        raise ConfigError(
            f"{path} has {rate} samples per second, but the model was trained on "
            f"{audio.sample_rate}; resample it, or build a dataset with --audio-sample-rate "
            f"{audio.sample_rate} and predict for that"
        )
    return path.read_bytes()


def _numbers_or_text(value: Any, feature: Feature, source: str) -> list[Any]:
    """The values of the feature's list; one of bytes if it is stored as one raw value."""
    if feature.dtype in ("string", "bytes"):
        values = value if isinstance(value, list) else [value]
        return [str(each).encode() for each in values]
    if feature.kind == "class_label" and value in feature.classes:
        return [feature.classes.index(value) + feature.label_offset]
    try:
        if isinstance(value, str):
            value = json.loads(value) if value.strip() else float("nan")
        array = np.ravel(np.asarray(value, dtype=feature.dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise DatasetDamagedError(
            f"{feature.name} of {source} is {value!r}, which is not of {feature.dtype}: {error}; "
            "correct the value"
        ) from error
    if feature.encoding == "bytes":
        return [array.astype(array.dtype.newbyteorder("<")).tobytes()]
    result: list[Any] = array.tolist()
    return result


def write_chunks(items: Iterable[Item], folder: Path, size: int) -> Iterator[tuple[str, list[str]]]:
    """Writes `size` records at a time to a TFRecord file; yields its path, and their sources.

    The file is removed when the next one is asked for.
    """
    iterator = iter(items)
    for number in itertools.count():
        chunk = list(itertools.islice(iterator, size))
        if not chunk:
            return
        file = folder / f"{number:05d}.tfrecord"
        with file.open("wb") as handle:
            handle.writelines(framed(item.example) for item in chunk)
        yield os.fspath(file), [item.source for item in chunk]
        file.unlink()
