"""Bounds of what YOLO's files say, and lines that may have keypoints."""

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.sources.yolo.config import class_names
from beam_pipeline.sources.yolo.labels import parse_labels, possible_keypoints
from beam_pipeline.sources.yolo.layout import read_config

BOX = "0 0.5 0.5 0.2 0.4\n"


def test_a_description_has_a_bound(make_tree):
    with pytest.raises(ConfigError, match="file too large"):
        read_config(make_tree({"data.yaml": "names: [" + "a, " * 400_000}))


def test_classes_of_which_nothing_is_said():
    assert class_names(None, "", "data.yaml") is None
    assert class_names({"0": "a", "7": "b"}, "", "data.yaml") == {0: "a", 7: "b"}


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
    assert len(parse_labels(BOX * 10).boxes) == 10
    with pytest.raises(RecordError, match="more than 10 boxes of one image"):
        parse_labels(BOX * 11)
