"""Values of records and existing Examples against a schema, and the messages for others."""

import math

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.media import size_problem
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
)
from beam_pipeline.schema.conformance import (
    conforming,
    mismatches,
    schema_specs,
)
from beam_pipeline.schema.declaration import parse_schema
from tfrecord_dataset.format.example import encode, lists
from tfrecord_dataset.format.feature import Feature

FILE = FileRef(path="/a")
PICTURE = Image(file=FILE, format="png", width=20, height=10, channels=3)
SOUND = Audio(file=FILE, format="wav", sample_rate=8000, num_samples=400, channels=1)
BOXES = Objects(boxes=((0, 0, 1, 1),), labels=("cat",))


def array(dtype="int64", shape=(3,), low=0, high=9):
    return Array(dtype=dtype, shape=shape, minimum=low, maximum=high)


def fit(declared, value):
    """Check `value` against a declaration."""
    schema = parse_schema([{"name": "x", **declared}])
    given = {} if value is None else {"x": value}
    assert conforming(given, schema) == given


def problem(declared, value):
    """Return the reason why `value` does not fit."""
    with pytest.raises(RecordError) as caught:
        fit(declared, value)
    assert caught.value.reason == "does not fit the schema"
    return caught.value.detail


INT = {"kind": "scalar", "dtype": "int64"}
FLOAT = {"kind": "scalar", "dtype": "float32"}
LABEL = {"kind": "class_label", "classes": ["cat", "dog"]}
LABELS = {"kind": "class_label", "shape": [None], "classes": ["cat", "dog"]}
TENSOR = {"kind": "tensor", "dtype": "int64", "shape": [3]}
RAW = {"kind": "tensor", "dtype": "uint8", "shape": [2, 2], "encoding": "bytes"}
HALF = {"kind": "tensor", "dtype": "float16", "shape": [3], "encoding": "bytes"}
SEQUENCE = {"kind": "sequence", "dtype": "int64"}
ROWS = {"kind": "sequence", "dtype": "float32", "shape": [None, 4]}


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        pytest.param({**INT, "minimum": 3, "maximum": 3}, 3, id="at both ends"),
        pytest.param(FLOAT, 3, id="int for a float"),
        pytest.param(FLOAT, math.nan, id="no number"),
        pytest.param({"kind": "scalar", "dtype": "string"}, "a", id="string"),
        pytest.param({"kind": "scalar", "dtype": "bytes"}, b"\xff", id="bytes scalar"),
        pytest.param({"kind": "text"}, None, id="no text"),
        pytest.param(LABEL, None, id="no class"),
        pytest.param({"kind": "class_label"}, ClassLabel("any"), id="any class"),
        pytest.param(LABELS, ClassLabels(()), id="none of the classes"),
        pytest.param(LABELS, ClassLabel("dog"), id="one for several classes"),
        pytest.param({"kind": "boxes", "classes": ["cat"]}, BOXES, id="boxes"),
        pytest.param({"kind": "boxes"}, None, id="no boxes"),
        pytest.param({"kind": "image", "shape": [10, 20, 3]}, PICTURE, id="image of a size"),
        ({"kind": "audio", "shape": [None, 1], "sample_rate": 8000}, SOUND),  # mono of 8 kHz
        pytest.param(TENSOR, array(), id="tensor"),
        pytest.param(TENSOR, array("uint16"), id="shorter ints"),
        pytest.param(TENSOR, array("bool", high=1), id="bools for ints"),
        pytest.param(RAW, array("int64", (2, 2), high=255), id="ints that fit into bytes"),
        pytest.param(HALF, array("float64", low=-1.5, high=60_000.0), id="floats that fit"),
        pytest.param(HALF, array("float32", low=-math.inf, high=math.inf), id="infinity"),
        pytest.param(HALF, array("int8"), id="ints for floats"),
        pytest.param({**TENSOR, "shape": []}, 3, id="a number as a tensor"),
        pytest.param({"kind": "tensor", "dtype": "string", "shape": [2]}, ("a", "b"), id="texts"),
        pytest.param(SEQUENCE, array(shape=(0,), low=None, high=None), id="empty sequence"),
        pytest.param({**SEQUENCE, "maximum": 9}, array(), id="sequence up to 9"),
        pytest.param({"kind": "sequence", "dtype": "string"}, (), id="no words"),
    ],
)
def test_what_fits(declared, value):
    fit(declared, value)


