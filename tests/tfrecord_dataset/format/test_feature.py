"""Declarations of features, messages about invalid ones, and the keys that store them."""

import json

import numpy as np
import pytest
import yaml

from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature, class_names
from tfrecord_dataset.format.feature_keys import list_specs, with_key_of, written_key


def test_a_declaration_by_name_is_filled_up():
    features = features_from_json(
        {
            "image": {"kind": "image", "shape": [28, 28, 1]},
            "age": {"kind": "scalar", "dtype": "float32"},
            "boxes": {
                "kind": "boxes",
                "key": "image/object",
                "classes": ["cat"],
                "label_offset": None,
            },
        }
    )

    assert list(features) == ["image", "age", "boxes"]
    assert (features["image"].dtype, features["image"].shape) == ("uint8", (28, 28, 1))
    assert features["age"].key == "age"
    assert (features["boxes"].shape, features["boxes"].label_offset) == ((None, 4), 1)


# One feature per entry, in YAML.
DECLARED = """
{kind: image, key: image/encoded, format: png}
{kind: class_label, default: -1, bare: true}
{kind: class_label, classes: [a], label_offset: 1}
{kind: scalar, dtype: float32, default: 0}
{kind: scalar, dtype: float32, default: 0.5}
{kind: scalar, dtype: bytes, default: none}
{kind: sequence, dtype: int64, shape: [null, 4]}
{kind: tensor, dtype: uint8, shape: [], encoding: bytes}
{kind: audio, shape: [null, 2], sample_rate: 8000}
{kind: boxes, label_offset: 0, attributes: {area: float32}, keypoints: 3}
{kind: boxes, key: image/object, classes: [a]}
"""


@pytest.mark.parametrize("declared", DECLARED.strip().splitlines())
def test_features_are_read_as_written(declared):
    features = features_from_json({"x": yaml.safe_load(declared)})

    written = json.loads(json.dumps([feature.to_json() for feature in features.values()]))

    assert features_from_json(written) == features
    assert "unit" not in written[0]


@pytest.mark.parametrize(
    ("declared", "dtype", "shape"),
    [
        ({"kind": "audio"}, "float32", (None, None)),
        ({"kind": "sequence", "dtype": "int64"}, "int64", (None,)),
        ({"kind": "sequence", "dtype": "float32", "shape": [None, 2]}, "float32", (None, 2)),
        ({"kind": "class_label", "shape": [None]}, "int64", (None,)),
        ({"kind": "tensor", "dtype": "uint16", "shape": [], "encoding": "bytes"}, "uint16", ()),
    ],
)
def test_dtypes_and_shapes(declared, dtype, shape):
    (feature,) = features_from_json([{"name": "x", **declared}]).values()

    assert (feature.dtype, feature.shape) == (dtype, shape)
    assert feature.encoding == declared.get("encoding", "")


# Declarations in YAML, and regular expressions for their messages.
WRONG = r"""
[{kind: image}] -> has no name
[[x, int64]] -> is not a declaration
{image: {}} -> has no kind
{x: 5} -> 5 is not a declaration
{x: {kind: [text]}} -> feature 'x': kind is a list of 1, not text; correct
{x: {kind: image, shape: 5}} -> shape is 5, not a list
{x: {kind: class_label, classes: ab}} -> classes is "ab", not a list
{x: {kind: audio, sample_rate: 8k}} -> sample_rate is "8k", not a whole number
{x: {kind: boxes, label_offset: 1180591620717411303424}} -> whole
{x: {kind: scalar, dtype: int64, default: 0.5}} -> default 0.5; give a value of int64
{age: {kind: scalar}} -> has no dtype
[{name: a, kind: text}, {name: a, kind: text}] -> two features
{image: {kind: image, shape: [28, 28]}} -> \[height, width, channels\]
{x: {kind: tensor, dtype: float32}} -> tensor feature 'x' has no shape; give its sizes
{x: {kind: tensor, dtype: float32, shape: [null, 3]}} -> shape \[None, 3\]; give fixed sizes
{x: {kind: sequence, dtype: int64, shape: [5]}} -> \[null\], or \[null, 4\]
{x: {kind: sequence, dtype: int64, shape: [null, null]}} -> \[null\], or \[null, 4\]
{x: {kind: audio, shape: [null]}} -> \[samples, channels\]
{x: {kind: text, shape: [3]}} -> give \[\]
{x: {kind: boxes, shape: [4]}} -> \[null, 4\]
{x: {kind: sequence, dtype: int64, shape: [null, -1]}} -> shape \[None, -1\]; give \[null\]
{x: {kind: class_label, shape: [3]}} -> any number of labels
{5: {kind: text}} -> feature 5: name is 5, not text
{x: {kind: image, shape: [null, null, 7]}} -> \[height, width, channels\]
{x: {kind: tensor, dtype: int8, shape: [3], encoding: bytes, default: 0}} -> a value of bytes
{x: {kind: boxes, keypoints: 10000000000}} -> has 10,000,000,000 keypoints .* up to 10,000
{x: {kind: boxes, keypoint_flips: [1, -1]}} -> flips from 0
"""
UNKNOWN = """
{x: {kind: imagee}} -> did you mean 'image'
{x: {kind: tensor, dtype: int8, shape: [3], encoding: byte}} -> did you mean 'bytes'
{x: {kind: text, encoding: bytes}} -> there is none, so leave it out
{x: {kind: boxes, geometry: [polygons]}} -> did you mean 'polygon'
"""


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (row, error)
        for table, error in ((WRONG, ConfigError), (UNKNOWN, UnknownNameError))
        for row in table.strip().splitlines()
    ],
)
def test_wrong_declarations(row, error):
    declared, message = row.split(" -> ")
    with pytest.raises(error, match=message):
        features_from_json(yaml.safe_load(declared))


