"""Makes the trees that pages of docs/ show or use in commands, from examples/data."""

import contextlib
import csv
import json
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from end_to_end.building import build
from PIL import Image

import trainer
from tfrecord_dataset.format import frames
from tfrecord_dataset.format.example import encode

EXAMPLES = Path(__file__).parents[2] / "examples"
_DATA = EXAMPLES / "data"
_CLASSES = ["Platelets", "RBC", "WBC"]
_SPLITS = ("train", "val")


def _cells(count: int = 10) -> Iterator[tuple[str, Path]]:
    """Yield (class, image) of `count` cells of each class, in turn."""
    images = (sorted((_DATA / "cells" / name).glob("*.jpg"))[:count] for name in _CLASSES)
    for several in zip(*images, strict=True):
        yield from zip(_CLASSES, several, strict=True)


def _smears() -> Iterator[tuple[str, Path, list[tuple[str, list[int]]]]]:
    """Yield (split, image, classes and corners) of four blood smears per split."""
    for split in _SPLITS:
        names = (_DATA / f"blood/ImageSets/Main/{split}.txt").read_text().split()[:4]
        for name in names:
            objects = ElementTree.parse(_DATA / f"blood/Annotations/{name}.xml").iter("object")
            sides = ("xmin", "ymin", "xmax", "ymax")
            boxes = [
                (each.findtext("name"), [int(each.findtext(f"bndbox/{side}")) for side in sides])
                for each in objects
            ]
            yield split, _DATA / f"blood/JPEGImages/{name}.jpg", boxes


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _class_folders(root: Path) -> None:
    for name, image in _cells():
        _copy(image, root / "cells" / name / image.name)


def _coco(root: Path) -> None:
    content: dict[str, dict[str, list[dict[str, object]]]] = {
        split: {"images": [], "annotations": [], "categories": []} for split in _SPLITS
    }
    for split, image, boxes in _smears():
        images, annotations, categories = content[split].values()
        categories[:] = [{"id": n, "name": name} for n, name in enumerate(_CLASSES, start=1)]
        _copy(image, root / "smears" / split / image.name)
        images.append({"id": len(images), "file_name": image.name})
        for name, (left, top, right, bottom) in boxes:
            annotation = {"id": len(annotations), "image_id": len(images) - 1}
            annotation["category_id"] = _CLASSES.index(name) + 1
            annotation["bbox"] = [left, top, right - left, bottom - top]
            annotations.append(annotation)
    (root / "smears/annotations").mkdir()
    for split, parts in content.items():
        (root / f"smears/annotations/instances_{split}.json").write_text(json.dumps(parts))


def _yolo(root: Path) -> None:
    for split, image, boxes in _smears():
        _copy(image, root / "smears/images" / split / image.name)
        with Image.open(image) as opened:
            width, height = opened.size
        labels = root / "smears/labels" / split / f"{image.stem}.txt"
        labels.parent.mkdir(parents=True, exist_ok=True)
        with labels.open("w") as file:
            for name, (left, top, right, bottom) in boxes:
                middle = f"{(left + right) / 2 / width} {(top + bottom) / 2 / height}"
                size = f"{(right - left) / width} {(bottom - top) / height}"
                file.write(f"{_CLASSES.index(name)} {middle} {size}\n")
    lines = [f"{split}: images/{split}" for split in _SPLITS]
    (root / "smears/data.yaml").write_text("\n".join([*lines, f"names: {_CLASSES}\n"]))


def _label_me(root: Path) -> None:
    for _, image, boxes in _smears():
        _copy(image, root / "smears" / image.name)
        shapes = [
            {"label": name, "points": [box[:2], box[2:]], "shape_type": "rectangle"}
            for name, box in boxes
        ]
        said = {"shapes": shapes, "imagePath": image.name}
        (root / "smears" / f"{image.stem}.json").write_text(json.dumps(said))


