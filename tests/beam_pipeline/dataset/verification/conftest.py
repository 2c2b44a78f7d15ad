"""Datasets for damage, and the problems that verify reports."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest
import soundfile

import beam_pipeline
from beam_pipeline import pipeline
from beam_pipeline.errors import ConfigError, DatasetDamagedError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
    RawFile,
    Record,
    Rejected,
)

NUM_RECORDS = 12


def records(folder: Path, write_image: Callable[..., Path], seed: int) -> list[Any]:
    """Records with a feature of every kind, in two splits, and some rejects."""
    rng = np.random.default_rng(seed)
    elements: list[Any] = []
    for number in range(NUM_RECORDS):
        image = write_image(folder / f"{number}.png", seed=100 * seed + number)
        sound = folder / f"{number}.wav"
        soundfile.write(sound, rng.uniform(-1, 1, (20 + number, 1)), 8000)
        raw = folder / f"{number}.bin"
        raw.write_bytes(rng.bytes(30))
        box = (1.0, 1.0, 5.0 + number % 3, 6.0)
        features = {
            "image": Image(file=FileRef(path=str(image))),
            "boxes": Objects(boxes=(box,) * (number % 3), labels=("red", "white")[: number % 3]),
            "label": ClassLabel("ant" if number % 2 else "bee"),
            "topics": ClassLabels(("x", "y")[: number % 3]),
            "audio": Audio(file=FileRef(path=str(sound))),
            "raw": RawFile(file=FileRef(path=str(raw))),
            "age": int(rng.integers(90)),
            "weight": math.nan if number == 7 else float(rng.normal()),
            "note": "" if number == 3 else f"note {rng.integers(99)}",
            "point": Array(dtype="float32", shape=(3,), data=rng.bytes(8) + bytes(4)),
            "walk": Array(dtype="int64", shape=(number % 4,), data=bytes(8 * (number % 4))),
            "grid": Array(dtype="uint16", shape=(20, 30), data=rng.bytes(1200)),
            "rows": Array(dtype="float32", shape=(number % 2, 4), data=bytes(16 * (number % 2))),
        }
        if number == 5:
            del features["note"], features["label"]
        split = "test" if number % 4 == 0 else "train"
        elements.append(Record(key=f"{number:02d}.png", features=features, split=split))
    elements += [
        Rejected(source=f"{number}.txt", reason="not an image", detail="text", bad=False)
        for number in range(3)
    ]
    return elements


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory, write_image: Callable[..., Path]) -> Any:
    """make(seed=0, name="zoo", **options) -> directory of a new dataset with every kind."""

    def run(seed: int = 0, name: str = "zoo", **options: Any) -> Path:
        folder = tmp_path_factory.mktemp("made")
        config = beam_pipeline.BuildConfig(
            output=str(folder), name=name, num_shards={"train": 2}, **options
        )
        source = beam.Create(records(folder / "input", write_image, seed))
        return Path(pipeline.build(config, source=source).path)

    return run


@pytest.fixture(scope="session")
def whole(make: Any) -> Path:
    """A dataset that tests do not change."""
    return make()


@pytest.fixture(scope="session")
def compressed(make: Any) -> Path:
    """The same dataset in gzip shards."""
    return make(compression="gzip")


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture(scope="session")
def other(make: Any) -> Path:
    """A dataset with the same schema and other data."""
    return make(seed=1)


@pytest.fixture(scope="session")
def found() -> Callable[[Path | str], list[str]]:
    """found(dataset) -> its problems, one per line, including errors when opening it."""

    def said(directory: Path | str) -> list[str]:
        try:
            return beam_pipeline.verify(beam_pipeline.open(str(directory)))
        except (ConfigError, DatasetDamagedError) as error:
            return [str(error)]

    return said


@pytest.fixture(scope="session")
def files() -> Callable[[Path], list[str]]:
    """files(dataset) -> sorted paths of all its files."""

    def below(directory: Path) -> list[str]:
        return sorted(
            str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()
        )

    return below
