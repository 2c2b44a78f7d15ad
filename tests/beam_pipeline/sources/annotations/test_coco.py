"""COCO beyond the cases: splits of names, blocks of annotations, and bounds."""

import json

import pytest
from cases.reading import elements_of as elements_in
from cases.reading import records_of

from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.annotations.coco import read_coco
from beam_pipeline.sources.annotations.coco.coco_files import BOXES, CLASSES, CocoFile, is_coco
from beam_pipeline.sources.annotations.coco.coco_records import FileFacts, ImageItem, elements_of
from beam_pipeline.sources.annotations.coco.read_coco import row_of
from beam_pipeline.sources.annotations.item_files import split_of_file


@pytest.mark.parametrize(
    ("relative", "split"),
    [
        ("annotations/instances_test-dev2017.json", "test"),
        ("train/annotations.json", "train"),
        ("fold3/_annotations.coco.json", "fold3"),
        ("fold3/annotations.json", None),
        ("_annotations.coco.json", None),
    ],
)
def test_split_of_file(relative, split):
    assert split_of_file(f"/in/{relative}", relative) == split


TAGGED = {"id": 1, "file_name": "1.jpg", "tags": [{"name": "indoor"}]}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"images": [TAGGED]}, False),
        ({"images": [TAGGED], "annotations": [{"id": 1, "image_id": 1}]}, True),
    ],
)
def test_images_with_lists_of_their_own_are_cocos_if_annotations_refer_to_them(
    tmp_path, document, expected
):
    (tmp_path / "a.json").write_text(json.dumps(document))
    assert is_coco(str(tmp_path / "a.json")) == expected


CAT = {"id": 5, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}
PICTURE = ImageItem("a.json", "1.jpg", "a/1.jpg", "/in/a/1.jpg", None, "1", (), {}, None)


HUGE = int("1" * 400)
RUNS = {"size": [2, 2], "counts": [1, 3]}
ONES = [
    CAT | {"id": number, "area": number, "segmentation": segmentation}
    for number, segmentation in enumerate(
        [[[1] * 6], [[0, 0, 9, 0, 9, 9]], RUNS, [[1] * 8, [2] * 6]]
    )
]
RINGS = [1, 1, 0, 2]  # of each


@pytest.mark.parametrize("images", [[0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]])
@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
def test_annotations_of_an_image_meet_in_the_order_of_their_file(
    make_tree, monkeypatch, images, at_once
):
    monkeypatch.setattr(read_coco, "_AT_ONCE", at_once)
    pictures = [{"id": number, "file_name": f"{number}.jpg"} for number in (0, 1)]
    pairs = zip(ONES, images, strict=True)
    document = {
        "images": [{**each, "width": 9, "height": 9} for each in pictures],
        "annotations": [one | {"image_id": image} for one, image in pairs],
        "categories": [{"id": 1, "name": "cat"}],
    }
    root = make_tree({"a.json": json.dumps(document), "0.jpg": "", "1.jpg": ""})
    found = {record.key: record.features["boxes"] for record in records_of(root)}
    for number in (0, 1):
        own = [at for at, image in enumerate(images) if image == number]
        boxes = found[f"{number}.jpg"]
        assert list(boxes.attributes["area"]) == [float(at) for at in own]
        assert [len(rings) for rings in boxes.polygons] == [RINGS[at] for at in own]
        assert [bool(mask) for mask in boxes.masks] == [at == 2 for at in own]


def test_images_keep_their_boxes_if_the_file_of_their_captions_is_truncated(make_tree):
    images = [{"id": 1, "file_name": "1.jpg", "width": 9, "height": 9}]
    boxes = {"images": images, "annotations": [CAT | {"image_id": 1}], "categories": []}
    boxes["categories"].append({"id": 1, "name": "cat"})
    tree = {
        "annotations/instances_val.json": json.dumps(boxes),
        "annotations/captions_val.json": json.dumps({"images": images, "annotations": []})[:-1],
        "val/1.jpg": "",
    }
    elements = elements_in(make_tree(tree))
    [record] = [each for each in elements if isinstance(each, Record)]
    [reject] = [each for each in elements if isinstance(each, Rejected)]
    assert list(record.features["boxes"].boxes) == [(1, 2, 3, 4)]
    assert reject.source == "annotations/captions_val.json"


@pytest.mark.parametrize(
    ("number", "items", "detail"),
    [
        pytest.param(1, [CAT | {"bbox": [HUGE, 1, 1, 1]}], "bbox [1111", id="no float, a box"),
        pytest.param(1, [CAT | {"area": HUGE}], "area 1111", id="no float, an area"),
        pytest.param(1, [CAT] * 11, "more than 10 boxes of one image", id="many boxes"),
        pytest.param(1, [{"id": 5, "category_id": None}], "has no category_id", id="no class"),
        pytest.param(1000, [], "id 1 is given to a/1.jpg, a/1.jpg, a/1.jpg, … (1,000 images)"),
    ],
)
def test_what_an_image_cannot_have(monkeypatch, number, items, detail):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    file = CocoFile(path="/in/a.json", relative="a.json", split=None, root="/in", folders=("/in",))
    shows = BOXES if not items or "bbox" in items[0] else CLASSES
    facts = FileFacts(file=file, shows=shows, names={1: "cat"})
    found = elements_of("1", [PICTURE] * number + [*map(row_of, items)], facts)
    rejects = [element for element in found if isinstance(element, Rejected)]
    assert len(rejects) == number
    assert all(detail in reject.detail for reject in rejects)
