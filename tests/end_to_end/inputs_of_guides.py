"""The files that pages of docs/ name in their commands, made of what is in examples/data."""

import shutil
import sqlite3
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from end_to_end.inputs_of_pages import TREES, write_table
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers

import beam_pipeline
import trainer
from tfrecord_dataset.format import frames
from tfrecord_dataset.format.example import bytes_feature, int64_feature, serialize

EXAMPLES = Path(__file__).parents[2] / "examples"
_CELLS = EXAMPLES / "data/cells"


def _images() -> Iterator[tuple[str, Path]]:
    """(class, image) of ten cells of each of two classes, no two of one name."""
    for name, some in (("RBC", slice(10)), ("WBC", slice(-10, None))):
        for image in sorted((_CELLS / name).glob("*.jpg"))[some]:
            yield name, image


def _records(path: Path, **more: int) -> None:
    """A TFRecord file of images with numbers of classes, as others write them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, (_, image) in enumerate(_images()):
            features = {
                "image": bytes_feature(image.read_bytes()),
                "label": int64_feature(number % 2),
                **{name: int64_feature(number % count) for name, count in more.items()},
            }
            file.write(frames.framed(serialize(features)))


def _archives(root: Path) -> None:
    for folder in ("shards", "downloads/food101/data", "downloads/saved", "MNIST/raw"):
        (root / folder).mkdir(parents=True)
    with tarfile.open(root / "shards/train-00000.tar", "w") as tar:
        for number, (name, image) in enumerate(_images()):
            tar.add(image, f"{number:05d}.jpg")
            (root / "cls").write_text(name)
            tar.add(root / "cls", f"{number:05d}.cls")
    pixels = np.random.default_rng(0).integers(0, 256, (20, 28, 28), np.uint8)
    digits = np.arange(20, dtype=np.uint8) % 10
    np.savez(root / "mnist.npz", x_train=pixels, y_train=digits)
    for stem, data in (("images-idx3-ubyte", pixels), ("labels-idx1-ubyte", digits)):
        head = struct.pack(f">BBBB{data.ndim}I", 0, 0, 8, data.ndim, *data.shape)
        (root / f"MNIST/raw/train-{stem}").write_bytes(head + data.tobytes())
    rows: list[tuple[object, ...]] = [("image", "label")]
    with (
        zipfile.ZipFile(root / "downloads/flowers.zip", "w") as classes,
        zipfile.ZipFile(root / "flowers.zip", "w") as inner,
        zipfile.ZipFile(root / "train_images.zip", "w") as images,
    ):
        for name, image in _images():
            classes.write(image, f"{name}/{image.name}")
            inner.write(image, f"meta/{image.name}")
            images.write(image, image.name)
            rows.append((image.name, name))
        write_table(root / "train.csv", rows)
        inner.write(root / "train.csv", "meta/labels.csv")
    columns = [{"image": image.read_bytes(), "label": name} for name, image in _images()]
    table = pa.Table.from_pylist(columns)
    pq.write_table(table, root / "downloads/food101/data/train-00000-of-00001.parquet")
    saved = str(root / "downloads/saved/data-00000-of-00001.arrow")
    with pa.OSFile(saved, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    _write(root, "photos.yaml", "input: photos.db", "table: photos")
    with sqlite3.connect(root / "photos.db") as database:
        database.execute("create table photos (image blob, label text)")
        database.execute("create table notes (text text)")
        database.executemany(
            "insert into photos values (?, ?)", [tuple(row.values()) for row in columns]
        )
    database.close()


def _texts(root: Path) -> None:
    _write(root, "rows.yaml", "input: rows.csv", "tokenizer: words.json")
    words = ["good", "bad", "film"]
    rows = [("text", "label"), *((f"a {word} film", word) for word in words * 4)]
    write_table(root / "rows.csv", rows)
    numbers = {word: number for number, word in enumerate(("a", "?", *words))}
    tokenizer = Tokenizer(models.WordLevel(numbers, "?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(root / "words.json"))


def _rows_of_images(root: Path) -> None:
    rows: list[tuple[object, ...]] = [("image", "label")]
    for name, image in _images():
        shutil.copy(image, root / image.name)
        rows.append((image.name, name))
    write_table(root / "rows.csv", rows)


def _layouts(root: Path) -> None:
    _rows_of_images(root)
    (root / "recordings").symlink_to(EXAMPLES / "data/digits")
    drive = "2011_09_26_drive_0001_sync"
    for name in (
        *(f"Dataset_BUSI_with_GT/benign/benign (1)_{name}.png" for name in ("mask", "mask_1")),
        *(f"stage1_train/a/{name}.png" for name in ("images/a", "masks/b")),
        f"data_depth_annotated/train/{drive}/proj_depth/groundtruth/image_02/0000000005.png",
        f"raw/2011_09_26/{drive}/image_02/data/0000000005.png",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 255).save(path)


def _write(root: Path, name: str, *lines: str) -> None:
    (root / name).write_text("".join(f"{line}\n" for line in lines))


def _answers(root: Path) -> None:
    (root / "photos").mkdir()
    lines = ["id;year;smooth;features;artifact"]
    for number in range(6):
        Image.new("RGB", (8, 8), (40 * number, 0, 0)).save(root / f"photos/{number}.jpg")
        is_class = [str(int(number % 3 == each)) for each in range(3)]
        lines.append(f"{number};{2023 + number % 2};{';'.join(is_class)}")
    _write(root, "answers.csv", *lines)
    _write(root, "images.txt", "1 001.cat/a.jpg", "2 002.dog/b.jpg")
    _write(root, "image_class_labels.txt", "1 1", "2 2")
    _write(root, "train_test_split.txt", "1 1", "2 0")


def _data_checks(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/blood").symlink_to(root / "demo/data/blood")
    _records(root / "downloads/a.tfrecord")
    for version in ("1.0.0", "1.1.0"):
        TREES["class-folders"](root)
        config = {"input": str(root / "cells"), "name": "pets", "version": version}
        beam_pipeline.build(beam_pipeline.BuildConfig(output=str(root / "data"), **config))
        next((root / "cells/RBC").iterdir()).unlink()


def _detection(root: Path) -> None:
    (root / "bccd").mkdir()
    (root / "bccd/BCCD").symlink_to(EXAMPLES / "data/blood")


def _splits(root: Path) -> None:
    _rows_of_images(root)
    (root / "lists").mkdir()
    names = []
    for name, image in _images():
        (root / "photos" / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(image, root / "photos" / name)
        names.append(f"{name}/{image.name}\n")
    (root / "lists/val.txt").write_text("".join(names[::5]))
    (root / "lists/fold_3.txt").write_text("".join(names[1::5]))


def _tfrecords(root: Path) -> None:
    (root / "data").mkdir()
    shutil.copytree(root / "demo/data/cells", root / "data/cells")
    _records(root / "downloads/cells/a.tfrecord")


def _training(root: Path) -> None:
    _records(root / "mine/data_0.tfrecord", speaker_id=3)
    TREES["text"](root)
    beam_pipeline.build(
        beam_pipeline.BuildConfig(input=str(root / "reviews"), output=str(root / "texts"))
    )
    trainer.train(root / "texts/reviews", root / "runs/reviews", epochs=1, quiet=True)


# Makes the files of a page, by its name, in a folder that has examples/ and what `make demo` made.
INPUTS: dict[str, Callable[[Path], None]] = {
    "accuracy": lambda root: None,
    "archives-and-arrays": _archives,
    "audio-text-arrays": _texts,
    "building": lambda root: _records(root / "downloads/tfrecords/a.tfrecord"),
    "convert": _answers,
    "data-checks": _data_checks,
    "detection": _detection,
    "format": lambda root: None,
    "input": lambda root: None,
    "layouts": _layouts,
    "object-stores": TREES["class-folders"],
    "order": lambda root: None,
    "reading": lambda root: None,
    "recipe": lambda root: None,
    "report-of-a-run": lambda root: None,
    "segmentation": lambda root: None,
    "splits-and-shards": _splits,
    "tfrecords": _tfrecords,
    "training": _training,
}
