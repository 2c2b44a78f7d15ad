"""Descriptions of features by their kinds, for people and for TFDS."""

import dataclasses

import pytest
from inspecting import inspect_record

from beam_pipeline import kinds
from beam_pipeline.describe.tfds import leaves
from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Objects, Record
from tfrecord_dataset.format.feature import Feature

TENSOR = Feature(name="x", key="x", kind="tensor", dtype="float32", shape=(2, 3))
ROWS = Feature(name="x", key="x", kind="sequence", dtype="int64", shape=(None, 2))
VALUES = Feature(name="x", key="x", kind="sequence", dtype="int64", shape=(None,))
IMAGE = Feature(
    name="image", key="image/encoded", kind="image", dtype="uint8", shape=(None, None, 3)
)
MAP = Feature(
    name="segmentation",
    key="image/segmentation/class/encoded",
    kind="map",
    dtype="uint8",
    shape=(None, None, 1),
)


@pytest.mark.parametrize(
    ("feature", "words", "note"),
    [
        pytest.param(TENSOR, ["float32", "[2, 3]"], " (float32 2×3)", id="tensor"),
        pytest.param(ROWS, ["int64", "[n, 2]"], " (int64 2×2)", id="rows"),
        pytest.param(VALUES, ["int64"], "", id="values"),
        pytest.param(dataclasses.replace(IMAGE, format="png"), ["png"], "", id="image"),
        (dataclasses.replace(IMAGE, format="mixed"), ["in several formats"], ""),  # mixed
    ],
)
def test_words(feature, words, note):
    kind = kinds.named(feature)
    assert list(kind.type_words(feature)) == words
    assert kind.note(feature, {feature.key: [1, 2, 3, 4]}) == note


@pytest.mark.parametrize("feature", [IMAGE, MAP], ids=["image", "map"])
def test_tfds_decodes_only_what_is_encoded(feature):
    classes = {key: leaf["pythonClassName"] for key, leaf in leaves(feature).items()}
    decoded = [key for key, name in classes.items() if name.endswith("image_feature.Image")]
    assert decoded == [feature.key]
    assert len(classes) > 1


@pytest.mark.parametrize(
    ("flips", "names", "is_refused"),
    [
        pytest.param((1, 0), ("left", "right"), False, id="each once"),
        pytest.param((), ("left", "right"), False, id="none"),
        pytest.param((0, 0), ("left", "right"), True, id="one twice"),
        pytest.param((1, 2), ("left", "right"), True, id="one that is none"),
        pytest.param((0,), ("left", "right"), True, id="not all"),
    ],
)
def test_flips_are_the_numbers_of_all_keypoints(flips, names, is_refused):
    objects = Objects(image_size=(10, 10), boxes=(), keypoint_names=names, keypoint_flips=flips)
    record = Record(key="a", features={"boxes": objects})
    if is_refused:
        with pytest.raises(RecordError, match="keypoint flips"):
            inspect_record(record, Rules())
    else:
        inspect_record(record, Rules())
