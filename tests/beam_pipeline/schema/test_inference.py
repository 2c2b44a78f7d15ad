"""What records hold becomes the schema."""

import numpy as np
import pytest

from beam_pipeline.errors import DataError
from beam_pipeline.kinds import observe_all
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Inspected,
    Objects,
)
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.schema.inference import complete, infer, with_sequences_of_tokens
from tfrecord_dataset.feature import Feature

JPEG = Image(file=FileRef(path="a.jpg"), format="jpeg", height=20, width=30)
PNG = Image(file=FileRef(path="a.png"), format="png", height=40, width=30)


def array(shape, dtype="float32"):
    return Array(dtype=dtype, shape=shape, data=np.zeros(shape, dtype).tobytes())


def audio(num_samples, channels=1, sample_rate=8000, encoding="wav"):
    return Audio(
        file=FileRef(path="a"),
        format=encoding,
        sample_rate=sample_rate,
        num_samples=num_samples,
        channels=channels,
    )


def one_box(label, **attributes):
    values = {name: (value,) for name, value in attributes.items()}
    return Objects(boxes=((0, 0, 1, 1),), labels=(label,), attributes=values)


def schema_of(*features, declared=None):
    records = [Inspected(key=str(i), features=each) for i, each in enumerate(features)]
    found = infer(observe_all(records), num_records=len(records), declared=declared or {})
    return {feature.name: feature for feature in found}


