"""Declarations of features, and what is said of wrong ones."""

import json

import pytest

from tfrecord_dataset.declaration import features_from_json
from tfrecord_dataset.errors import ConfigError, UnknownNameError


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


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({"kind": "image", "key": "image/encoded", "format": "png"}, id="image"),
        pytest.param({"kind": "class_label", "default": -1, "bare": True}, id="label"),
        pytest.param({"kind": "class_label", "classes": ["a"], "label_offset": 1}, id="classes"),
        pytest.param({"kind": "scalar", "dtype": "float32", "default": 0}, id="default of 0"),
        pytest.param({"kind": "scalar", "dtype": "float32", "default": 0.5}, id="fraction"),
        pytest.param({"kind": "scalar", "dtype": "bytes", "default": "none"}, id="text"),
        pytest.param({"kind": "sequence", "dtype": "int64", "shape": [None, 4]}, id="rows"),
        pytest.param(
            {"kind": "tensor", "dtype": "uint8", "shape": [], "encoding": "bytes"}, id="raw"
        ),
        pytest.param({"kind": "audio", "shape": [None, 2], "sample_rate": 8000}, id="audio"),
        pytest.param(
            {"kind": "boxes", "label_offset": 0, "attributes": {"area": "float32"}, "keypoints": 3},
            id="boxes",
        ),
        pytest.param({"kind": "boxes", "key": "image/object", "classes": ["a"]}, id="their key"),
    ],
)
def test_features_are_read_as_written(declared):
    features = features_from_json({"x": declared})

    written = json.loads(json.dumps([each.to_json() for each in features.values()]))

    assert features_from_json(written) == features
    assert "unit" not in written[0]


@pytest.mark.parametrize(
    ("declared", "dtype", "shape"),
    [
        pytest.param({"kind": "audio"}, "float32", (None, None), id="audio"),
        pytest.param({"kind": "sequence", "dtype": "int64"}, "int64", (None,), id="sequence"),
        pytest.param(
            {"kind": "sequence", "dtype": "float32", "shape": [None, 2]},
            "float32",
            (None, 2),
            id="rows",
        ),
        pytest.param({"kind": "class_label", "shape": [None]}, "int64", (None,), id="labels"),
        pytest.param(
            {"kind": "tensor", "dtype": "uint16", "shape": [], "encoding": "bytes"},
            "uint16",
            (),
            id="raw",
        ),
    ],
)
def test_dtypes_and_shapes(declared, dtype, shape):
    (feature,) = features_from_json([{"name": "x", **declared}]).values()

    assert (feature.dtype, feature.shape) == (dtype, shape)
    assert feature.encoding == declared.get("encoding", "")


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        pytest.param([{"kind": "image"}], ConfigError, "has no name", id="no name"),
        pytest.param([("x", "int64")], ConfigError, "is not a declaration", id="no mapping"),
        pytest.param({"image": {}}, ConfigError, "has no kind", id="no kind"),
        pytest.param({"x": 5}, ConfigError, "5 is not a declaration", id="a number"),
        pytest.param({"x": {"kind": ["text"]}}, ConfigError, "give a string", id="kinds"),
        pytest.param(
            {"x": {"kind": "image", "shape": 5}}, ConfigError, "shape 5; give a list", id="no list"
        ),
        pytest.param(
            {"x": {"kind": "class_label", "classes": "ab"}}, ConfigError, "of strings", id="classes"
        ),
        pytest.param(
            {"x": {"kind": "audio", "sample_rate": "8k"}}, ConfigError, "whole number", id="rate"
        ),
        pytest.param(
            {"x": {"kind": "boxes", "label_offset": 1 << 70}}, ConfigError, "whole", id="offset"
        ),
        pytest.param(
            {"x": {"kind": "scalar", "dtype": "int64", "default": 0.5}},
            ConfigError,
            "default 0.5; give a value of int64",
            id="default",
        ),
        pytest.param(
            {"x": {"kind": "imagee"}}, UnknownNameError, "did you mean 'image'", id="unknown kind"
        ),
        pytest.param({"age": {"kind": "scalar"}}, ConfigError, "has no dtype", id="no dtype"),
        pytest.param(
            [{"name": "a", "kind": "text"}] * 2, ConfigError, "two features", id="one name twice"
        ),
        pytest.param(
            {"image": {"kind": "image", "shape": [28, 28]}},
            ConfigError,
            r"\[height, width, channels\]",
            id="an image of two axes",
        ),
        pytest.param(
            {"x": {"kind": "tensor", "dtype": "float32"}},
            ConfigError,
            r"tensor feature 'x' has no shape; give its sizes",
            id="a tensor without a shape",
        ),
        pytest.param(
            {"x": {"kind": "tensor", "dtype": "float32", "shape": [None, 3]}},
            ConfigError,
            r"shape \[None, 3\]; give fixed sizes",
            id="a tensor of an open shape",
        ),
        pytest.param(
            {"x": {"kind": "sequence", "dtype": "int64", "shape": [5]}},
            ConfigError,
            r"\[null\], or \[null, 4\]",
            id="a sequence of fixed length",
        ),
        pytest.param(
            {"x": {"kind": "sequence", "dtype": "int64", "shape": [None, None]}},
            ConfigError,
            r"\[null\], or \[null, 4\]",
            id="a sequence of open rows",
        ),
        pytest.param(
            {"x": {"kind": "audio", "shape": [None]}},
            ConfigError,
            r"\[samples, channels\]",
            id="audio of one axis",
        ),
        pytest.param({"x": {"kind": "text", "shape": [3]}}, ConfigError, r"give \[\]", id="texts"),
        pytest.param(
            {"x": {"kind": "boxes", "shape": [4]}}, ConfigError, r"\[null, 4\]", id="sides"
        ),
        pytest.param(
            {"x": {"kind": "sequence", "dtype": "int64", "shape": [None, -1]}},
            ConfigError,
            "give a list of whole numbers",
            id="a negative size",
        ),
        pytest.param(
            {"x": {"kind": "class_label", "shape": [3]}},
            ConfigError,
            "any number of labels",
            id="three labels",
        ),
        pytest.param(
            {"x": {"kind": "tensor", "dtype": "int8", "shape": [3], "encoding": "byte"}},
            UnknownNameError,
            "did you mean 'bytes'",
            id="unknown encoding",
        ),
        pytest.param(
            {"x": {"kind": "text", "encoding": "bytes"}},
            UnknownNameError,
            "none at all",
            id="a kind without encodings",
        ),
    ],
)
def test_wrong_declarations(declared, error, message):
    with pytest.raises(error, match=message):
        features_from_json(declared)
