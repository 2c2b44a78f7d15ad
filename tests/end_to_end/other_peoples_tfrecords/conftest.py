"""TFRecord files as TensorFlow and its tutorials write them, and what datasets hold of them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_examples import example

import beam_pipeline

NUM_RECORDS, NUM_FILES = 21, 3


def _random(number: int) -> np.random.Generator:
    return np.random.default_rng(number)


def _jpeg(number: int) -> bytes:
    pixels = _random(number).integers(0, 256, (12, 16, 3), np.uint8)
    return bytes(tf.io.encode_jpeg(pixels).numpy())


def _wav(number: int) -> bytes:
    samples = _random(number).uniform(-1, 1, (100 + number, 1))
    return bytes(tf.audio.encode_wav(np.float32(samples), 8000).numpy())


# A record by its number, as tutorials write them; and what each key is taken for.
SCHEMAS: dict[str, tuple[Callable[[int], Mapping[str, Any]], dict[str, str]]] = {
    "image": (
        lambda n: {"image": _jpeg(n), "label": n % 3},
        {"image": "image", "label": "class_label"},
    ),
    "audio": (
        lambda n: {"audio": _wav(n), "speaker_id": n % 5, "timestamp": 0.5 + n},
        {"audio": "audio", "speaker_id": "scalar", "timestamp": "scalar"},
    ),
    "boxes": (
        lambda n: {
            "image_raw": _jpeg(n),
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


@pytest.fixture(params=["boxes", "values", pytest.param("audio", marks=pytest.mark.slow)])
def schema(request: pytest.FixtureRequest) -> str:
    """The name of each kind of record in turn, for `examples` and `expected_kinds`."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def expected_kinds() -> dict[str, dict[str, str]]:
    """By the name of a kind of record: what each of its keys is taken for, as `taken_for` says."""
    return {name: kinds for name, (_, kinds) in SCHEMAS.items()}


@pytest.fixture(scope="session")
def examples() -> Callable[[str], list[bytes]]:
    """By the name of a kind of record: 21 Examples of it, serialized."""

    def of(name: str) -> list[bytes]:
        record, _ = SCHEMAS[name]
        return [example(record(number)) for number in range(NUM_RECORDS)]

    return of


@pytest.fixture(scope="session")
def jpeg() -> Callable[[int], bytes]:
    """An image of 16 x 12 pixels, another one for every number."""
    return _jpeg


@pytest.fixture(scope="session")
def write() -> Callable[..., Path]:
    """Writes payloads to files, three unless told, as TensorFlow does; returns the folder."""

    def run(
        folder: Path,
        payloads: list[bytes],
        compression: str = "",
        name: str = "data_{}.tfrecord",
        files: int = NUM_FILES,
    ) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            path = folder / name.format(number)
            with tf.io.TFRecordWriter(str(path), compression) as writer:
                for payload in payloads[number::files]:
                    writer.write(payload)
        return folder

    return run


@pytest.fixture(scope="session")
def stored() -> Callable[..., list[bytes]]:
    """stored(info, split=None) -> the Examples of a dataset, as TensorFlow reads them."""

    def read(info: beam_pipeline.Dataset, split: str | None = None) -> list[bytes]:
        compression = "GZIP" if info.compressed else ""
        return [
            payload
            for name, shards in info.splits.items()
            for shard in shards
            for payload in tf.data.TFRecordDataset(
                f"{info.path}/{shard.file}", compression
            ).as_numpy_iterator()
            if split in (None, name)
        ]

    return read


@pytest.fixture(scope="session")
def taken_for() -> Callable[[Iterable[beam_pipeline.Feature]], dict[str, str]]:
    """Kind, shape and encoding of each feature by its name, briefly."""

    def of(features: Iterable[beam_pipeline.Feature]) -> dict[str, str]:
        return {
            feature.name: " ".join(
                str(part)
                for part in (
                    feature.kind,
                    feature.kind in ("tensor", "sequence") and [*feature.shape],
                    feature.encoding,
                )
                if part
            )
            for feature in features
        }

    return of