SIZED = {"kind": "image", "shape": [20, 20, 3]}
RATE = {"kind": "audio", "sample_rate": 16000}
MONO = "audio [400, 1] at 8000 Hz"
WORDS = {"kind": "tensor", "dtype": "string", "shape": [2]}
TRUTHS = {**RAW, "dtype": "bool"}
NOT_ONE = ClassLabels(("cat", "cow"))
DOGS = {"kind": "boxes", "classes": ["dog"]}
PET, PETS = "class_label int64 of cat, dog", "class_label int64 [any] of cat, dog"
LARGE = 2**63


@pytest.mark.parametrize(
    ("declared", "value", "found", "expected"),
    [
        (INT, None, "missing", "scalar int64"),
        (INT, 0.5, "0.5", "scalar int64"),
        (INT, "3", "'3'", "scalar int64"),
        ({**INT, "minimum": 0, "maximum": 9}, 10, "10", "scalar int64 from 0 to 9"),
        ({**FLOAT, "minimum": 0.5}, 0.25, "0.25", "scalar float32 of 0.5 or more"),
        ({**FLOAT, "maximum": 1}, math.nan, "nan", "scalar float32 of 1 or less"),
        ({"kind": "scalar", "dtype": "bytes"}, "a", "'a'", "scalar bytes"),
        ({"kind": "text"}, 3, "3", "text string"),
        ({"kind": "bytes"}, None, "missing", "bytes string"),
        (LABEL, ClassLabel("cow"), "ClassLabel(name='cow')", PET),
        (LABEL, ClassLabels(("cat",)), "ClassLabels(names=('cat',))", PET),
        (LABELS, NOT_ONE, "ClassLabels(names=('cat', 'cow'))", PETS),
        (DOGS, BOXES, "1 boxes of cat", "boxes float32 [any, 4] of dog"),
        (SIZED, PICTURE, "image uint8 [10, 20]", "image uint8 [20, 20, 3]"),
        ({"kind": "audio"}, PICTURE, "image uint8 [10, 20]", "audio float32 [any, any]"),
        (RATE, SOUND, MONO, "audio float32 [any, any] at 16000 Hz"),
        ({"kind": "audio", "shape": [None, 2]}, SOUND, MONO, "audio float32 [any, 2]"),
        (TENSOR, array(shape=(4,)), "int64 [4] from 0 to 9", "tensor int64 [3]"),
        (TENSOR, array(shape=(1, 3)), "int64 [1, 3] from 0 to 9", "tensor int64 [3]"),
        (TENSOR, array("float32"), "float32 [3] from 0 to 9", "tensor int64 [3]"),
        (
            TENSOR,
            array("uint64", high=LARGE),
            "uint64 [3] from 0 to 9.22337e+18",
            "tensor int64 [3]",
        ),
        (RAW, array("int64", (2, 2), 0, 256), "int64 [2, 2] from 0 to 256", "tensor uint8 [2, 2]"),
        (HALF, array("float32", high=7e4), "float32 [3] from 0 to 70000", "tensor float16 [3]"),
        (TRUTHS, array("uint8", (2, 2), high=2), "uint8 [2, 2] from 0 to 2", "tensor bool [2, 2]"),
        (
            {**TENSOR, "maximum": 8},
            array(),
            "int64 [3] from 0 to 9",
            "tensor int64 [3] of 8 or less",
        ),
        ({**TENSOR, "shape": []}, 0.5, "0.5", "tensor int64"),
        (TENSOR, ("a", "b", "c"), "('a', 'b', 'c')", "tensor int64 [3]"),
        (WORDS, ("a",), "('a',)", "tensor string [2]"),
        ({**WORDS, "shape": [3]}, array(), "int64 [3] from 0 to 9", "tensor string [3]"),
        (ROWS, array("float32", (7, 5)), "float32 [7, 5] from 0 to 9", "sequence float32 [any, 4]"),
        (SEQUENCE, array("float32", (0,), None, None), "float32 [0]", "sequence int64 [any]"),
        (SEQUENCE, 3, "3", "sequence int64 [any]"),
    ],
)
def test_what_does_not(declared, value, found, expected):
    assert problem(declared, value).endswith(f"'x' is {found}, where {expected} was expected")


