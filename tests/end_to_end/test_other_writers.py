"""Files that other projects write become datasets with the same values."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from end_to_end.building import build
from file_bytes import image_bytes
from PIL import Image
from tiers import first_in_ci

import tfrecord_dataset

pytestmark = pytest.mark.readers
BLOOD = Path(__file__).parents[2] / "examples/data/blood"


CLASSES = ["zebra", "ant"]


def as_parquet(dataset, folder):
    (folder / "data").mkdir(parents=True)
    dataset.to_parquet(folder / "data/train-00000-of-00001.parquet", batch_size=4)


def to_disk(dataset, folder):
    import datasets

    datasets.DatasetDict({"train": dataset}).save_to_disk(folder)


def png(seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)
    return {"bytes": image_bytes(pixels), "path": f"{seed}.png"}


@pytest.mark.parametrize("save", first_in_ci([as_parquet, to_disk]))
def test_values_are_those_that_were_saved(tmp_path, monkeypatch, save):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    import datasets as hub

    features = {
        "image": hub.Image(),
        "label": hub.ClassLabel(names=CLASSES),
        "objects": hub.Sequence(
            {
                "bbox": hub.Sequence(hub.Value("float32"), length=4),
                "category": hub.ClassLabel(names=CLASSES),
            }
        ),
        "matrix": hub.Array2D((2, 3), "float32"),
        "ids": hub.Sequence(hub.Value("int64")),
        "text": hub.Value("string"),
        "score": hub.Value("float32"),
    }
    boxes = [[1.0, 2.0, 8.0, 4.0], [0.0, 0.0, 16.0, 12.0]]
    columns = {
        "image": [png(n) for n in range(10)],
        "label": [n % 2 for n in range(10)],
        "objects": [{"bbox": boxes[: n % 3], "category": [1, 0][: n % 3]} for n in range(10)],
        "matrix": [np.full((2, 3), n) for n in range(10)],
        "ids": [[n] * 3 for n in range(10)],
        "text": [f"text {n}" for n in range(10)],
        "score": [n / 4 for n in range(10)],
    }
    save(hub.Dataset.from_dict(columns, hub.Features(features)), tmp_path / "input")

    dataset = tfrecord_dataset.open(build(tmp_path / "input", tmp_path / "data", name="t").path)

    assert dataset.splits.keys() == {"train"}
    assert dataset.features["label"].classes == dataset.features["boxes"].classes == tuple(CLASSES)
    seen = set()
    for record in dataset["train"]:
        n = int(record["ids"][0])
        seen.add(n)
        pixels = np.asarray(Image.open(io.BytesIO(columns["image"][n]["bytes"])))
        np.testing.assert_array_equal(record["image"], pixels)
        assert int(record["label"]) == n % 2
        expected = [[1 / 16, 2 / 12, 9 / 16, 6 / 12], [0, 0, 1, 1]][: n % 3]
        np.testing.assert_allclose(record["boxes"], np.reshape(expected, (-1, 4)), atol=1e-6)
        assert record["box_labels"].tolist() == [1, 0][: n % 3]
        assert record["matrix"].shape == (2, 3)
        assert set(record["matrix"].ravel().tolist()) == {n}
        assert (record["text"].decode(), float(record["score"])) == (f"text {n}", n / 4)
    assert seen == {*range(10)}


@pytest.fixture(scope="module")
def known():
    """Annotations of 60 smears as globox reads them."""
    globox = pytest.importorskip("globox")
    return globox.AnnotationSet.from_pascal_voc(BLOOD, recursive=True)


def write_yolo(known, folder):
    names = sorted({box.label for each in known for box in each.boxes})
    known.save_yolo_v5(
        folder / "labels", label_to_id={name: number for number, name in enumerate(names)}
    )
    (folder / "data.yaml").write_text(f"train: images\nnames: [{', '.join(names)}]\n")


WRITERS = {
    "voc": lambda known, folder: known.save_pascal_voc(folder / "annotations"),
    "coco": lambda known, folder: known.save_coco(folder / "annotations.json", auto_ids=True),
    "yolo": write_yolo,
    "labelme": lambda known, folder: known.save_labelme(folder / "images"),
    "cvat": lambda known, folder: known.save_cvat(folder / "annotations.xml"),
    "via": lambda known, folder: known.save_via_json(
        folder / "via.json", image_folder=folder / "images"
    ),
    "open images": lambda known, folder: known.save_openimage(folder / "boxes.csv"),
}


@pytest.mark.parametrize("form", first_in_ci(["as they are", *WRITERS], 3))
def test_boxes_are_those_that_globox_knows(known, tmp_path, form):
    source = BLOOD
    if form in WRITERS:
        source = tmp_path / "input"
        (source / "images").mkdir(parents=True)
        for image in BLOOD.rglob("*.jpg"):
            shutil.copy(image, source / "images")
        WRITERS[form](known, source)

    dataset = tfrecord_dataset.open(build(source, tmp_path / "data").path)

    classes = dataset.features["boxes"].classes
    found = [
        sorted(
            (classes[label], *(round(float(side), 1) for side in box * [640, 480, 640, 480]))
            for box, label in zip(record["boxes"], record["box_labels"], strict=True)
        )
        for split in dataset.splits
        for record in dataset[split]
    ]
    expected = [
        sorted((box.label, box.xmin, box.ymin, box.xmax, box.ymax) for box in each.boxes)
        for each in known
    ]
    assert sorted(found) == sorted(expected)
    assert sum(map(len, found)) == 1103
