"""Boxes in eight formats, read and written by globox, an independent project."""

import shutil
from pathlib import Path

import pytest
from end_to_end.building import build

import tfrecord_dataset

pytestmark = pytest.mark.readers

BLOOD = Path(__file__).parents[2] / "examples/data/blood"


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


@pytest.mark.parametrize("form", ["as they are", *WRITERS])
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
