"""Declarations of features, and what is said of wrong ones."""

import pytest

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import class_names, features_from_json, with_keys_of


def test_a_declaration_by_name_is_filled_up():
    features = features_from_json(
        {
            "image": {"kind": "image", "shape": [28, 28, 1]},
            "age": {"kind": "scalar", "dtype": "float32"},
            "boxes": {"kind": "boxes", "key": "image/object", "classes": ["cat"]},
        }
    )

    assert list(features) == ["image", "age", "boxes"]
    assert (features["image"].dtype, features["image"].shape) == ("uint8", (28, 28, 1))
    assert features["age"].key == "age"
    assert (features["boxes"].shape, features["boxes"].label_offset) == ((None, 4), 1)


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        pytest.param([{"kind": "image"}], ConfigError, "has no name", id="no name"),
        pytest.param({"image": {}}, ConfigError, "has no kind", id="no kind"),
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
    ],
)
def test_wrong_declarations(declared, error, message):
    with pytest.raises(error, match=message):
        features_from_json(declared)


@pytest.mark.parametrize(
    ("record_keys", "expected"),
    [
        pytest.param({"pic", "label"}, ["pic", "label", "things"], id="the names"),
        pytest.param(
            {"image/encoded", "image/class/label", "image/object/bbox/xmin"},
            ["image/encoded", "image/class/label", "image/object"],
            id="the standard keys",
        ),
        pytest.param(
            {"pic", "image/encoded", "image/class/label", "things/bbox/xmin"},
            ["pic", "image/class/label", "things"],
            id="the names win",
        ),
        pytest.param({"other"}, ["pic", "label", "things"], id="neither"),
    ],
)
def test_keys_of_bare_records(record_keys, expected):
    declared = features_from_json(
        {"pic": {"kind": "image"}, "label": {"kind": "class_label"}, "things": {"kind": "boxes"}}
    )

    assert [each.key for each in with_keys_of(declared, record_keys).values()] == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        pytest.param({"b": {"kind": "boxes", "classes": ["x"]}}, ["x"], id="boxes"),
        pytest.param(
            {
                "b": {"kind": "boxes", "classes": ["x"]},
                "l": {"kind": "class_label", "classes": ["y"]},
            },
            ["y"],
            id="the label wins",
        ),
        pytest.param({"t": {"kind": "text"}}, [], id="none"),
    ],
)
def test_class_names(declared, expected):
    assert class_names(features_from_json(declared).values()) == expected
