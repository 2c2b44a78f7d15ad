"""KITTI's trees become records, with the splits of their lists and what is left over."""

import pytest
from without_beam import side_pairs

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Rejected
from beam_pipeline.sources.kitti import KittiFiles, parse_kitti
from beam_pipeline.sources.side_files.finding import places_of
from beam_pipeline.sources.side_files.read import ReadSideFiles, read_pairs
from beam_pipeline.sources.tree import Tree

CAR = "Car 0.50 1 -1.57 10 20.5 30 40 1.5 1.6 3.9 1.8 1.5 8.4 -1.6"
FLAT = "Pedestrian 0 3 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10"
DONT_CARE = "DontCare -1 -1 -10 5 6 7 8 -1 -1 -1 -1000 -1000 -1000 -10"


def test_the_objects_of_a_label_file():
    objects, notes = parse_kitti(f"{CAR}\n\n{DONT_CARE} 0.5\n{FLAT}\r\n")
    assert objects.boxes == ((10, 20.5, 30, 40), (1, 2, 3, 4))
    assert (objects.format, objects.labels) == ("xyxy", ("Car", "Pedestrian"))
    assert objects.attributes == {
        "truncated": (0.5, 0),
        "occluded": (1, 3),
        "alpha": (-1.57, -10),
    }
    assert notes == {"not kept: DontCare": 1, "not kept: 3D box": 1}


def test_the_score_of_a_result():
    objects, _ = parse_kitti(f"{CAR} 0.25\n{FLAT} 1\n")
    assert objects.attributes["score"] == (0.25, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Car 0 0 0 1 2 3 4", "line 2: 8 columns; an object has 15, or 16 with a score"),
        (f"{CAR} 1 2", "line 2: 17 columns"),
        (f"{FLAT} 0.5", "line 2: 16 columns, where an earlier line has 15"),
        (CAR.replace("20.5", "x"), "line 2: column 6 is 'x', not a number"),
        (CAR.replace("20.5", "nan"), "line 2: column 6 is 'nan', not a number"),
        (CAR.replace(" 1 ", " 0.5 "), "line 2: occluded is '0.5', not a whole number"),
        (CAR.replace(" 1 ", " 1e300 "), "line 2: occluded is '1e300', not a whole number"),
    ],
)
def test_a_line_that_is_none(line, message):
    with pytest.raises(RecordError, match="malformed annotation") as raised:
        parse_kitti(f"{FLAT}\n{line}\n")
    assert message in raised.value.detail


# (input, split by key, (reason, bad) by source)
TREES = {
    "as it is downloaded": (
        {f"training/{home}/00000{n}.png": "" for home in ("image_2", "image_3") for n in range(3)}
        | {"training/label_2/000000.txt": CAR, "training/label_2/000001.txt": DONT_CARE}
        | {"training/label_2/000009.txt": CAR, "training/calib/000000.txt": "P0: 1"}
        | {"testing/image_2/000000.png": ""},
        {f"training/image_2/00000{n}.png": "training" for n in range(2)},
        {"training/label_2/000009.txt": ("missing image", True)}
        | {"training/image_2/000002.png": ("no annotation", True)}
        | {f"training/image_3/00000{n}.png": ("unused image", False) for n in range(3)}
        | {"training/calib/000000.txt": ("not an image file", False)}
        | {"testing/image_2/000000.png": ("unused image", False)},
    ),
    "with lists, where testing/ has the same numbers": (
        {f"training/image_2/{n}.png": "" for n in range(4)}
        | {f"training/label_2/{n}.txt": CAR for n in range(4)}
        | {"testing/image_2/0.png": "", "ImageSets/train.txt": "0\n1\n"}
        | {"ImageSets/val.txt": "2\n8\n", "ImageSets/trainval.txt": "0\n1\n2\n"}
        | {"ImageSets/test.txt": "0\n1\n2\n", "training/image_2/5.png": ""},
        {"training/image_2/0.png": "train", "training/image_2/1.png": "train"}
        | {"training/image_2/2.png": "val"},
        {"training/label_2/3.txt": ("in no image set", False)}
        | {"training/image_2/5.png": ("no annotation", False)}
        | {"ImageSets/val.txt:2": ("missing annotation", True)}
        | {"ImageSets/test.txt": ("unused list", False)}
        | {"testing/image_2/0.png": ("unused image", False)},
    ),
    "lists that have a test of their own": (
        {f"image_2/{n}.png": "" for n in "ab"}
        | {f"label_2/{n}.txt": "" for n in "ab"}
        | {"ImageSets/train.txt": "a\n", "ImageSets/test.txt": "b\n"},
        {"image_2/a.png": "train", "image_2/b.png": "test"},
        {},
    ),
    "in any case, and folders deeper": (
        {"Image_2/s1/a.png": "", "LABEL_2/s1/a.txt": CAR, "Image_2/s2/a.png": ""}
        | {"LABEL_2/s2/a.txt": "Car 1", "other/a.png": ""},
        {"Image_2/s1/a.png": None},
        {
            "LABEL_2/s2/a.txt": ("malformed annotation", True),
            "other/a.png": ("unused image", False),
        },
    ),
}


def told(elements):
    """(split by key of records, (reason, bad) by source of rejects)."""
    elements = list(elements)
    rejected = [each for each in elements if isinstance(each, Rejected)]
    records = [each for each in elements if not isinstance(each, Rejected)]
    return (
        {each.key: each.split for each in records},
        {each.source: (each.reason, each.bad) for each in rejected},
    )


@pytest.mark.parametrize(("tree", "records", "rejects"), TREES.values(), ids=TREES)
def test_trees(make_tree, in_any_buckets, tree, records, rejects):
    root = make_tree(tree)
    pairs = side_pairs(KittiFiles(), root)
    assert told(read_pairs(pairs, KittiFiles(), root)) == (records, rejects)
    in_any_buckets(root, lambda size: side_pairs(KittiFiles(), root, size=size))


def test_the_transform(make_tree, run_transform):
    tree, records, rejects = TREES["as it is downloaded"]
    root = make_tree(tree)
    assert told(run_transform(ReadSideFiles(root, KittiFiles()))) == (records, rejects)


def test_texts_elsewhere_are_no_labels(make_tree):
    tree = Tree(make_tree({"labels.txt": CAR, "image_2/a.png": "", "label_3/a.txt": CAR}))
    assert places_of(tree, KittiFiles()) == []