def test_nan_may_stand_for_what_is_missing_whatever_the_range():
    schema = parse_schema({"a": {"kind": "scalar", "dtype": "float32", "minimum": 0}})
    missing = {"a": math.nan}

    assert conforming(missing, schema, may_be_nan=True) == missing
    with pytest.raises(RecordError, match=r"'a' is nan, where scalar float32 of 0"):
        conforming(missing, schema)
    with pytest.raises(RecordError, match=r"'a' is -1.0, where scalar float32 of 0"):
        conforming({"a": -1.0}, schema, may_be_nan=True)


PNG = b"\x89PNG\r\n\x1a\n"


def bare(kind, dtype, shape=(), **more):
    return Feature(name="x", kind=kind, dtype=dtype, shape=shape, key="x", bare=True, **more)


ONE_CLASS = bare("class_label", "int64", classes=("cat", "dog"))
CLASSES = bare("class_label", "int64", (None,), classes=("cat", "dog"))
AGE = bare("scalar", "int64", minimum=0, maximum=120)
VECTOR = bare("tensor", "float32", (2, 3), minimum=0.0)
RAW_INTS = bare("tensor", "int16", (2, 3), encoding="bytes", maximum=9)
TRIPLES = bare("sequence", "float32", (None, 3))
FLAT_BOXES = bare("boxes", "float32", (None, 4), encoding="flat")


def problems(feature, values):
    return list(mismatches(schema_specs([feature]), lists(encode(values))))


@pytest.mark.parametrize(
    ("feature", "values"),
    [
        pytest.param(ONE_CLASS, [-1], id="no class"),
        pytest.param(CLASSES, [], id="no classes"),
        pytest.param(AGE, [120], id="a number in range"),
        pytest.param(TRIPLES, [], id="no rows"),
        pytest.param(FLAT_BOXES, [0.5] * 8, id="boxes"),
        pytest.param(bare("scalar", "string"), ["Öl".encode()], id="text"),
        pytest.param(bare("scalar", "bytes"), [b"\xff"], id="bytes"),
        pytest.param(bare("image", "uint8", (None, None, 3)), [PNG], id="an image"),
    ],
)
def test_an_example_that_fits(feature, values):
    assert problems(feature, {"x": values}) == []


ANY_IMAGE = bare("image", "uint8", (None, None, 3))


@pytest.mark.parametrize(
    ("feature", "values", "message"),
    [
        (ONE_CLASS, [2], "the class 2, where 0 to 1 was expected, or -1"),
        (CLASSES, [0, -2], "the class -2"),
        (
            *(ONE_CLASS, [b"cat"]),
            "key 'x' holds a bytes list of 1, where an int64 list of 1 was expected",
        ),
        (ONE_CLASS, [], "no value, where an int64 list of 1"),
        (AGE, [121], "holds 121, where 0 to 120 was expected"),
        (VECTOR, [0.0] * 5, "a float list of 5, where a float list of 6"),
        (VECTOR, [0.0] * 5 + [-0.5], "holds -0.5, where 0 to inf"),
        (VECTOR, [0.0] * 5 + [float("nan")], "holds nan"),
        (RAW_INTS, [bytes(11)], "11 bytes, where int16 [2, 3] has 12"),
        (RAW_INTS, [bytes([10] * 12)], "holds 2570"),
        (TRIPLES, [0.5] * 8, "a float list of 8, where a float list in rows of 3"),
        (FLAT_BOXES, [0.5] * 7, "in rows of 4"),
        (bare("text", "string"), [b"\xff"], "where UTF-8 was expected"),
        (ANY_IMAGE, [b"text"], "start with 'text', where image (bmp, gif, jpeg, png) was expected"),
        (bare("audio", "float32", (None, None)), [b""], "no bytes"),
    ],
)
def test_an_example_that_does_not_fit(feature, values, message):
    (problem,) = problems(feature, {"x": values})
    assert message in problem


def test_audio_of_another_sample_rate():
    sound = bare("audio", "float32", (None, 1), sample_rate=8000)
    assert size_problem(sound, (99, 1), 8000) == ""
    assert "16,000 samples per second, where 8,000" in size_problem(sound, (99, 1), 16_000)