def write_table(path: Path, rows: list[tuple[object, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def _kaggle_table(root: Path) -> None:
    rows: list[tuple[object, ...]] = [("id", "breed")]
    wanted: list[tuple[object, ...]] = [("id", "breed")]
    for number, (name, image) in enumerate(_cells(15)):
        folder, table = ("train", rows) if number < 30 else ("test", wanted)
        _copy(image, root / f"dogs/{folder}/{number:04x}.jpg")
        table.append((f"{number:04x}", name if table is rows else _CLASSES[0]))
    write_table(root / "dogs/train.csv", rows)
    write_table(root / "dogs/test.csv", [row[:1] for row in wanted])
    write_table(root / "dogs/sample_submission.csv", wanted)


def _colours(root: Path) -> None:
    rows: list[tuple[object, ...]] = [("red", "green", "blue", "label")]
    for name, image in _cells():
        with Image.open(image) as opened:
            rows.append((*np.asarray(opened).mean((0, 1)).round(2), name))
    write_table(root / "colours.csv", rows)


def _parquet(root: Path) -> None:
    names = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": _CLASSES}}
    metadata = {b"huggingface": json.dumps({"info": {"features": names}}).encode()}
    rows = [
        {
            "image": {"bytes": image.read_bytes(), "path": image.name},
            "label": _CLASSES.index(name),
        }
        for name, image in _cells()
    ]
    (root / "cells/data").mkdir(parents=True)
    for split, some in (("train", rows[:24]), ("test", rows[24:])):
        table = pa.Table.from_pylist(some).replace_schema_metadata(metadata)
        pq.write_table(table, root / f"cells/data/{split}-00000-of-00001.parquet")


def _reviews_table(root: Path) -> None:
    words = {"pos": ("good", "fine", "great"), "neg": ("bad", "dull", "poor")}
    rows: list[tuple[object, ...]] = [("text", "label")]
    for number in range(40):
        name = ("pos", "neg")[number % 2]
        rows.append((f"A {words[name][number % 3]} film, seen {number} times.", name))
    write_table(root / "reviews.csv", rows)


def _reviews(root: Path) -> None:
    words = {"pos": ("good", "fine", "great"), "neg": ("bad", "dull", "poor")}
    for split in ("train", "test"):
        for number in range(20):
            name = ("pos", "neg")[number % 2]
            file = root / f"reviews/{split}/{name}/{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"A {words[name][number % 3]} film, seen {split} {number} times.")


def _zip(root: Path) -> None:
    with zipfile.ZipFile(root / "cells.zip", "w") as archive:
        for name, image in _cells():
            archive.write(image, f"{name}/{image.name}")


def _masks(root: Path) -> None:
    words = [sys.executable, str(_DATA.parent / "blood_maps.py"), str(_DATA / "blood")]
    subprocess.run([*words, str(root / "blood_maps")], check=True)


def _arrays(root: Path) -> None:
    names, images = zip(*_cells(), strict=True)
    pixels = np.stack([np.asarray(Image.open(image).convert("RGB")) for image in images])
    labels = np.array([_CLASSES.index(name) for name in names])
    parts = {"train": slice(24), "test": slice(24, None)}
    arrays = {f"x_{split}": pixels[part] for split, part in parts.items()}
    arrays |= {f"y_{split}": labels[part] for split, part in parts.items()}
    np.savez(root / "cells.npz", **arrays)


def _tfrecords(root: Path) -> None:
    _write_records(root / "downloads/cells.tfrecord", _cells())


def _write_records(path: Path, images: Iterator[tuple[str, Path]], **more: int) -> None:
    """Write a TFRecord file of images with class numbers, as other projects do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, (name, image) in enumerate(images):
            features = {
                "image": [image.read_bytes()],
                "label": [_CLASSES.index(name)],
                **{name: [number % count] for name, count in more.items()},
            }
            file.write(frames.framed(encode(features)))


def _answers(root: Path) -> None:
    (root / "photos").mkdir()
    lines = ["id;year;smooth;features;artifact"]
    for number, (_, image) in enumerate(_cells(2)):
        _copy(image, root / f"photos/{number}.jpg")
        is_class = [str(int(number % 3 == each)) for each in range(3)]
        lines.append(f"{number};{2023 + number // 3};{';'.join(is_class)}")
    (root / "answers.csv").write_text("".join(f"{line}\n" for line in lines))
    with contextlib.closing(sqlite3.connect(root / "photos.db")) as database, database:
        database.execute("CREATE TABLE photos (image BLOB, label TEXT)")
        rows = [(image.read_bytes(), name) for name, image in _cells(2)]
        database.executemany("INSERT INTO photos VALUES (?, ?)", rows)


def _link(name: str, target: Path) -> Callable[[Path], None]:
    """Return a function that links a name in a folder to a target."""
    return lambda root: (root / name).symlink_to(target)


# Functions that write a page's tree below a folder, by page name.
TREES: dict[str, Callable[[Path], None]] = {
    "class-folders": _class_folders,
    "coco": _coco,
    "voc": _link("blood", _DATA / "blood"),
    "yolo": _yolo,
    "annotation-programs": _label_me,
    "kaggle-table": _kaggle_table,
    "tables": _colours,
    "parquet": _parquet,
    "audio": _link("digits", _DATA / "digits"),
    "text": _reviews,
    "text-table": _reviews_table,
    "archives": _zip,
    "masks": _masks,
    "arrays": _arrays,
    "tfrecords": _tfrecords,
    "convert": _answers,
    "index": _link("examples", EXAMPLES),
}


def _data_checks(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/blood").symlink_to(root / "demo/data/blood")
    _write_records(root / "downloads/a.tfrecord", _cells())
    for version in ("1.0.0", "1.1.0"):
        _class_folders(root)
        build(root / "cells", root / "data", name="pets", version=version)
        next((root / "cells/RBC").iterdir()).unlink()


def _training(root: Path) -> None:
    _write_records(root / "mine/data_0.tfrecord", _cells(), speaker_id=3)
    _reviews(root)
    build(root / "reviews", root / "texts")
    trainer.train(root / "texts/reviews", root / "runs/reviews", epochs=1, quiet=True)


# Guides whose commands need no more than examples/ and the output of `make demo`.
_OF_DEMO = (
    *("building", "compare-runs", "detection", "input", "predicting", "rare-classes"),
    *("reading", "recipe", "segmentation", "table-tutorial", "training", "tutorial"),
)
# Functions that make a guide's files in a folder with examples/ and the output of `make demo`.
INPUTS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(_OF_DEMO, lambda root: None),
    "data-checks": _data_checks,
    "object-stores": _class_folders,
    "training-reference": _training,
}
