"""A small dataset for each kind of learning, with targets that follow from the inputs."""

import functools
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from made_once import made_once

import trainer
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature
from trainer.options.train_options import TrainConfig
from trainer.tasks import Task, choose_task
from trainer.tasks.reading import with_statistics
from trainer.tasks.table_columns import sample_columns

Declared = dict[str, Any]
Record = dict[str, Any]


def training(**options: Any) -> TrainConfig:
    """Make options of a training with paths that do not exist."""
    return TrainConfig(data="", output="", **options)


def _image(rng: np.random.Generator, label: int) -> bytes:
    pixels = np.clip(rng.normal(80 + 100 * label, 30, (12, 12, 3)), 0, 255)
    return bytes(tf.io.encode_png(pixels.astype(np.uint8)).numpy())


def _map(rng: np.random.Generator, label: int) -> Record:
    """Make an image of a square of its class on noise, and the class of each pixel."""
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


def _boxes(rng: np.random.Generator, label: int) -> Record:
    """Make an image of one of several sizes, with up to three boxes."""
    height, width = rng.integers(30, 40, 2)
    count = rng.integers(0, 4)
    least = rng.uniform(0, 0.5, (2, count))
    most = least + rng.uniform(0.2, 0.5, (2, count))
    sides = dict(zip(("xmin", "ymin", "xmax", "ymax"), [*least, *most], strict=True))
    return {
        "image": bytes(
            tf.io.encode_png(rng.integers(0, 256, (height, width, 3), np.uint8)).numpy()
        ),
        **{f"boxes/bbox/{side}": values.tolist() for side, values in sides.items()},
        "boxes/class/label": [1 + (label + place) % 2 for place in range(count)],
    }


def _wav(rng: np.random.Generator, label: int) -> bytes:
    time_s = np.arange(rng.integers(900, 2400)) / 8000
    tone = 0.4 * np.sin(2 * np.pi * (300 + 900 * label) * time_s) + rng.normal(0, 0.02, len(time_s))
    return bytes(tf.audio.encode_wav(tone[:, None].astype(np.float32), 8000).numpy())


def _vector(rng: np.random.Generator, label: int) -> list[float]:
    return rng.normal([1000 + 5 * label, 0, 2], [3, 1, 0.01]).tolist()


def _ids(rng: np.random.Generator, label: int) -> list[int]:
    return [3 + 8 * label, *rng.integers(0, 6 + 6 * label, rng.integers(0, 9)).tolist()]


def _caption(rng: np.random.Generator, label: int) -> bytes:
    words = rng.choice(["A", "tree,", "house", "of", "it"], rng.integers(1, 7)).tolist()
    return " ".join([*words, ("cellar", "tower")[label]]).encode()


def _scalar(dtype: str) -> Declared:
    return {"kind": "scalar", "dtype": dtype}


def _sequence(dtype: str) -> Declared:
    return {"kind": "sequence", "dtype": dtype}


