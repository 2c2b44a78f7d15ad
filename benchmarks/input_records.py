"""Makes records for input.py: photographs, tables, sequences."""

import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

NUM_FILES = 8
_SEED = 3


def write(folder: Path, records: Iterator[bytes]) -> list[str]:
    """Writes records to several files, round-robin."""
    files = [
        str(folder / f"train-{number:05}-of-{NUM_FILES:05}.tfrecord") for number in range(NUM_FILES)
    ]
    writers = [tf.io.TFRecordWriter(file) for file in files]
    for number, record in enumerate(records):
        writers[number % NUM_FILES].write(record)
    for writer in writers:
        writer.close()
    return files


def example(**columns: Any) -> bytes:
    """A serialized Example; `__` in a name is a slash."""
    made = tf.train.Example()
    for name, value in columns.items():
        feature = made.features.feature[name.replace("__", "/")]
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        elif isinstance(values[0], int):
            feature.int64_list.value.extend(values)
        else:
            feature.float_list.value.extend(values)
    return bytes(made.SerializeToString())


def photographs(*sizes: tuple[int, int]) -> Callable[[int], Iterator[bytes]]:
    """JPEGs with structure at several scales; about 0.3 bytes per pixel, like photographs.

    Args:
        sizes: (width, height) of the images, in rotation.
    """

    def make(count: int) -> Iterator[bytes]:
        random = np.random.default_rng(_SEED)
        encoded = [photograph(random, *sizes[n % len(sizes)]) for n in range(min(count, 200))]
        for number in range(count):
            yield example(
                image__encoded=encoded[number % len(encoded)],
                image__class__label=number % 10,
            )

    return make


def photograph(random: np.random.Generator, width: int, height: int) -> bytes:
    """One JPEG: noise at scales of 64, 16, 4 and 1 pixels, with decreasing amplitude."""
    pixels = np.full((height, width, 3), 128.0)
    for scale, strength in ((64, 60), (16, 30), (4, 12), (1, 3)):
        size = (math.ceil(width / scale), math.ceil(height / scale))
        noise = random.normal(size=(size[1], size[0], 3)) * 64 + 128
        part = Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8))
        part = part.resize((width, height), Image.Resampling.BICUBIC)
        pixels += (np.asarray(part, np.float64) - 128) * strength / 64
    buffer = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def table(count: int) -> Iterator[bytes]:
    """Rows of 25 integers and 25 floats."""
    random = np.random.default_rng(_SEED)
    for _ in range(count):
        integers = random.integers(0, 1000, 25).tolist()
        floats = random.normal(size=25).tolist()
        yield example(
            **{f"count_{n:02}": value for n, value in enumerate(integers)},
            **{f"size_{n:02}": value for n, value in enumerate(floats)},
        )


def sequences(count: int) -> Iterator[bytes]:
    """A list of varying length and a label."""
    random = np.random.default_rng(_SEED)
    for number in range(count):
        tokens = random.integers(0, 30_000, random.integers(5, 60)).tolist()
        yield example(tokens=tokens, label=number % 5)


def small(count: int) -> Iterator[bytes]:
    """Two floats and a label."""
    for number in range(count):
        yield example(width=number / 7, height=number / 3, label=number % 5)


def encoded_images(files: list[str]) -> Iterator[tuple[int, bytes]]:
    """The class and the image of each record."""
    for record in tf.data.TFRecordDataset(files).as_numpy_iterator():
        features = tf.train.Example.FromString(record).features.feature
        (label,) = features["image/class/label"].int64_list.value
        (image,) = features["image/encoded"].bytes_list.value
        yield label, image
