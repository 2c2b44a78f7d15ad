"""TFRecord files as in TensorFlow's tutorials, and the datasets expected from them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from end_to_end.building import build
from tensorflow_examples import example

import beam_pipeline

NUM_RECORDS, NUM_FILES = 21, 3


def _random(number: int) -> np.random.Generator:
    return np.random.default_rng(number)


def jpeg(number: int) -> bytes:
    """Make an image of 16 x 12 pixels, different for each number."""
    pixels = _random(number).integers(0, 256, (12, 16, 3), np.uint8)
    return bytes(tf.io.encode_jpeg(pixels).numpy())


def _wav(number: int) -> bytes:
    samples = _random(number).uniform(-1, 1, (100 + number, 1))
    return bytes(tf.audio.encode_wav(np.float32(samples), 8000).numpy())


# Functions from a number to a record as in tutorials, and the inferred feature of each key.
SCHEMAS: dict[str, tuple[Callable[[int], Mapping[str, Any]], dict[str, str]]] = {
    "image": (
        lambda n: {"image": jpeg(n), "label": n % 3},
        {"image": "image", "label": "class_label"},
    ),
    "audio": (
        lambda n: {"audio": _wav(n), "speaker_id": n % 5, "timestamp": 0.5 + n},
        {"audio": "audio", "speaker_id": "scalar", "timestamp": "scalar"},
    ),
    "boxes": (
        lambda n: {
            "image_raw": jpeg(n),
            "labels": [1] * (n % 3),
            "bounding_boxes": _random(n).uniform(size=(n % 3, 4)),
        },
        {
            "bounding_boxes": "sequence [None, 4]",
            "image_raw": "image",
            "labels": "sequence [None]",
        },
    ),
    "values": (
        lambda n: {
            "caption": f"Bild {n}: häßlich".encode(),
            "padded": [*range(n % 7), *[0] * (7 - n % 7)],
            "pixels": _random(n).integers(0, 256, (28, 28), np.uint8).tobytes(),
            "raw": np.float32(_random(n).uniform(size=(64, 64))).tobytes(),
            "sequence": list(range(1, 2 + n % 7)),
            "vector": _random(n).normal(size=9),
            "y": 0.5 * n,
        },
        {
            "caption": "text",
            "padded": "tensor [7]",
            "pixels": "bytes",
            "raw": "bytes",
            "sequence": "sequence [None]",
            "vector": "tensor [9]",
            "y": "scalar",
        },
    ),
}


def examples(schema: str) -> list[bytes]:
    """Return 21 serialized Examples of a schema."""
    record, _ = SCHEMAS[schema]
    return [example(record(number)) for number in range(NUM_RECORDS)]


def write(
    folder: Path,
    payloads: list[bytes],
    compression: str = "",
    name: str = "data_{}.tfrecord",
    files: int = NUM_FILES,
) -> Path:
    """Write payloads to files as TensorFlow does, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = folder / name.format(number)
        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for payload in payloads[number::files]:
                writer.write(payload)
    return folder


def stored(info: beam_pipeline.Dataset) -> list[bytes]:
    """Return the Examples of a dataset as TensorFlow reads them."""
    files = [f"{info.path}/{shard.file}" for shards in info.splits.values() for shard in shards]
    records = tf.data.TFRecordDataset(files, "GZIP" if info.compressed else "")
    return list(records.as_numpy_iterator())


def taken_for(info: beam_pipeline.Dataset) -> dict[str, str]:
    """Describe kind, shape and encoding of each feature briefly, by name."""
    shapes = {
        each.name: [*each.shape] if each.kind in ("tensor", "sequence") else ""
        for each in info.schema
    }
    return {
        each.name: f"{each.kind} {shapes[each.name]} {each.encoding}".strip()
        for each in info.schema
    }


def build_verified(path: Path | str, output: Path, **options: Any) -> beam_pipeline.Dataset:
    """Build and verify a dataset; check that no working files are left next to it."""
    info = build(path, output, name="made", **options)
    assert beam_pipeline.verify(info) == []
    assert [path.name for path in Path(info.path).glob(".*")] == []
    return info
