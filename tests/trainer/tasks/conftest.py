"""A small dataset of each kind of learning, in which what is learned follows from the inputs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.declaration import features_from_json
from tfrecord_dataset.feature import Feature
from trainer.tasks import Task, choose_task

Features = dict[str, dict[str, Any]]
Record = dict[str, Any]

LABEL = {"kind": "class_label", "key": "label", "classes": ["low", "high"]}
VECTOR = {"kind": "tensor", "dtype": "float32", "shape": [3]}
AUDIO = {"kind": "audio", "key": "audio", "sample_rate": 8000}


def _image(rng: np.random.Generator, label: int) -> bytes:
    pixels = np.clip(rng.normal(80 + 100 * label, 30, (12, 12, 3)), 0, 255)
    return bytes(tf.io.encode_png(pixels.astype(np.uint8)).numpy())


def _map(rng: np.random.Generator, label: int) -> Record:
    """An image of a square of its class on noise, and the class of each pixel."""
    height, width = rng.integers(30, 40, 2)
    size, top, left = rng.integers(8, 16), rng.integers(0, 12), rng.integers(0, 12)
    classes = np.zeros((height, width, 1), np.uint8)
    classes[top : top + size, left : left + size] = 1 + label
    colors = np.array([[90, 90, 90], [200, 80, 60], [60, 90, 210]])
    pixels = rng.normal(colors[classes[..., 0]], 20)
    classes[:, -2:] = 255
    return {
        "image": bytes(tf.io.encode_png(np.clip(pixels, 0, 255).astype(np.uint8)).numpy()),
        "segmentation": bytes(tf.io.encode_png(classes).numpy()),
    }


def _wav(rng: np.random.Generator, label: int) -> bytes:
    time_s = np.arange(rng.integers(900, 2400)) / 8000
    tone = 0.4 * np.sin(2 * np.pi * (300 + 900 * label) * time_s) + rng.normal(0, 0.02, len(time_s))
    return bytes(tf.audio.encode_wav(tone[:, None].astype(np.float32), 8000).numpy())


def _vector(rng: np.random.Generator, label: int) -> list[float]:
    return rng.normal([1000 + 5 * label, 0, 2], [3, 1, 0.01]).tolist()


def _ids(rng: np.random.Generator, label: int) -> list[int]:
    return [3 + 8 * label, *rng.integers(0, 6 + 6 * label, rng.integers(0, 9)).tolist()]


def _series(rng: np.random.Generator, label: int) -> list[float]:
    return rng.normal(20 + 4 * label, 2, rng.integers(1, 12)).tolist()


def _caption(rng: np.random.Generator, label: int) -> bytes:
    words = rng.choice(["A", "tree,", "house", "of", "it"], rng.integers(1, 7)).tolist()
    return " ".join([*words, ("cellar", "tower")[label]]).encode()


# By name: the features but the target, the target, and from (rng, label) to a record.
_KINDS: dict[str, tuple[Features, Features, Callable[[np.random.Generator, int], Record]]] = {
    "image_metadata": (
        {"image": {"kind": "image", "shape": [12, 12, 3]}, "metadata": VECTOR},
        {"label": LABEL},
        lambda rng, label: {
            "image": _image(rng, label),
            "metadata": _vector(rng, label),
            "label": label,
        },
    ),
    "segmentation": (
        {"image": {"kind": "image"}},
        {"segmentation": {"kind": "map", "classes": ["background", "red", "blue"]}},
        _map,
    ),
    "sequence": (
        {"sequence": {"kind": "sequence", "dtype": "int64"}},
        {"label": LABEL},
        lambda rng, label: {"sequence": _ids(rng, label), "label": label},
    ),
    "series": (
        {"sequence": {"kind": "sequence", "dtype": "float32"}},
        {"label": LABEL},
        lambda rng, label: {"sequence": _series(rng, label), "label": label},
    ),
    "tags": (
        {"sequence": {"kind": "sequence", "dtype": "string"}},
        {"label": LABEL},
        lambda rng, label: {"sequence": _caption(rng, label).split(), "label": label},
    ),
    "text": (
        {"caption": {"kind": "text"}},
        {"label": LABEL},
        lambda rng, label: {"caption": _caption(rng, label), "label": label},
    ),
    "audio": (
        {"audio": AUDIO},
        {"label": LABEL},
        lambda rng, label: {"audio": _wav(rng, label), "label": label},
    ),
    "table": (
        {
            "age": {"kind": "scalar", "dtype": "int64"},
            "code": {"kind": "scalar", "dtype": "int64"},
            "zero": {"kind": "scalar", "dtype": "float32"},
            "income/year": {"kind": "scalar", "dtype": "float32"},
            "vector": VECTOR,
        },
        {"y": {"kind": "scalar", "dtype": "int64"}},
        lambda rng, label: {
            "age": int(rng.integers(20, 80)),
            "code": int(rng.integers(10**6, 10**7)),
            "zero": 0.0,
            "income/year": float(rng.normal(30_000 + 5_000 * label, 2_000)),
            "vector": _vector(rng, label),
            "y": label,
        },
    ),
    "array": (
        {"x": {"kind": "tensor", "dtype": "float32", "shape": [8, 9], "encoding": "bytes"}},
        {"label": LABEL},
        lambda rng, label: {
            "x": rng.normal(label, 1, (8, 9)).astype("<f4").tobytes(),
            "label": label,
        },
    ),
    "regression": (
        {"vector": VECTOR, "kind": {"kind": "class_label", "classes": ["a", "b"]}},
        {"price": {"kind": "scalar", "dtype": "float32"}},
        lambda rng, label: {
            "vector": (vector := _vector(rng, label)),
            "kind": label,
            "price": 50_000 + 100 * vector[0],
        },
    ),
    "two numbers": (
        {"vector": VECTOR},
        {"y": {"kind": "tensor", "dtype": "float32", "shape": [2]}},
        lambda rng, label: {
            "vector": (vector := _vector(rng, label)),
            "y": [vector[0] / 1000, 500 * vector[1]],
        },
    ),
    "several labels": (
        {"vector": VECTOR},
        {"label": {**LABEL, "shape": [None], "classes": ["far", "high", "never"]}},
        lambda rng, label: {
            "vector": (vector := _vector(rng, label)),
            "label": [0] * (vector[1] > 0) + [1] * label,
        },
    ),
    "multi hot": (
        {"vector": VECTOR},
        {"label": {"kind": "tensor", "dtype": "int64", "shape": [2]}},
        lambda rng, label: {
            "vector": (vector := _vector(rng, label)),
            "label": [int(vector[1] > 0), label],
        },
    ),
    "names": (
        {"vector": VECTOR},
        {"target": {"kind": "text"}},
        lambda rng, label: {"vector": _vector(rng, label), "target": [b"low", b"high"][label]},
    ),
}


@pytest.fixture(scope="session")
def directory_of(
    tmp_path_factory: pytest.TempPathFactory, write_dataset: Callable[..., Path]
) -> Callable[[str], Path]:
    """A function from a kind's name to its dataset: 40 records train, 13 test, a weight each."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            inputs, target, record = _KINDS[name]
            weight = {"weight": {"kind": "scalar", "dtype": "float32"}}
            features = [
                {"name": key, "key": key, **feature}
                for key, feature in {**inputs, **target, **weight}.items()
            ]
            rng = np.random.default_rng(7)
            records = [
                record(rng, number % 2) | {"weight": float(number % 3)} for number in range(53)
            ]
            made[name] = write_dataset(
                tmp_path_factory.mktemp("kinds") / "kind" / "1.0.0",
                features,
                {"train": records[:40], "test": records[40:]},
            )
        return made[name]

    return get


