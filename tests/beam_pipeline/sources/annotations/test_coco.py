"""COCO beyond the cases: splits of names, blocks of annotations, and bounds."""

import pytest

from beam_pipeline.records import Rejected
from beam_pipeline.sources.annotations.coco.coco_files import (
    BOXES,
    CLASSES,
    CocoFile,
    FileFacts,
)
from beam_pipeline.sources.annotations.coco.coco_records import (
    Annotations,
    Block,
    ImageItem,
    by_image,
    elements_of,
)
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


CAT = {"id": 5, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}
PICTURE = ImageItem("a/1.jpg", "/in/a/1.jpg", None, None, 1, None, (), (), None)


HUGE = int("1" * 400)
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
            Block(
                tuple(key for key, numbers in block.items() for _ in numbers),
                Annotations.of([items[at] for numbers in block.values() for at in numbers]),
            )
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
    facts = {"a.json": FileFacts(file=file, shows=shows, names={1: "cat"})}
    found = elements_of("a.json\0" + "1", [PICTURE] * number, Annotations.of(items), facts)
    rejects = [element for element in found if isinstance(element, Rejected)]
    assert len(rejects) == number
    assert all(detail in reject.detail for reject in rejects)
