"""Inputs and datasets shared by several modules."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import browser as browser
from browsing import opened as opened
from end_to_end.building import build
from PIL import ExifTags, Image

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.cli import commands
from beam_pipeline.dataset.shards import read_examples
from trainer import commands as trainer_main

VOC_OBJECT = """
  <object><name>{name}</name><difficult>{difficult}</difficult>
    <bndbox><xmin>{xmin}</xmin><ymin>{ymin}</ymin><xmax>{xmax}</xmax><ymax>{ymax}</ymax></bndbox>
  </object>"""
VOC_FILE = """<annotation><filename>{file}</filename>
  <size><width>{width}</width><height>{height}</height><depth>3</depth></size>{objects}
</annotation>"""


@pytest.fixture(scope="session")
def write_voc(write_image: Callable[..., Path]) -> Callable[..., None]:
    """Writes one image and its annotation; boxes are (name, xmin, ymin, xmax, ymax)."""

    def write(
        root: Path,
        stem: str,
        boxes: list[tuple[str, int, int, int, int]],
        size: tuple[int, int] = (40, 30),
        **image: Any,
    ) -> None:
        write_image(root / f"JPEGImages/{stem}.jpg", size=size, **image)
        objects = "".join(
            VOC_OBJECT.format(
                name=name, difficult=i % 2, xmin=xmin, ymin=ymin, xmax=xmax, ymax=ymax
            )
            for i, (name, xmin, ymin, xmax, ymax) in enumerate(boxes)
        )
        (root / "Annotations").mkdir(exist_ok=True)
        (root / f"Annotations/{stem}.xml").write_text(
            VOC_FILE.format(file=f"{stem}.jpg", width=size[0], height=size[1], objects=objects)
        )

    return write


@pytest.fixture(scope="session")
def voc_input(tmp_path_factory: pytest.TempPathFactory, write_voc: Callable[..., None]) -> Path:
    """20 annotated images: one is truncated, two are equal, one is rotated by 90 degrees."""
    root: Path = tmp_path_factory.mktemp("voc") / "cells"
    for number in range(20):
        box = ("red" if number % 3 else "white", 5, 6, 15 + number, 20)
        write_voc(root, f"{number:02d}", [box, ("red", 0, 0, 4, 4)][: number % 3], seed=number)
    write_voc(root, "05", [("red", 5, 6, 20, 20)], seed=4)
    write_voc(root, "06", [("red", 5, 6, 20, 60)], seed=6)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    write_voc(root, "07", [("red", 5, 6, 20, 20)], seed=7, exif=exif)
    image = root / "JPEGImages/09.jpg"
    image.write_bytes(image.read_bytes()[:-200])
    return root


@pytest.fixture(scope="session")
def labelled(
    tmp_path_factory: pytest.TempPathFactory, class_folders: Callable[..., Path]
) -> beam_pipeline.Dataset:
    """A dataset of 30 labelled images in two splits, for tests that only read it."""
    folder = tmp_path_factory.mktemp("labelled")
    class_folders(folder / "pets", each=15)
    splits = {"split": {"train": 0.7, "test": 0.3}, "num_shards": {"train": 3}}
    return build(folder / "pets", folder / "data", **splits)


@pytest.fixture(scope="session")
def boxed(tmp_path_factory: pytest.TempPathFactory, voc_input: Path) -> beam_pipeline.Dataset:
    """The dataset of `voc_input`, for tests that only read it."""
    output = tmp_path_factory.mktemp("boxed")
    return build(voc_input, output, num_shards=2, max_bad_fraction=0.5)


@pytest.fixture
def readers_agree(tmp_path: Path) -> Callable[..., None]:
    """readers_agree(info, split="train"): checks that all readers return the stored values.

    They are random access, the trainer and TFDS. Also runs `verify` and `show`.
    """

    def check(info: beam_pipeline.Dataset, split: str = "train") -> None:
        import tensorflow_datasets as tfds

        assert beam_pipeline.verify(info) == []
        stored = list(read_examples(info, split))
        limit = ["--split", split, "--limit", str(len(stored))]
        assert commands.main(["show", info.path, *limit, "--images", str(tmp_path / "shown")]) == 0
        images = {
            feature.key: feature.name for feature in info.schema if feature.kind in ("image", "map")
        }
        raw = {feature.key for feature in info.schema if feature.encoding == "bytes"}
        assert len([*(tmp_path / "shown").glob("*.jpg")]) == (len(stored) if images else 0)

        builder = tfds.builder_from_directory(info.path)
        assert builder.info.splits[split].num_examples == len(stored)
        order = {"split": split, "shuffle_files": False}
        theirs = tfds.as_numpy(builder.as_dataset(**order))
        ours = tfrecord_dataset.open(info.path)[split]
        trained = trainer.open(info.path).numpy(split, image_dtype="uint8")
        for example, by_tfds, by_us, tensors in zip(stored, theirs, ours, trained, strict=True):
            assert by_us.keys() == tensors.keys()
            for name, value in by_us.items():
                expected, found = np.asarray(value), np.asarray(tensors[name])
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                if b"jpeg" not in example.get(f"{name}/format", ()):  # decoders differ
                    np.testing.assert_array_equal(found, expected)
            assert by_tfds.keys() == example.keys()
            for key, value in by_tfds.items():
                if key in images:
                    expected = tensors[images[key]]
                    assert value.dtype == expected.dtype
                elif key in raw and isinstance(value, np.ndarray):  # TFDS has no raw uint32
                    expected = np.reshape(np.frombuffer(example[key][0], value.dtype), value.shape)
                else:
                    value, expected = np.ravel(value), np.ravel(example[key])
                np.testing.assert_array_equal(value, expected)

    return check


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python -m <module> …`; returns exit code, stdout and stderr."""

    def run(module: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            capture_output=True,
            text=True,
            **options,
        )

    return run


@pytest.fixture
def command_here() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the same command in this process, which saves the imports."""

    def run(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        main = commands.main if module == "beam_pipeline" else trainer_main.main
        words = [str(argument) for argument in arguments]
        with (
            contextlib.redirect_stdout(io.StringIO()) as stdout,
            contextlib.redirect_stderr(io.StringIO()) as stderr,
        ):
            code = main(words)
        return subprocess.CompletedProcess(words, code, stdout.getvalue(), stderr.getvalue())

    return run
