"""What cases of COCO cannot show: splits of names, bounds, and images that their file rejects."""

import json
from typing import Any

import pytest
from cases.reading import elements_of as read

from beam_pipeline.records import Rejected
from beam_pipeline.sources.annotations.coco.coco_files import BOXES, CocoFile
from beam_pipeline.sources.annotations.coco.coco_records import (
    Annotations,
    Block,
    ImageItem,
    by_image,
    elements_of,
)
from beam_pipeline.sources.annotations.coco.facts import FileFacts
from beam_pipeline.sources.annotations.image_files import split_of_file


@pytest.mark.parametrize(
    ("relative", "split"),
    [
        ("annotations/instances_train2017.json", "train"),
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
    assert split_of_file(f"/in/{relative}", relative) == split


CAT = {"id": 5, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}
PICTURE = ImageItem("a/1.jpg", "/in/a/1.jpg", None, None, 1, None, (), (), None)


def elements(*values: Any) -> list[Any]:
    file = CocoFile(path="/in/a.json", relative="a.json", split=None, root="/in", folders=("/in",))
    facts = FileFacts.of(file)
    facts.shows, facts.names = BOXES, {1: "cat"}
    return [*elements_of("a.json\0" + "1", values, {"a.json": facts})]


HUGE = int("1" * 400)


def of(item: dict[str, Any]) -> Annotations:
    return Annotations.of([item])


RUNS = {"size": [2, 2], "counts": [1, 3]}
ONES = [
    CAT | {"id": number, "segmentation": segmentation}
    for number, segmentation in enumerate([None, [[0, 0, 9, 0, 9, 9]], RUNS, [[1] * 8, [2] * 6]])
]


@pytest.mark.parametrize("bbox", [[1, 2, 3, 4], "none", None], ids=["boxes", "a text", "no box"])
@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([{"a": [0, 1], "b": [2, 3]}], id="one"),
        pytest.param([{"a": [0]}, {"a": [1], "b": [2]}, {"b": [3]}], id="in order"),
        pytest.param([{"b": [2], "a": [0]}, {"a": [1], "b": [3]}], id="scattered"),
    ],
)
def test_annotations_of_an_image_meet(blocks, bbox):
    items = [*ONES[:3], ONES[3] | {"bbox": bbox}]

    found = by_image(
        [
            Block.of({key: [items[at] for at in numbers] for key, numbers in block.items()})
            for block in blocks
        ]
    )

    expected = {"a": Annotations.of(items[:2]), "b": Annotations.of(items[2:])}
    assert found.keys() == expected.keys()
    for key, one in expected.items():
        assert found[key].polygons == one.polygons
        assert found[key]._replace(boxes=[*map(tuple, found[key].boxes[:1])]) == one._replace(
            boxes=[*map(tuple, one.boxes[:1])]
        )


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        pytest.param([of(CAT | {"bbox": [HUGE, 1, 1, 1]})], "bbox [1111", id="no float, a box"),
        pytest.param([of(CAT | {"area": HUGE})], "area 1111", id="no float, an area"),
        pytest.param([of(CAT)] * 11, "more than 10 boxes of one image", id="many boxes"),
        pytest.param([PICTURE] * 999, "id 1 is given to a/1.jpg, a/1.jpg, a/1.jpg, … (1,000 "),
    ],
)
def test_bounds(monkeypatch, values, detail):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    rejects = [element for element in elements(PICTURE, *values) if isinstance(element, Rejected)]
    assert all(detail in reject.detail for reject in rejects)
    assert len(rejects) == sum(isinstance(value, ImageItem) for value in (PICTURE, *values))


def test_annotations_of_a_rejected_image_are_not_those_of_an_unknown_one(make_tree):
    content = {
        "images": [{"id": 0, "file_name": "/etc/a.jpg"}, {"id": 1, "file_name": "b.jpg"}],
        "annotations": [{"id": 7, "image_id": 0, "category_id": 1, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    root = make_tree({"a.json": json.dumps(content), "b.jpg": ""})
    rejects = [each for each in read(f"{root}/a.json") if hasattr(each, "reason")]
    assert [(reject.source, reject.reason) for reject in rejects] == [
        ("a.json: image 0", "file outside the input")
    ]
