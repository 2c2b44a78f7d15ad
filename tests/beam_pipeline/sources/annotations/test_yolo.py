"""Limits on the contents of YOLO files."""

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.sources.annotations.yolo import (
    YoloConfig,
    class_names,
    parse_labels,
    read_config,
)
from beam_pipeline.sources.tree import Tree

BOX = "0 0.5 0.5 0.2 0.4\n"


def test_a_description_has_a_bound(make_tree):
    with pytest.raises(ConfigError, match="file too large"):
        read_config(Tree(make_tree({"data.yaml": "names: [" + "a, " * 400_000})))


def test_a_number_of_keypoints_takes_no_memory(make_tree):
    stated = "names: [cat]\nkpt_shape: [1000000000000, 3]\nflip_idx: [0]"
    with pytest.raises(ConfigError, match="it has each number from 0 to 999999999999 once"):
        read_config(Tree(make_tree({"data.yaml": stated})))


def test_classes_of_which_nothing_is_said():
    assert class_names(None, "", "data.yaml") is None
    assert class_names({"0": "a", "7": "b"}, "", "data.yaml") == {0: "a", 7: "b"}


def test_a_label_file_has_a_bound_of_boxes(monkeypatch):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    assert len(parse_labels(BOX * 10, YoloConfig()).boxes) == 10
    with pytest.raises(RecordError, match="more than 10 boxes of one image"):
        parse_labels(BOX * 11, YoloConfig())
