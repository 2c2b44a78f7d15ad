"""The lines of a YOLO label file: boxes, polygons, keypoints, and what is none of them.

Coordinates are fractions of the image's width and height.
"""

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Objects
from beam_pipeline.sources.yolo.labels import parse_labels, possible_keypoints

BOX = "0 0.5 0.5 0.2 0.4\n"


@pytest.mark.parametrize(
    ("text", "names", "keypoint_shape", "expected"),
    [
        pytest.param("", {0: "a"}, None, Objects(boxes=(), format="rel_center_xywh"), id="none"),
        pytest.param(
            "1 0.5 0.5 0.2 0.4\r\n\n0.0 1 1e-1 .25 1.0\n",
            {0: "a", 1: "b"},
            None,
            Objects(
                boxes=((0.5, 0.5, 0.2, 0.4), (1.0, 0.1, 0.25, 1.0)),
                format="rel_center_xywh",
                labels=("b", "a"),
            ),
            id="boxes",
        ),
        pytest.param(
            BOX * 2,
            None,
            None,
            Objects(
                boxes=((0.5, 0.5, 0.2, 0.4),) * 2,
                format="rel_center_xywh",
                labels=("0", "0"),
            ),
            id="equal lines, no names",
        ),
        pytest.param(
            "0 0.1 0.2 0.5 0.1 0.3 0.9\n0 0.5 0.5 0.5 0.25\n",
            {0: "a"},
            None,
            Objects(
                boxes=((0.1, 0.1, 0.5, 0.9), (0.25, 0.375, 0.75, 0.625)),
                format="rel_xyxy",
                labels=("a", "a"),
            ),
            id="a polygon among boxes",
        ),
        pytest.param(
            "0 0.5 0.5 0.2 0.4 0.1 0.2 2 0.3 0.4 0\n",
            {0: "a"},
            (2, 3),
            Objects(
                boxes=((0.5, 0.5, 0.2, 0.4),),
                format="rel_center_xywh",
                labels=("a",),
                keypoints=((0.1, 0.2, 2.0, 0.3, 0.4, 0.0),),
            ),
            id="keypoints",
        ),
        pytest.param(
            "0 0.5 0.5 0.2 0.4 0.1 0.2 0 0\n",
            {0: "a"},
            (2, 2),
            Objects(
                boxes=((0.5, 0.5, 0.2, 0.4),),
                format="rel_center_xywh",
                labels=("a",),
                keypoints=((0.1, 0.2, 2.0, 0.0, 0.0, 0.0),),
            ),
            id="keypoints without visibility",
        ),
    ],
)
def test_parse_labels(text, names, keypoint_shape, expected):
    assert parse_labels(text, names=names, keypoint_shape=keypoint_shape)[0] == expected


@pytest.mark.parametrize(
    ("text", "keypoint_shape", "message"),
    [
        pytest.param(BOX + "0 0.5 0.5 0.2\n", None, "line 2: 4 numbers", id="too few"),
        pytest.param("0 0.5 0.5 0.2 0.4 0.9\n", None, "line 1: 6 numbers", id="a score"),
        pytest.param("0 .1 .1 .2 .2 .3 .3 .4\n", None, "line 1: 8 numbers", id="half a point"),
        pytest.param("2 0.5 0.5 0.2 0.4\n", None, r"class 2 .* 2 classes \(0 to 1\)", id="class"),
        pytest.param("-1 0.5 0.5 0.2 0.4\n", None, "class '-1'", id="negative class"),
        pytest.param("0.5 0.5 0.5 0.2 0.4\n", None, "class '0.5'", id="half a class"),
        pytest.param("dog 0.5 0.5 0.2 0.4\n", None, "'dog' is not a number", id="a word"),
        pytest.param("0 0.5 nan 0.2 0.4\n", None, "'nan' is not a number", id="not finite"),
        pytest.param("0 320 240 64 48\n", None, "320 is not a fraction", id="pixels"),
        pytest.param(BOX, (17, 3), r"0 numbers .* makes 51", id="no keypoints"),
    ],
)
def test_malformed_labels(text, keypoint_shape, message):
    with pytest.raises(RecordError, match=message) as caught:
        parse_labels(text, names={0: "a", 1: "b"}, keypoint_shape=keypoint_shape)
    assert caught.value.reason == "malformed annotation"


def test_what_boxes_lose_is_counted():
    triangle, oriented = "0 .1 .2 .5 .1 .3 .9\n", "0 .1 .1 .5 .1 .5 .5 .1 .5\n"
    assert parse_labels(triangle * 2 + oriented + BOX)[1] == {
        "not kept: polygon": 2,
        "not kept: corners of an oriented box": 1,
    }


@pytest.mark.parametrize(
    ("lines", "shape"),
    [
        pytest.param(["0 .5 .5 .2 .4 .45 .4 .55 .6 0 0 .5 .5"] * 3, (4, 2), id="x, y"),
        pytest.param(["0 .5 .5 .2 .4 .45 .4 2 .55 .6 1"] * 3, (2, 3), id="x, y, visibility"),
        pytest.param(["0 .5 .5 .2 .4 .45 .4 .55 .6", "0 .5 .5 .2 .4"], None, id="boxes, too"),
        pytest.param(
            ["0 .1 .1 .2 .1 .2 .2 .1 .2", "0 .8 .8 .9 .8 .9 .9 .8 .9"], None, id="corners"
        ),
        pytest.param(["0 .1 .1 .4 .1 .4 .4", "0 .5 .5 .9 .5 .9 .9"], None, id="triangles"),
        pytest.param(["0 .5 .5 .2 .4"], None, id="boxes"),
        pytest.param(["0 a b c d e f"], None, id="no numbers"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_lines_that_may_have_keypoints(lines, shape):
    assert possible_keypoints(lines) == shape
    assert possible_keypoints(["\n".join(lines)]) == shape


def test_nobody_has_so_many_boxes(monkeypatch):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    assert len(parse_labels(BOX * 10)[0].boxes) == 10
    with pytest.raises(RecordError, match="more than 10 boxes of one image"):
        parse_labels(BOX * 11)