# Features in one word, for tables of schemas.
_DECLARED: Features = {
    "image": {"kind": "image"},
    "label": {"kind": "class_label", "classes": ["a", "b"]},
    "labels": {"kind": "class_label", "classes": ["a", "b"], "shape": [None]},
    "unknown-label": {"kind": "class_label"},
    "audio": {"kind": "audio", "sample_rate": 8000},
    "audio-of-any-rate": {"kind": "audio"},
    "ids": {"kind": "sequence", "dtype": "int64"},
    "series": {"kind": "sequence", "dtype": "float32", "shape": [None, 3]},
    "words": {"kind": "sequence", "dtype": "string"},
    "text": {"kind": "text"},
    "integer": {"kind": "scalar", "dtype": "int64"},
    "float": {"kind": "scalar", "dtype": "float32"},
    "name": {"kind": "scalar", "dtype": "string"},
    "vector": {"kind": "tensor", "dtype": "float32", "shape": [5]},
    "counts": {"kind": "tensor", "dtype": "int64", "shape": [5]},
    "grid": {"kind": "tensor", "dtype": "float32", "shape": [8, 8], "encoding": "bytes"},
    "boxes": {"kind": "boxes"},
    "map": {"kind": "map", "classes": ["a", "b"]},
    "map-without-classes": {"kind": "map"},
    "depth-map": {"kind": "map", "dtype": "uint16"},
    "blob": {"kind": "bytes"},
}


@pytest.fixture(scope="session")
def declare() -> Callable[[str], Mapping[str, Feature]]:
    """declare("image y=float") -> the features, whose kind is their name or stated in one word."""
    return lambda declared: features_from_json(
        {
            name: _DECLARED[word or name]
            for name, _, word in (each.partition("=") for each in declared.split())
        }
    )


@pytest.fixture
def choose(declare: Callable[[str], Mapping[str, Feature]]) -> Callable[..., tuple[Task, str]]:
    """choose("image y=float", target=, …) -> what `choose_task` returns."""
    return lambda declared, target=None, **options: choose_task(
        declare(declared), target, **options
    )
