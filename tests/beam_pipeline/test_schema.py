"""What records hold becomes the schema."""

import pytest

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.records import Boxes, ClassLabel, FileRef, Image, Record
from beam_pipeline.schema import Feature, Observed, dtype_of, infer, observe

JPEG = Image(file=FileRef(path="a.jpg"), format="jpeg", height=20, width=30)
PNG = Image(file=FileRef(path="a.png"), format="png", height=40, width=30)


def one_box(label, **attributes):
    values = {name: (value,) for name, value in attributes.items()}
    return Boxes(coordinates=((0, 0, 1, 1),), labels=(label,), attributes=values)


def schema_of(*features, declared=None):
    records = [Record(key=str(i), features=each) for i, each in enumerate(features)]
    found = infer(observe(records), num_records=len(records), declared=declared or {})
    return {feature.name: feature for feature in found}


@pytest.mark.parametrize(
    ("features", "name", "expected"),
    [
        pytest.param(
            [{"image": JPEG}, {"image": PNG}],
            "image",
            {"kind": "image", "dtype": "uint8", "key": "image/encoded", "format": "mixed"},
            id="pictures",
        ),
        pytest.param([{"image": JPEG}] * 3, "image", {"shape": (20, 30, 3)}, id="of one size"),
        pytest.param(
            [{"image": JPEG}, {"image": PNG}], "image", {"shape": (None, None, 3)}, id="of several"
        ),
        pytest.param(
            [{"mask": PNG}], "mask", {"key": "mask/encoded", "format": "png"}, id="second picture"
        ),
        pytest.param(
            [{"image": JPEG, "label": ClassLabel("b")}, {"image": JPEG, "label": ClassLabel("a")}],
            "label",
            {"kind": "class_label", "key": "image/class/label", "classes": ("a", "b")},
            id="class of the picture",
        ),
        pytest.param(
            [{"label": ClassLabel("10")}, {"label": ClassLabel("9")}],
            "label",
            {"key": "label/label", "classes": ("9", "10")},
            id="numbers as numbers, no picture",
        ),
        pytest.param(
            [{"boxes": one_box("x", area=1)}, {"boxes": one_box("y", area=1.5)}, {}],
            "boxes",
            {"key": "image/object", "classes": ("x", "y"), "label_offset": 1,
             "attributes": {"area": "float32"}},
            id="boxes, in some records",
        ),
        pytest.param([{"n": 1}, {"n": 2}], "n", {"kind": "scalar", "dtype": "int64"}, id="ints"),
        pytest.param([{"n": 1}, {"n": 2.5}], "n", {"dtype": "float32"}, id="ints and floats"),
        pytest.param([{"t": "x"}, {}], "t", {"kind": "text", "dtype": "string"}, id="text"),
    ],
)  # fmt: skip
def test_infer(features, name, expected):
    found = schema_of(*features)[name]
    assert {key: getattr(found, key) for key in expected} == expected


def test_declared_classes_keep_their_order():
    boxes = {"boxes": Boxes(coordinates=((0, 0, 1, 1),), labels=("cat",))}
    declared = {"boxes": ("dog", "cat", "emu")}
    assert schema_of(boxes, declared=declared)["boxes"].classes == ("dog", "cat", "emu")
    with pytest.raises(DataError, match="not declared: cat"):
        schema_of(boxes, declared={"boxes": ("dog",)})


@pytest.mark.parametrize(
    ("features", "message"),
    [
        pytest.param([{"x": 1}, {"x": "one"}], "int64 in 0, string in 1", id="two types"),
        pytest.param([{"x": 1}, {}], "'x' is missing in 1 of 2 records", id="missing number"),
        pytest.param([{"image": JPEG}, {}], "'image' is missing", id="missing picture"),
    ],
)
def test_unlike_records_are_refused(features, message):
    with pytest.raises(DataError, match=message):
        schema_of(*features)


def test_observations_merge_like_one():
    records = [
        Record(key=str(i), features={"n": i if i % 2 else i + 0.5, "label": ClassLabel(str(i))})
        for i in range(6)
    ]
    whole, merged = observe(records), observe(records[3:])
    for name, part in observe(records[:3]).items():
        merged.setdefault(name, Observed()).merge(part)
    assert merged == whole


def test_json_round_trip():
    feature = Feature(
        name="boxes", kind="boxes", dtype="float32", shape=(None, 4), key="image/object",
        classes=("a",), label_offset=1, attributes={"difficult": "int64"},
    )  # fmt: skip
    data = feature.to_json()
    assert "keypoints" not in data
    assert Feature.from_json(data) == feature


def test_a_value_of_no_kind_is_refused():
    with pytest.raises(RecordError, match="is a complex"):
        dtype_of(1j)
