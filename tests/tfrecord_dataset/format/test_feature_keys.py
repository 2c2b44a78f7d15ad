"""Keys that store features."""

import pytest

from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import list_specs, with_key_of, written_key


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
