"""The schema is inferred from records, and from existing Examples: docs/dev/metadata.md."""

import dataclasses

import inference_cases
import inspecting
import numpy as np
import pytest
from inspecting import Inspected, observe

from beam_pipeline.errors import DataError
from beam_pipeline.kinds.stored import summary
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
)
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.schema.inference import complete
from tfrecord_dataset.format.feature import Feature

JPEG = Image(file=FileRef(path="a.jpg"), format="jpeg", height=20, width=30)
PNG = Image(file=FileRef(path="a.png"), format="png", height=40, width=30)

DEEP = dataclasses.replace(PNG, bits=16)


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


def schema_of(*features, **declared):
    records = (Inspected(key=str(i), features=each) for i, each in enumerate(features))
    return {feature.name: feature for feature in inspecting.schema_of(*records, **declared)}


def in_words(feature):
    """Describe an inferred feature completely."""
    more = [feature.format, feature.encoding, *feature.classes]
    more += [f"{name}:{dtype}" for name, dtype in feature.attributes.items()]
    more += [f"from {feature.label_offset}"] * bool(feature.label_offset)
    more += [f"{feature.sample_rate} Hz"] * bool(feature.sample_rate)
    words = feature.kind, feature.dtype, str([*feature.shape]), feature.key, *more
    return " ".join(filter(None, words))


# Records of one feature; "label" is next to an image.
@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("image", [JPEG, PNG], "image uint8 [None, None, 3] image/encoded mixed"),
        ("image", [JPEG] * 3, "image uint8 [20, 30, 3] image/encoded jpeg"),
        ("mask", [PNG], "image uint8 [40, 30, 3] mask/encoded png"),
        ("image", [DEEP, DEEP], "image uint16 [40, 30, 3] image/encoded png"),
        ("image", [DEEP, PNG], "image uint8 [40, 30, 3] image/encoded png"),
        ("x", [array((2,), "float16")], "tensor float16 [2] x bytes"),
        ("x", [array((2,), "float64")], "tensor float64 [2] x bytes"),
        ("label", [*map(ClassLabel, "ba")], "class_label int64 [] image/class/label a b"),
        ("age", [ClassLabel("10"), ClassLabel("9")], "class_label int64 [] age/label 9 10"),
        (
            *("boxes", [one_box("x", area=1), one_box("y", area=1.5), None]),
            "boxes float32 [None, 4] image/object x y area:float32 from 1",
        ),
        ("n", [1, 2], "scalar int64 [] n"),
        ("n", [1, 2.5], "scalar float32 [] n"),
        ("t", ["x", None], "text string [] t"),
        ("v", [array((5,))] * 2, "tensor float32 [5] v"),
        ("v", [array((5,), "int8")], "tensor int64 [5] v"),
        ("large", [array((16, 17), "uint8")], "tensor uint8 [16, 17] large bytes"),
        ("doubles", [array((3,), "float64")], "tensor float64 [3] doubles bytes"),
        ("widths", [array((3,), "uint8"), array((3,), "int16")], "tensor int64 [3] widths"),
        ("v", [array((3,), "int64"), array((4,))], "sequence float32 [None] v"),
        ("rows", [array((3, 2)), array((4, 2))], "sequence float32 [None, 2] rows"),
        ("words", [("a", "b"), ()], "sequence string [None] words"),
        (
            *("tags", [ClassLabels(("b", "a")), ClassLabels(()), None]),
            "class_label int64 [None] tags/label a b",
        ),
        (
            *("audio", [audio(5), audio(6, encoding="flac")]),
            "audio float32 [None, 1] audio/encoded mixed 8000 Hz",
        ),
        ("audio", [audio(5), audio(5, 2, 16000)], "audio float32 [5, None] audio/encoded wav"),
    ],
)
def test_infer(name, values, expected):
    beside = {"image": JPEG} if name == "label" else {}
    records = ({**beside} if value is None else {**beside, name: value} for value in values)
    assert in_words(schema_of(*records)[name]) == expected


