"""COCO files become records: names, splits, boxes, and everything that can be wrong."""

from typing import Any

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.coco.files import split_of_file
from beam_pipeline.sources.coco.read import joined, record_of
from beam_pipeline.sources.coco.stream import CocoAnnotation, CocoImage


@pytest.mark.parametrize(
    ("relative", "split"),
    [
        ("annotations/instances_train2017.json", "train"),
        ("annotations/person_keypoints_val2014.json", "val"),
        ("annotations/lvis_v1_train.json", "train"),
        ("annotations/instances_test-dev2017.json", "test"),
        ("Validation.json", "Validation"),
        ("annotations/instances_default.json", None),
        ("train/annotations.json", "train"),
        ("fold3/_annotations.coco.json", "fold3"),
        ("fold3/annotations.json", None),
        ("_annotations.coco.json", None),
    ],
)
def test_split_of_file(relative, split):
    assert split_of_file(relative) == split


def stated(**fields: Any) -> CocoAnnotation:
    whole = {
        "annotation_id": 5, "category_id": 1, "category": "cat", "bbox": [1, 2, 3, 4],
        "area": 12, "is_crowd": 0, "keypoints": None,
    }  # fmt: skip
    return CocoAnnotation(**{**whole, **fields})


PICTURE = CocoImage("a/1.jpg", "/in/a/1.jpg", None, 1, "x.json: image 1", None)


def test_numbers_that_no_float_holds():
    huge = int("1" * 400)
    with pytest.raises(RecordError, match=r"bbox \[1111"):
        record_of(PICTURE, [stated(bbox=[huge, 1, 1, 1])])
    with pytest.raises(RecordError, match="area 1111"):
        record_of(PICTURE, [stated(area=huge)])


def test_many_images_of_one_id_are_named_in_short():
    images = [PICTURE._replace(key=f"{number}.jpg") for number in range(1000)]

    rejects = list(joined("a.json\0" + "1", images))

    assert len(rejects) == 1000
    assert rejects[0].detail == "id 1 is given to 0.jpg, 1.jpg, 2.jpg, … (1,000 images)"


def test_nobody_has_so_many_boxes(monkeypatch):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    (reject,) = joined("a.json\0" + "1", [PICTURE, *[stated()] * 11])
    assert (reject.source, reject.detail) == (
        "x.json: image 1",
        "more than 10 boxes of one image",
    )