@pytest.mark.parametrize("bound", [10**400, float("nan"), np.zeros(2)])
def test_a_bound_is_a_finite_number(bound):
    with pytest.raises(ConfigError, match=r"minimum is .*, not a number or null"):
        features_from_json({"x": {"kind": "scalar", "dtype": "float32", "minimum": bound}})


def test_zero_is_a_bound_and_none_is_not():
    bounded = Feature(name="n", kind="scalar", dtype="int64", shape=(), key="n", minimum=0)
    assert bounded.to_json()["minimum"] == 0
    assert "maximum" not in bounded.to_json()


BOXES = {"b": {"kind": "boxes", "classes": ["x"]}}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param(BOXES, ["x"], id="boxes"),
        pytest.param(
            {**BOXES, "l": {"kind": "class_label", "classes": ["y"]}}, ["y"], id="the label wins"
        ),
        pytest.param({"t": {"kind": "text"}}, [], id="none"),
    ],
)
def test_class_names(declared, expected):
    assert class_names(features_from_json(declared).values()) == expected


@pytest.mark.parametrize(
    ("record_keys", "expected"),
    [
        ("pic label", "pic label things"),
        (
            "image/encoded image/class/label image/object/bbox/xmin",
            "image/encoded image/class/label image/object",
        ),
        (
            "pic image/encoded image/class/label things/bbox/xmin",
            "pic image/class/label things",
        ),
        (
            "pic/encoded label/label things/object/bbox/xmin",
            "pic/encoded label/label things/object",
        ),
        ("other", "pic label things"),
    ],
)
def test_keys_of_bare_records(record_keys, expected):
    declared = features_from_json(
        {"pic": {"kind": "image"}, "label": {"kind": "class_label"}, "things": {"kind": "boxes"}}
    )

    keys = {*record_keys.split()}
    found = [(with_key_of(each, keys) or each).key for each in declared.values()]
    assert found == expected.split()


@pytest.mark.parametrize(
    ("record_keys", "encoding"), [({"things"}, "flat"), ({"things/bbox/xmin"}, "")]
)
def test_boxes_under_one_key_are_flat(record_keys, encoding):
    declared = features_from_json({"things": {"kind": "boxes"}})

    assert with_key_of(declared["things"], record_keys).encoding == encoding


@pytest.mark.parametrize(
    ("kind", "dtype", "expected"),
    [
        (
            *("image", "uint8"),
            "a/encoded a/format a/filename a/source_id a/key/sha256 a/height a/width",
        ),
        ("class_label", "int64", "image/class/label image/class/text"),
        ("audio", "float32", "a/encoded a/format a/sample_rate a/num_samples a/channels"),
        ("boxes", "float32", "a/bbox/xmin a/bbox/ymin a/bbox/xmax a/bbox/ymax"),
    ],
)
def test_additional_keys(kind, dtype, expected):
    key = "a" if kind == "boxes" else expected.split()[0]
    feature = Feature(name="a", kind=kind, dtype=dtype, shape=(), key=key)

    assert [*list_specs(feature)] == expected.split()


@pytest.mark.parametrize(
    ("name", "kind", "key"),
    [
        ("boxes", "boxes", "image/object"),
        ("faces", "boxes", "faces/object"),
        ("label", "class_label", "image/class/label"),
        ("pose", "class_label", "pose/label"),
        ("captions", "sequence", "image/caption"),
        ("transcript", "text", "transcript"),
        ("image", "image", "image/encoded"),
        ("depth", "map", "image/depth/encoded"),
        ("age", "scalar", "age"),
    ],
)
def test_keys_that_a_build_writes(name, kind, key):
    assert written_key(name, kind, ["image", name]) == key