LABEL = {"kind": "class_label", "classes": ["low", "high"]}
VECTOR = {"kind": "tensor", "dtype": "float32", "shape": [3]}
SQUARE = {"kind": "tensor", "dtype": "float32", "shape": [8, 9], "encoding": "bytes"}
# Features, and functions from (rng, label, the record so far) to a value, or several by name.
_COLUMNS: dict[str, tuple[Declared, Callable[[np.random.Generator, int, Record], Any]]] = {
    "image": ({"kind": "image", "shape": [12, 12, 3]}, lambda rng, label, _: _image(rng, label)),
    "metadata": (VECTOR, lambda rng, label, _: _vector(rng, label)),
    "vector": (VECTOR, lambda rng, label, _: _vector(rng, label)),
    "label": (LABEL, lambda rng, label, _: label),
    "y": (_scalar("int64"), lambda rng, label, _: label),
    "square": ({"kind": "image", "name": "image"}, lambda rng, label, _: _map(rng, label)),
    "photograph": ({"kind": "image", "name": "image"}, lambda rng, label, _: _boxes(rng, label)),
    "boxes": (
        {"kind": "boxes", "classes": ["cat", "dog"], "label_offset": 1},
        lambda rng, label, _: {},
    ),
    "segmentation": (
        {"kind": "map", "classes": ["background", "red", "blue"]},
        lambda rng, label, record: record["segmentation"],
    ),
    "ids": ({**_sequence("int64"), "name": "sequence"}, lambda rng, label, _: _ids(rng, label)),
    "series": (
        {**_sequence("float32"), "name": "sequence"},
        lambda rng, label, _: rng.normal(20 + 4 * label, 2, rng.integers(1, 12)).tolist(),
    ),
    "tags": (
        {**_sequence("string"), "name": "sequence"},
        lambda rng, label, _: _caption(rng, label).split(),
    ),
    "caption": ({"kind": "text"}, lambda rng, label, _: _caption(rng, label)),
    "audio": ({"kind": "audio", "sample_rate": 8000}, lambda rng, label, _: _wav(rng, label)),
    "age": (_scalar("int64"), lambda rng, label, _: int(rng.integers(20, 80))),
    "code": (_scalar("int64"), lambda rng, label, _: int(rng.integers(10**6, 10**7))),
    "zero": (_scalar("float32"), lambda rng, label, _: 0.0),
    "income/year": (
        _scalar("float32"),
        lambda rng, label, _: float(rng.normal(30_000 + 5_000 * label, 2_000)),
    ),
    "x": (SQUARE, lambda rng, label, _: rng.normal(label, 1, (8, 9)).astype("<f4").tobytes()),
    "kind": ({"kind": "class_label", "classes": ["a", "b"]}, lambda rng, label, _: label),
    "price": (_scalar("float32"), lambda rng, label, record: 50_000 + 100 * record["vector"][0]),
    "two": (
        {"kind": "tensor", "dtype": "float32", "shape": [2], "name": "y"},
        lambda rng, label, record: [record["vector"][0] / 1000, 500 * record["vector"][1]],
    ),
    "several": (
        {**LABEL, "shape": [None], "classes": ["far", "high", "never"], "name": "label"},
        lambda rng, label, record: [0] * (record["vector"][1] > 0) + [1] * label,
    ),
    "hot": (
        {"kind": "tensor", "dtype": "int64", "shape": [2], "name": "label"},
        lambda rng, label, record: [int(record["vector"][1] > 0), label],
    ),
    "target": ({"kind": "text"}, lambda rng, label, _: [b"low", b"high"][label]),
    "weight": (_scalar("float32"), lambda rng, label, record: float(record["number"] % 3)),
}
_KINDS = {
    "image_metadata": "image metadata label",
    "segmentation": "square segmentation",
    "boxes": "photograph boxes",
    "sequence": "ids label",
    "series": "series label",
    "tags": "tags label",
    "text": "caption label",
    "audio": "audio label",
    "table": "age code zero income/year vector y",
    "array": "x label",
    "regression": "vector kind price",
    "two numbers": "vector two",
    "several labels": "vector several",
    "multi hot": "vector hot",
    "names": "vector target",
}


KINDS = tuple(_KINDS)


def learned(dataset: trainer.Dataset, **options: Any) -> Task:
    """Return the task of a dataset of `directory_of`, with its statistics."""
    target = "price" if "price" in dataset.features else None
    task, _ = choose_task(dataset.features, training(target=target, **options))
    return with_statistics(task, dataset, "train", lambda line: None)


def _stored(feature: Declared, record: Record) -> list[tuple[str, Any]]:
    """Return the lists of a feature by key."""
    key, name = feature["key"], feature["name"]
    if name in record:
        return [(key, record[name])]
    return [(each, value) for each, value in record.items() if each.startswith(f"{key}/")]


