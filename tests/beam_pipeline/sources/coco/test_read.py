"""COCO files become records: names, splits, boxes, and everything that can be wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from eager_runner import yielded

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import DeclaredClasses, Objects, Record, Rejected
from beam_pipeline.sources.coco.files import find_coco_files, split_of_file
from beam_pipeline.sources.coco.read import ReadCoco, joined, record_of
from beam_pipeline.sources.coco.stream import CocoAnnotation, CocoImage

CAT_AND_DOG = [{"id": 1, "name": "cat"}, {"id": 18, "name": "dog", "supercategory": "animal"}]


def image(image_id: Any, file_name: str = "", **fields: Any) -> dict[str, Any]:
    return {"id": image_id, "file_name": file_name or f"{image_id}.jpg", **fields}


def annotation(annotation_id: int, image_id: Any, category_id: Any = 1, **fields: Any) -> Any:
    stated = {"bbox": [1, 2.5, 3, 4], "iscrowd": 0, "area": 9.5, **fields}
    return {"id": annotation_id, "image_id": image_id, "category_id": category_id, **stated}


def write(path: Path, images: Any, annotations: Any = (), categories: Any = CAT_AND_DOG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"info": {}, "images": images, "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(content))
    return path


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def records_by_key(elements: list[Any]) -> dict[str, Record]:
    records = [element for element in elements if isinstance(element, Record)]
    assert len({record.key for record in records}) == len(records)
    return {record.key: record for record in records}


def rejected(elements: list[Any]) -> dict[str, Rejected]:
    return {element.source: element for element in elements if isinstance(element, Rejected)}


def boxes_of(record: Record) -> Objects:
    boxes = record.features["boxes"]
    assert isinstance(boxes, Objects)
    return boxes


def path_of(record: Record) -> str:
    return record.features["image"].file.path  # type: ignore[union-attr]


def test_two_splits_as_coco_lays_them_out(tmp_path):
    write(
        tmp_path / "annotations/instances_train2017.json",
        [image(7, width=640, height=480), image(8)],
        [
            annotation(101, 7, 18, iscrowd=1, segmentation={"counts": [3, 4], "size": [2, 2]}),
            annotation(102, 7, bbox=[10, 20, 30, 40], area=None, iscrowd=None),
        ],
    )
    write(tmp_path / "annotations/instances_val2017.json", [image(7, "sub/7.jpg")])
    write(tmp_path / "annotations/captions_train2017.json", [image(7)])
    touch(tmp_path / "train2017/7.jpg")
    touch(tmp_path / "images/val2017/sub/7.jpg")

    elements = yielded(ReadCoco(str(tmp_path)))

    records = records_by_key(elements)
    assert sorted(records) == ["images/val2017/sub/7.jpg", "train2017/7.jpg", "train2017/8.jpg"]
    seven = records["train2017/7.jpg"]
    assert seven.notes == {"not kept: segmentation": 1}
    assert path_of(seven) == str(tmp_path / "train2017/7.jpg")
    assert (seven.split, seven.source_id) == ("train", "7")
    assert seven.source == "annotations/instances_train2017.json: image 7"
    assert boxes_of(seven) == Objects(
        boxes=((1.0, 2.5, 3.0, 4.0), (10.0, 20.0, 30.0, 40.0)),
        format="xywh",
        labels=("dog", "cat"),
        attributes={"is_crowd": (1, 0), "area": (9.5, 1200.0)},
        image_size=(640, 480),
    )
    assert boxes_of(records["train2017/8.jpg"]).boxes == ()
    assert records["images/val2017/sub/7.jpg"].split == "val"
    assert [e for e in elements if isinstance(e, DeclaredClasses)] == 2 * [
        DeclaredClasses(feature="boxes", names={1: "cat", 18: "dog"})
    ]
    (captions,) = rejected(elements).values()
    assert captions.source == "annotations/captions_train2017.json"
    assert not captions.bad


def test_roboflow_and_images_beside(tmp_path):
    for split in ("train", "valid"):
        write(tmp_path / split / "_annotations.coco.json", [image(0, f"{split}.rf.0a.jpg")])
        touch(tmp_path / split / f"{split}.rf.0a.jpg")

    records = records_by_key(yielded(ReadCoco(str(tmp_path))))

    assert {key: record.split for key, record in records.items()} == {
        "train/train.rf.0a.jpg": "train",
        "valid/valid.rf.0a.jpg": "valid",
    }


@pytest.mark.parametrize(
    ("json_file", "path", "given", "image_root", "key", "split"),
    [
        pytest.param("annotations.json", "images/1.jpg", "", None, "images/1.jpg", None, id="one"),
        pytest.param("coco.json", "1.jpg", "coco.json", None, "1.jpg", None, id="file beside"),
        pytest.param(
            "annotations/instances_default.json", "images/1.jpg", "", None, "images/1.jpg", None,
            id="CVAT",
        ),
        pytest.param(
            "annotations/instances_val2017.json", "val2017/1.jpg",
            "annotations/instances_val2017.json", None, "val2017/1.jpg", "val", id="file of a set",
        ),
        pytest.param("a/x.json", "b/c/1.jpg", "a/x.json", "b/c", "1.jpg", None, id="image root"),
        pytest.param("x.json", "b/1.jpg", "", "b", "1.jpg", None, id="image root, folder"),
    ],
)  # fmt: skip
def test_where_images_are(tmp_path, json_file, path, given, image_root, key, split):
    write(tmp_path / json_file, [image(1)])
    touch(tmp_path / path)
    root = str(tmp_path / image_root) if image_root else None

    (record,) = records_by_key(yielded(ReadCoco(str(tmp_path / given), root))).values()

    assert (record.key, record.split) == (key, split)
    assert path_of(record) == str(tmp_path / path)


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


def test_keypoints_are_read_where_there_are_no_instances(tmp_path):
    touch(tmp_path / "annotations/person_keypoints_val2017.json")
    touch(tmp_path / "annotations/captions_val2017.json")
    files, left_aside = find_coco_files(str(tmp_path), None)
    assert [file.relative for file in files] == ["annotations/person_keypoints_val2017.json"]
    assert [file.source for file in left_aside] == ["annotations/captions_val2017.json"]

    touch(tmp_path / "annotations/instances_val2017.json")
    files, left_aside = find_coco_files(str(tmp_path), None)
    assert [file.relative for file in files] == ["annotations/instances_val2017.json"]
    assert len(left_aside) == 2


def test_no_coco_file_says_what_was_looked_for(tmp_path):
    touch(tmp_path / "annotations/captions_val2017.json")
    with pytest.raises(ConfigError, match=r"instances_<split>\.json.*captions_val2017\.json"):
        find_coco_files(str(tmp_path), None)
    with pytest.raises(ConfigError, match=r"absent\.json does not exist"):
        find_coco_files(str(tmp_path / "absent.json"), None)


def stated(**fields: Any) -> CocoAnnotation:
    whole = {
        "annotation_id": 5, "category_id": 1, "category": "cat", "bbox": [1, 2, 3, 4],
        "area": 12, "is_crowd": 0, "keypoints": None,
    }  # fmt: skip
    return CocoAnnotation(**{**whole, **fields})


PICTURE = CocoImage("a/1.jpg", "/in/a/1.jpg", None, 1, "x.json: image 1", None)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        pytest.param([stated(bbox=[1, 2, 3])], r"5: bbox \[1, 2, 3\]", id="three numbers"),
        pytest.param([stated(bbox=[1, 2, "3", 4])], "5: bbox", id="a word"),
        pytest.param([stated(category=None, category_id=9)], "category 9", id="unknown category"),
        pytest.param([stated(area="big")], "area 'big'", id="area"),
        pytest.param([stated(is_crowd=2)], "iscrowd 2", id="crowd"),
        pytest.param([stated(keypoints=[1, 2])], r"keypoints \[1, 2\]", id="keypoints"),
        pytest.param(
            [stated(keypoints=[1, 2, 2]), stated(keypoints=[1] * 6)], r"\[3, 6\]", id="lengths"
        ),
        pytest.param(
            [stated(), stated(category=None, category_id=None)], "no category_id", id="some classes"
        ),
    ],
)
def test_malformed_annotations_are_named(annotations, message):
    with pytest.raises(RecordError, match=f"^malformed annotation: a/1.jpg: .*{message}"):
        record_of(PICTURE, annotations)


def test_keypoints_stay_with_their_boxes():
    first, second = stated(keypoints=[10, 20, 2, 30, 40, 1]), stated()
    assert boxes_of(record_of(PICTURE, [first, second])).keypoints == (
        (10.0, 20.0, 2.0, 30.0, 40.0, 1.0),
        (0.0,) * 6,
    )
    assert boxes_of(record_of(PICTURE, [second])).keypoints == ()


def test_a_file_without_classes_gives_boxes_without_labels():
    unnamed = stated(category=None, category_id=None)
    assert boxes_of(record_of(PICTURE, [unnamed])).labels == ()


def test_two_images_of_one_id_are_both_rejected():
    both = list(joined("x.json\0001", [PICTURE, PICTURE._replace(key="b/1.jpg"), stated()]))
    assert [type(element) for element in both] == [Rejected, Rejected]
    assert "a/1.jpg, b/1.jpg" in both[0].detail


def test_what_cannot_be_used_is_rejected_with_its_place(tmp_path):
    path = write(
        tmp_path / "train.json",
        [image(1), image(2), {"id": 3}, image("4"), image(5.0, "5.jpg"), image(6, "1.jpg")],
        [
            annotation(11, 1),
            annotation(12, 2, bbox=[0, 0, 1]),
            annotation(13, 99),
            {"id": 14, "bbox": [0, 0, 1, 1]},
            annotation(15, 5, 18),
        ],
    )

    elements = yielded(ReadCoco(str(path)))

    records = records_by_key(elements)
    assert sorted(records) == ["1.jpg", "1.jpg#2", "4.jpg", "5.jpg"]
    assert boxes_of(records["5.jpg"]).labels == ("dog",)
    rejects = rejected(elements)
    assert {source: reject.reason for source, reject in rejects.items()} == dict.fromkeys(
        [
            "train.json: image 2",
            "train.json: image number 2",
            "train.json: annotation 13",
            "train.json: annotation number 3",
        ],
        "malformed annotation",
    )
    assert all(reject.bad for reject in rejects.values())
    assert "image 99" in rejects["train.json: annotation 13"].detail


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        pytest.param(
            '{"categories": [{"id": 1, "name": "cat"}], "images": [{"id": 1, "file_name": "a.jpg"}',
            "not JSON, before byte 85: parse error: premature EOF",
            id="truncated",
        ),
        pytest.param('{"images": [], "x": NaN}', "not JSON", id="not a number"),
        pytest.param("", "not JSON, before byte 0", id="empty"),
        pytest.param('{"annotations": []}', 'no "images"', id="no images"),
        pytest.param('[{"image_id": 1, "score": 0.5}]', 'no "images"', id="a results file"),
        pytest.param('{"categories": [{"name": "cat"}]}', "needs a number", id="category"),
        pytest.param(
            '{"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]}',
            "'a' and 'b' both have id 1",
            id="categories",
        ),
    ],
)
def test_nothing_of_a_file_that_is_not_coco_is_used(tmp_path, content, detail):
    path = tmp_path / "train.json"
    path.write_text(content)
    (reject,) = yielded(ReadCoco(str(path)))
    assert (reject.source, reject.reason, reject.bad) == (
        "train.json",
        "malformed annotation",
        True,
    )
    assert detail in reject.detail


TRIANGLE = [[10, 20, 30, 20, 20, 60]]


@pytest.mark.parametrize(
    ("box_format", "box"),
    [
        ("", (10.0, 20.0, 20.0, 40.0)),
        ("xyxy", (10.0, 20.0, 30.0, 60.0)),
        ("center_xywh", (20.0, 40.0, 20.0, 40.0)),
    ],
)
def test_a_box_is_made_of_its_polygon_or_left_out_with_a_count(tmp_path, box_format, box):
    path = write(
        tmp_path / "a.json",
        [image(1, license=3, attributes={"weather": "rain"}, extra={})],
        [
            annotation(1, 1, bbox=None, area=None, segmentation=TRIANGLE),
            annotation(2, 1, bbox=[], segmentation={"counts": "abc", "size": [9, 9]}),
            annotation(3, 1, bbox=None, keypoints=[1, 2, 2], num_keypoints=1, score=0.5),
        ],
    )

    (record,) = records_by_key(yielded(ReadCoco(str(path), None, box_format))).values()

    boxes = boxes_of(record)
    assert (boxes.boxes, boxes.attributes["area"]) == ((box,), (800.0,))
    assert boxes.format == (box_format or "xywh")
    assert record.notes == {
        "box made from its polygon": 1,
        "box dropped: no bbox": 2,
        "not kept: segmentation": 2,
        "not kept: score": 1,
        "not kept: image attributes": 1,
    }


def test_names_of_keypoints_are_counted(tmp_path):
    person = [{"id": 1, "name": "person", "keypoints": ["nose"], "skeleton": []}]
    points = [annotation(1, 1, keypoints=[5, 5, 2]), annotation(2, 1)]
    path = write(tmp_path / "a.json", [image(1)], points, person)

    (record,) = records_by_key(yielded(ReadCoco(str(path)))).values()

    assert record.notes == {"not kept: keypoint names": 1}


def test_fractions_have_areas_in_pixels():
    half = stated(bbox=[0.0, 0.0, 0.5, 0.5], area=None)
    sized = CocoImage("a.jpg", "/a.jpg", (40, 20), 1, "a.json: image 1", None)

    assert boxes_of(record_of(sized, [half], "rel_xywh")).attributes["area"] == (200.0,)
    with pytest.raises(RecordError, match="neither an area nor"):
        record_of(sized._replace(size=None), [half], "rel_xywh")


def test_trainval_repeats_its_parts(tmp_path):
    for split in ("train2007", "val2007", "trainval2007", "test2007"):
        write(tmp_path / f"annotations/instances_{split}.json", [image(1)])

    files, (left,) = find_coco_files(str(tmp_path), None)

    assert [file.split for file in files] == ["test", "train", "val"]
    assert left.source == "annotations/instances_trainval2007.json"
    assert not left.bad


def test_a_byte_order_mark(tmp_path):
    path = write(tmp_path / "a.json", [image(1)])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert list(records_by_key(yielded(ReadCoco(str(path))))) == ["1.jpg"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b'{"images": [{"id": 1, "a": ' + b"[" * 10**6, "nested over 64", id="deep"),
        pytest.param(
            b'{"categories": [{"id": ' + b"1" * 9000 + b"}]}", "integer overflow", id="9,000 digits"
        ),
        pytest.param(
            b'{"images": [{"id": ' + b"1" * 400 + b"}]}", "integer overflow", id="400 digits"
        ),
    ],
)
def test_json_without_bound(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_bytes(content)

    elements = rejected(yielded(ReadCoco(str(path)))).values()

    assert message in next(iter(elements)).detail


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


@pytest.mark.parametrize(
    ("image_id", "source_id"),
    [
        (0, "0"),
        (-7, "-7"),
        ("17", "17"),
        (2**63 - 1, str(2**63 - 1)),
        pytest.param(str(2**63), "", id="beyond 64 bits"),
        pytest.param("007", "", id="another id than 7"),
        ("a/7.jpg", ""),
        (True, ""),
    ],
)
def test_an_id_that_is_a_number_is_the_records_own(image_id, source_id):
    assert record_of(PICTURE._replace(image_id=image_id), []).source_id == source_id


def test_ids_of_two_files_of_a_split_are_not_the_records_own(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.json", [image(7, f"{name}.jpg")])
        touch(tmp_path / f"{name}.jpg")
    records = records_by_key(yielded(ReadCoco(str(tmp_path))))
    assert {key: record.source_id for key, record in records.items()} == {"a.jpg": "", "b.jpg": ""}


def test_nobody_has_so_many_boxes(monkeypatch):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    (reject,) = joined("a.json\0" + "1", [PICTURE, *[stated()] * 11])
    assert (reject.source, reject.detail) == (
        "x.json: image 1",
        "more than 10 boxes of one image",
    )