def test_declared_classes_keep_their_order():
    boxes = {"boxes": Objects(boxes=((0, 0, 1, 1),), labels=("cat",))}
    declared = ("dog", "cat", "emu")
    assert schema_of(boxes, boxes=declared)["boxes"].classes == declared
    with pytest.raises(DataError, match="undeclared classes: cat"):
        schema_of(boxes, boxes=("dog",))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        pytest.param([{"x": 1}, {"x": "one"}], "int64 in 0, string in 1", id="two types"),
        pytest.param([{"x": 1}, {}], "'x' is missing in 1 of 2 records", id="missing number"),
        pytest.param([{"image": JPEG}, {}], "'image' is missing", id="missing image"),
        ([{"v": array((1, 2))}, {"v": array((1, 3))}], r"axis 1: \[2, 3\]"),  # rows differ
        # The smallest shapes agree; a later one does not.
        ([{"v": array((1, 2))}, {"v": array((2, 2))}, {"v": array((3, 1))}], r"axis 1: \[1, 2\]"),
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
    image, label, n = complete(declared, observe(records), {})
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
    observed = observe(
        [Inspected(key="x", features=named[0]), Inspected(key="y", features={"boxes": nameless})]
    )
    with pytest.raises(DataError, match="with class names in x, but without in y"):
        complete(declared, observed, {})


_KINDS = {int: "int64", float: "float32", bytes: "bytes"}


def examples(key, *lists):
    """Return records of Examples with one key; None is a list without kind, MISSING no key."""
    return [
        Inspected(
            key=f"a.tfrecord:{number}",
            features={}
            if values is inference_cases.MISSING
            else {key: summary(_KINDS[type(values[0])] if values else "", values or [])},
            example=FileRef(path="a.tfrecord"),
        )
        for number, values in enumerate(lists)
    ]


def inferred(key, *lists, declared=()):
    records = examples(key, *lists)
    (feature,) = inspecting.schema_of(*records, **{key: declared})
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


@pytest.mark.parametrize(("key", "records", "expected"), inference_cases.CASES)
def test_infer_of_lists(key, records, expected):
    assert inference_cases.in_words(inferred(key, *records)) == expected


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(np.full((64, 64), 0.5, "<f4").tobytes(), id="floats"),
        pytest.param(np.full((28, 28), 255, np.uint8).tobytes(), id="pixels"),
    ],
)
def test_the_shape_of_raw_numbers_is_not_guessed(value):
    assert inference_cases.in_words(inferred("a", [value], [value])) == "bytes string"


def test_lists_of_two_kinds_are_named_with_their_records():
    with pytest.raises(DataError) as raised:
        inferred("n", [1], [2], [0.5])
    assert "key 'n'" in str(raised.value)
    assert "a float list in a.tfrecord:2, an int64 list in a.tfrecord:0" in str(raised.value)


def test_a_schema_declared_for_examples_is_completed():
    declared = (
        Feature(name="pixels", kind="image", dtype="uint8", shape=(8, 8, 3), key="a", bare=True),
        Feature(name="breed", kind="class_label", dtype="int64", shape=(), key="b", bare=True),
        Feature(name="words", kind="sequence", dtype="string", shape=(None,), key="c", bare=True),
        Feature(name="map", kind="map", dtype="uint8", shape=(None, None, 1), key="d", bare=True),
    )
    records = [
        Inspected(
            key=f"a:{number}",
            features={
                **dict.fromkeys(("pixels", "map"), summary("bytes", [inference_cases.PNG])),
                "breed": number,
            },
            example=FileRef(path="a"),
        )
        for number in range(3)
    ]
    image, label, *others = complete(declared, observe(records), {})

    assert (image.format, image.shape) == ("png", (8, 8, 3))
    assert label.classes == ("0", "1", "2")
    assert (*others,) == declared[2:]
