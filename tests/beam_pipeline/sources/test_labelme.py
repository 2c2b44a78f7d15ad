"""LabelMe's files become boxes of their images, and tell what is not kept."""

import json

import pytest
from without_beam import side_pairs

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources import labelme
from beam_pipeline.sources.labelme import LabelMeFiles, parse_labelme
from beam_pipeline.sources.side_files.read import ReadSideFiles, read_pairs

CAT = {"label": "cat", "points": [[1, 2], [9.5, 3], [4, 8]], "shape_type": "polygon", "flags": {}}
DOG = {"label": "dog", "points": [[9, 8], [1, 2]], "shape_type": "rectangle", "group_id": None}


def made(*shapes, image="", **members):
    """LabelMe's file of these shapes."""
    return json.dumps({"version": "5.4", "shapes": shapes, "imagePath": image, **members})


def test_shapes_become_boxes():
    lines = [
        {**DOG, "shape_type": kind} for kind in ("circle", "line", "point", "points", "linestrip")
    ]
    said = {**DOG, "group_id": 0, "flags": {"hidden": True}, "description": "x"}
    mask = {**DOG, "shape_type": "mask", "mask": "iVBOR"}
    old = {key: CAT[key] for key in ("label", "points")}
    objects, notes = parse_labelme(
        made(
            *(CAT, DOG, *lines, said, mask, old),
            **{"imageWidth": 12, "imageHeight": 10, "flags": {"night": True, "day": False}},
        ).encode()
    )
    assert objects.boxes == (
        *((1, 2, 9.5, 8), (1, 2, 9, 8), (1, 2, 9, 8), (1, 2, 9, 8), (1, 2, 9.5, 8)),
    )
    assert (objects.format, objects.labels) == ("xyxy", ("cat", "dog", "dog", "dog", "cat"))
    assert objects.image_size == (12, 10)
    assert notes == {
        **{f"not kept: {each['shape_type']}": 1 for each in lines},
        **{f"not kept: {name}": 1 for name in ("group_id", "description", "mask")},
        **{"not kept: flags": 2, "not kept: polygon": 2},
    }


@pytest.mark.parametrize(
    "size", [{}, {"imageWidth": 0, "imageHeight": 9}, {"imageWidth": "9", "imageHeight": 9}]
)
def test_a_size_that_is_not_stated(size):
    assert parse_labelme(made(**size).encode())[0].image_size is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not an object"),
        ("{", "it is not JSON"),
        ("{}", "no list of shapes"),
        ('{"shapes": ' + "[" * 200 + "]" * 200 + "}", "nest deeper"),
        (made("x"), "shape 1 is 'x', not an object"),
        (made(CAT, {**CAT, "label": " "}), "shape 2 has no label"),
        (
            made({**CAT, "points": [[1, 2], [3, 4]]}),
            "shape 1 (cat): the points [[1, 2], [3, 4]]",
        ),
        (made({**DOG, "points": [[1, 2]]}), "of a rectangle are no list"),
        (made({**DOG, "points": [[1, 2], [3]]}), "of a rectangle are no list"),
        (made({**DOG, "points": [[1, 2], [3, None]]}), "of a rectangle are no list"),
        (made({**DOG, "points": [[1, 2], [3, float("nan")]]}), "of a rectangle are no list"),
        (made({**DOG, "points": [[1, 2], [3, 10**400]]}), "of a rectangle are no list"),
        (made({**DOG, "points": None}), "of a rectangle are no list"),
    ],
)
def test_what_is_malformed(text, message):
    with pytest.raises(RecordError, match="malformed annotation") as raised:
        parse_labelme(text.encode())
    assert message in raised.value.detail


def test_the_image_in_the_file_is_not_parsed(monkeypatch):
    monkeypatch.setattr(labelme, "MAX_BYTES", 400)
    data = {"imageData": "abc/+=" * 1000}
    text = made(CAT, **data)
    assert parse_labelme(text.replace("/", "\\/").encode()) == parse_labelme(made(CAT).encode())
    with pytest.raises(RecordError, match="over 400 bytes besides imageData"):
        parse_labelme(made(CAT, other="x" * 400).encode())


# (input, image by key of records, (reason, bad) by source)
TREES = {
    "beside the images": (
        {"a.jpg": "", "a.json": made(CAT, image="b.jpg"), "b.jpg": "", "b.json": made()}
        | {"c.jpg": "", "d.json": made(), "e.jpg": "", "e.json": "{", "notes.txt": ""}
        | {"other/f.jpg": ""},
        {"a.jpg": "a.json", "b.jpg": "b.json"},
        {"c.jpg": ("no annotation", True), "d.json": ("missing image", True)}
        | {"e.json": ("malformed annotation", True), "notes.txt": ("not an image file", False)}
        | {"other/f.jpg": ("unused image", False)},
    ),
    "where imagePath says": (
        {"json/1.json": made(image="..\\images\\a.jpg"), "images/a.jpg": ""}
        | {"json/2.json": made(image="../images/b.png"), "images/b.png": "", "images/b.jpg": ""}
        | {"json/3.json": made(image="C:\\x\\c.jpg"), "json/c.jpg": ""}
        | {"json/4.json": made(image="../../d.jpg"), "d.jpg": "", "json/5.json": "[]"}
        | {"json/6.json": made(image="c.png")},
        {"images/a.jpg": "json/1.json", "images/b.png": "json/2.json"},
        {f"json/{n}.json": ("two annotations", True) for n in (3, 6)}
        | {"json/4.json": ("missing image", True), "json/5.json": ("malformed annotation", True)}
        | {"images/b.jpg": ("no annotation", True), "d.jpg": ("unused image", False)},
    ),
    "splits by folder": (
        {f"{split}/a.jpg": "" for split in ("train", "val")}
        | {f"{split}/a.json": made(DOG) for split in ("train", "val")},
        {f"{split}/a.jpg": f"{split}/a.json" for split in ("train", "val")},
        {},
    ),
}


def told(elements):
    """(source by key of records, (reason, bad) by source of rejects)."""
    elements = list(elements)
    return (
        {each.key: each.source for each in elements if isinstance(each, Record)},
        {each.source: (each.reason, each.bad) for each in elements if isinstance(each, Rejected)},
    )


@pytest.mark.parametrize(("tree", "records", "rejects"), TREES.values(), ids=TREES)
def test_trees(make_tree, in_any_buckets, tree, records, rejects):
    root = make_tree(tree)
    elements = list(read_pairs(side_pairs(LabelMeFiles(), root), LabelMeFiles(), root))
    assert told(elements) == (records, rejects)
    splits = {each.key: each.split for each in elements if isinstance(each, Record)}
    in_split = {key: key.partition("/")[0] in ("train", "val") for key in splits}
    assert splits == {key: key.partition("/")[0] if in_split[key] else None for key in splits}
    in_any_buckets(root, lambda size: side_pairs(LabelMeFiles(), root, size=size))


def test_the_transform(make_tree, run_transform):
    tree, records, rejects = TREES["where imagePath says"]
    root = make_tree(tree)
    assert told(run_transform(ReadSideFiles(root, LabelMeFiles()))) == (records, rejects)