@pytest.mark.parametrize(
    ("features", "name", "expected"),
    [
        pytest.param(
            [{"image": JPEG}, {"image": PNG}],
            "image",
            {"kind": "image", "dtype": "uint8", "key": "image/encoded", "format": "mixed"},
            id="images",
        ),
        pytest.param([{"image": JPEG}] * 3, "image", {"shape": (20, 30, 3)}, id="of one size"),
        pytest.param(
            [{"image": JPEG}, {"image": PNG}], "image", {"shape": (None, None, 3)}, id="of several"
        ),
        pytest.param(
            [{"mask": PNG}], "mask", {"key": "mask/encoded", "format": "png"}, id="second image"
        ),
        pytest.param(
            [{"image": JPEG, "label": ClassLabel("b")}, {"image": JPEG, "label": ClassLabel("a")}],
            "label",
            {"kind": "class_label", "key": "image/class/label", "classes": ("a", "b")},
            id="class of the image",
        ),
        pytest.param(
            [{"label": ClassLabel("10")}, {"label": ClassLabel("9")}],
            "label",
            {"key": "label/label", "classes": ("9", "10")},
            id="numbers as numbers, no image",
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
        pytest.param(
            [{"v": array((5,))}] * 2,
            "v",
            {"kind": "tensor", "dtype": "float32", "shape": (5,), "encoding": "", "key": "v"},
            id="vectors of one length",
        ),
        pytest.param(
            [{"v": array((16, 17), "uint8")}],
            "v",
            {"kind": "tensor", "dtype": "uint8", "shape": (16, 17), "encoding": "bytes"},
            id="large arrays are raw, in their own type",
        ),
        pytest.param(
            [{"v": array((3,), "float64")}],
            "v",
            {"dtype": "float64", "encoding": "bytes"},
            id="doubles lose nothing",
        ),
        pytest.param(
            [{"v": array((3,), "uint8")}, {"v": array((3,), "int16")}],
            "v",
            {"kind": "tensor", "dtype": "int64", "encoding": ""},
            id="integers of several widths",
        ),
        pytest.param(
            [{"v": array((3,), "int64")}, {"v": array((4,), "float32")}],
            "v",
            {"kind": "sequence", "dtype": "float32", "shape": (None,)},
            id="lengths that differ",
        ),
        pytest.param(
            [{"v": array((3, 2))}, {"v": array((4, 2))}],
            "v",
            {"kind": "sequence", "shape": (None, 2)},
            id="rows of two",
        ),
        pytest.param(
            [{"w": ("a", "b")}, {"w": ()}],
            "w",
            {"kind": "sequence", "dtype": "string", "shape": (None,)},
            id="words",
        ),
        pytest.param(
            [{"tags": ClassLabels(("b", "a"))}, {"tags": ClassLabels(())}, {}],
            "tags",
            {"kind": "class_label", "shape": (None,), "classes": ("a", "b"), "key": "tags/label"},
            id="several labels",
        ),
        pytest.param(
            [{"audio": audio(5)}, {"audio": audio(6, encoding="flac")}],
            "audio",
            {"kind": "audio", "shape": (None, 1), "sample_rate": 8000, "format": "mixed",
             "key": "audio/encoded"},
            id="audio",
        ),
        pytest.param(
            [{"audio": audio(5)}, {"audio": audio(5, 2, 16000)}],
            "audio",
            {"shape": (5, None), "sample_rate": 0, "format": "wav"},
            id="audio with several rates",
        ),
    ],
)  # fmt: skip
def test_infer(features, name, expected):
    found = schema_of(*features)[name]
    assert {key: getattr(found, key) for key in expected} == expected


def test_lists_that_are_all_empty_may_be_longer_elsewhere():
    schema = schema_of(
        {"x": array((0,)), "y": array((0, 4))}, {"x": array((0,)), "y": array((0, 4))}
    )

    assert [(each.kind, each.shape) for each in schema.values()] == [
        ("sequence", (None,)),
        ("sequence", (None, 4)),
    ]


@pytest.mark.parametrize("length", [4, 1000])
def test_tokens_are_a_sequence_also_where_all_are_equally_many(length):
    record = {"t": "the cat", "t/tokens": array((length,), "int64"), "x": array((length,), "int64")}

    schema = with_sequences_of_tokens(schema_of(record, record).values())

    kinds = {each.name: (each.kind, each.dtype, each.shape, each.encoding) for each in schema}
    assert kinds["t/tokens"] == ("sequence", "int64", (None,), "")
    assert kinds["x"][0] == "tensor"


def test_declared_classes_keep_their_order():
    boxes = {"boxes": Objects(boxes=((0, 0, 1, 1),), labels=("cat",))}
    declared = {"boxes": ("dog", "cat", "emu")}
    assert schema_of(boxes, declared=declared)["boxes"].classes == ("dog", "cat", "emu")
    with pytest.raises(DataError, match="undeclared classes: cat"):
        schema_of(boxes, declared={"boxes": ("dog",)})


@pytest.mark.parametrize(
    ("features", "message"),
    [
        pytest.param([{"x": 1}, {"x": "one"}], "int64 in 0, string in 1", id="two types"),
        pytest.param([{"x": 1}, {}], "'x' is missing in 1 of 2 records", id="missing number"),
        pytest.param([{"image": JPEG}, {}], "'image' is missing", id="missing image"),
        pytest.param(
            [{"v": array((1, 2))}, {"v": array((1, 3))}], r"axis 1: \[2, 3\]", id="unlike rows"
        ),
        # The smallest shapes agree; a later one does not.
        pytest.param(
            [{"v": array((1, 2))}, {"v": array((2, 2))}, {"v": array((3, 1))}],
            r"axis 1: \[1, 2\]",
            id="unlike rows, met last",
        ),
        pytest.param([{"v": array((2,))}, {"v": array((2, 2))}], "1, 2. axes", id="unlike ranks"),
    ],
)
def test_unlike_records_are_refused(features, message):
    with pytest.raises(DataError, match=message):
        schema_of(*features)


def test_a_declared_schema_is_completed_from_the_records():
    declared = (
        Feature(name="image", kind="image", dtype="uint8", shape=(None, None, 3),
                key="image/encoded"),
        Feature(name="label", kind="class_label", dtype="int64", shape=(), key="label/label"),
        Feature(name="n", kind="scalar", dtype="float32", shape=(), key="n"),
    )  # fmt: skip
    records = [Inspected(key="a", features={"image": JPEG, "label": ClassLabel("x"), "n": 1})]
    image, label, n = complete(declared, observe_all(records), {})
    assert (image.shape, image.format) == ((20, 30, 3), "jpeg")
    assert label.classes == ("x",)
    assert n is declared[2]


def test_boxes_have_names_everywhere_or_nowhere():
    nameless = Objects(boxes=((0, 0, 1, 1),))
    none = Objects(boxes=())
    named = [{"boxes": one_box("a")}, {"boxes": none}]

    assert schema_of(*named)["boxes"].classes == ("a",)
    with pytest.raises(DataError, match="with class names in 0, but without in 2; name"):
        schema_of(*named, {"boxes": nameless}, {"boxes": nameless})
    declared = parse_schema({"boxes": "boxes"})
    observed = observe_all(
        [Inspected(key="x", features=named[0]), Inspected(key="y", features={"boxes": nameless})]
    )
    with pytest.raises(DataError, match="with class names in x, but without in y"):
        complete(declared, observed, {})


def test_classes_that_are_numbers_stand_in_their_order():
    huge = "1" * 5000
    names = ["10", "9", "010", "0", huge, "100"]
    schema = schema_of(*({"label": ClassLabel(name)} for name in names))
    assert schema["label"].classes == ("0", "9", "010", "10", "100", huge)