@pytest.fixture(scope="session")
def directory_of(
    tmp_path_factory: pytest.TempPathFactory, write_dataset: Callable[..., Path]
) -> Callable[[str], Path]:
    """A function from a kind's name to its dataset: 40 train and 13 test records with weights."""
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            columns = [*_KINDS[name].split(), "weight"]
            features = [
                {"name": column, **feature}
                for column in columns
                for feature, _ in [_COLUMNS[column]]
            ]
            features = [{"key": each["name"], **each} for each in features]
            rng, records = np.random.default_rng(7), []
            for number in range(53):
                record: Record = {"number": number}
                for column, feature in zip(columns, features, strict=True):
                    value = _COLUMNS[column][1](rng, number % 2, record)
                    record |= value if isinstance(value, dict) else {feature["name"]: value}
                records.append(dict(pair for each in features for pair in _stored(each, record)))
            made[name] = write_dataset(
                tmp_path_factory.mktemp("kinds") / "kind" / "1.0.0",
                features,
                {"train": records[:40], "test": records[40:]},
            )
        return made[name]

    return get


# Options of runs by kind, if not the defaults.
_TRAINED: dict[str, dict[str, Any]] = {
    "table": {"inputs": ["age", "zero"]},
    "regression": {"target": "price"},
}


@pytest.fixture(scope="session")
def run_of(
    directory_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """A function from a kind's name to a run of one epoch on it; tests only read it."""

    def get(name: str) -> Path:
        options = {"epochs": 1, "batch_size": 8, "devices": "cpu", "quiet": True, "seed": 1}
        options |= _TRAINED.get(name, {})

        def fill(folder: Path) -> None:
            trainer.train(directory_of(name), folder / "run", **options)

        return made_once(tmp_path_factory, f"run-{name}", fill) / "run"

    return get


# One-word features for tables of schemas.
_DECLARED: dict[str, Declared] = {
    "image": {"kind": "image"},
    "label": {"kind": "class_label", "classes": ["a", "b"]},
    "labels": {"kind": "class_label", "classes": ["a", "b"], "shape": [None]},
    "unknown-label": {"kind": "class_label"},
    "audio": {"kind": "audio", "sample_rate": 8000},
    "audio-of-any-rate": {"kind": "audio"},
    "slow-audio": {"kind": "audio", "sample_rate": 20},
    "ids": {"kind": "sequence", "dtype": "int64"},
    "series": {"kind": "sequence", "dtype": "float32", "shape": [None, 3]},
    "words": {"kind": "sequence", "dtype": "string"},
    "text": {"kind": "text"},
    "integer": {"kind": "scalar", "dtype": "int64"},
    "float": {"kind": "scalar", "dtype": "float32"},
    "name": {"kind": "scalar", "dtype": "string"},
    "vector": {"kind": "tensor", "dtype": "float32", "shape": [5]},
    "nothing": {"kind": "tensor", "dtype": "int64", "shape": [0]},
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
    """declare("image y=float") -> the features, whose kind is their name or the word after =."""
    return lambda declared: features_from_json(
        {
            name: _DECLARED[word or name]
            for name, _, word in (each.partition("=") for each in declared.split())
        }
    )


@pytest.fixture
def choose(declare: Callable[[str], Mapping[str, Feature]]) -> Callable[..., tuple[Task, str]]:
    """choose("image y=float", target=, …) -> the result of `choose_task`."""
    return lambda declared, **options: choose_task(declare(declared), training(**options))


def table_of(columns, **num_records):
    """Return the features and the records by split of columns, {name: (feature, values)}."""
    features = [{"name": name, "key": name, **each} for name, (each, _) in columns.items()]
    rows = zip(*(values for _, values in columns.values()), strict=True)
    records = iter([dict(zip(columns, row, strict=True)) for row in rows])
    splits = {name: [*itertools.islice(records, count)] for name, count in num_records.items()}
    assert not [*records], "all records have a split"
    return features, splits


def task_of_table(dataset, **options):
    """Return the task of a table with its statistics, and the function that samples columns."""
    columns = functools.partial(sample_columns, dataset, "train")
    task, _ = choose_task(dataset.features, training(**options), columns)
    return with_statistics(task, dataset, "train", lambda line: None), columns
