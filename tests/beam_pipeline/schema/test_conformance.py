"""Which values fit a schema that a user declares, and what is said of the others."""

import math

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
    RawFile,
)
from beam_pipeline.schema.conformance import conforming
from beam_pipeline.schema.declaration import parse_schema

FILE = FileRef(path="/a")
PICTURE = Image(file=FILE, format="png", width=20, height=10, channels=3)
SOUND = Audio(file=FILE, format="wav", sample_rate=8000, num_samples=400, channels=1)
BOXES = Objects(boxes=((0, 0, 1, 1),), labels=("cat",))


def array(dtype="int64", shape=(3,), low=0, high=9):
    return Array(dtype=dtype, shape=shape, minimum=low, maximum=high)


def fit(declared, value):
    """Holds `value` against what is declared."""
    schema = parse_schema([{"name": "x", **declared}])
    given = {} if value is None else {"x": value}
    assert conforming(given, schema) == given


def problem(declared, value):
    """Why `value` does not fit."""
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
        pytest.param(INT, 3, id="int"),
        pytest.param({**INT, "minimum": 3, "maximum": 3}, 3, id="at both ends"),
        pytest.param(FLOAT, 0.5, id="float"),
        pytest.param(FLOAT, 3, id="int for a float"),
        pytest.param(FLOAT, math.nan, id="no number"),
        pytest.param({"kind": "scalar", "dtype": "string"}, "a", id="string"),
        pytest.param({"kind": "scalar", "dtype": "bytes"}, b"\xff", id="bytes scalar"),
        pytest.param({"kind": "text"}, "a", id="text"),
        pytest.param({"kind": "text"}, None, id="no text"),
        pytest.param({"kind": "bytes"}, b"a", id="bytes"),
        pytest.param({"kind": "bytes"}, RawFile(file=FILE), id="a file's bytes"),
        pytest.param(LABEL, ClassLabel("dog"), id="class"),
        pytest.param(LABEL, None, id="no class"),
        pytest.param({"kind": "class_label"}, ClassLabel("any"), id="any class"),
        pytest.param(LABELS, ClassLabels(("dog", "cat")), id="classes"),
        pytest.param(LABELS, ClassLabels(()), id="none of the classes"),
        pytest.param(LABELS, ClassLabel("dog"), id="one for several classes"),
        pytest.param({"kind": "boxes", "classes": ["cat"]}, BOXES, id="boxes"),
        pytest.param({"kind": "boxes"}, None, id="no boxes"),
        pytest.param({"kind": "image"}, PICTURE, id="image"),
        pytest.param({"kind": "image", "shape": [10, 20, 3]}, PICTURE, id="image of a size"),
        pytest.param({"kind": "audio"}, SOUND, id="audio"),
        pytest.param(
            {"kind": "audio", "shape": [None, 1], "sample_rate": 8000}, SOUND, id="mono of 8 kHz"
        ),
        pytest.param(TENSOR, array(), id="tensor"),
        pytest.param(TENSOR, array("uint16"), id="shorter ints"),
        pytest.param(TENSOR, array("bool", high=1), id="bools for ints"),
        pytest.param(RAW, array("uint8", (2, 2)), id="raw"),
        pytest.param(RAW, array("int64", (2, 2), high=255), id="ints that fit into bytes"),
        pytest.param(HALF, array("float64", low=-1.5, high=60_000.0), id="floats that fit"),
        pytest.param(HALF, array("float32", low=-math.inf, high=math.inf), id="infinity"),
        pytest.param(HALF, array("int8"), id="ints for floats"),
        pytest.param({**TENSOR, "shape": []}, 3, id="a number as a tensor"),
        pytest.param({"kind": "tensor", "dtype": "string", "shape": [2]}, ("a", "b"), id="texts"),
        pytest.param(SEQUENCE, array(), id="sequence"),
        pytest.param(SEQUENCE, array(shape=(0,), low=None, high=None), id="empty sequence"),
        pytest.param({**SEQUENCE, "maximum": 9}, array(), id="sequence up to 9"),
        pytest.param(ROWS, array("float64", (7, 4)), id="rows of four"),
        pytest.param({"kind": "sequence", "dtype": "string"}, (), id="no words"),
    ],
)
def test_what_fits(declared, value):
    fit(declared, value)


@pytest.mark.parametrize(
    ("declared", "value", "told"),
    [
        (INT, None, "'x' is missing, where int64 was expected"),
        (INT, 0.5, "'x' is 0.5, where int64 was expected"),
        (INT, "3", "'x' is '3', where int64 was expected"),
        (
            {**INT, "minimum": 0, "maximum": 9},
            10,
            "'x' is 10, where int64 from 0 to 9 was expected",
        ),
        ({**FLOAT, "minimum": 0.5}, 0.25, "'x' is 0.25, where float32 of 0.5 or more was expected"),
        ({**FLOAT, "maximum": 1}, math.nan, "'x' is nan, where float32 of 1 or less was expected"),
        ({"kind": "scalar", "dtype": "bytes"}, "a", "'x' is 'a', where bytes was expected"),
        ({"kind": "text"}, 3, "'x' is 3, where text was expected"),
        ({"kind": "bytes"}, None, "'x' is missing, where bytes was expected"),
        (
            LABEL,
            ClassLabel("cow"),
            "'x' is the class 'cow', where a class of cat, dog was expected",
        ),
        (
            LABEL,
            ClassLabels(("cat",)),
            "'x' is the classes cat, where a class of cat, dog was expected",
        ),
        (
            LABELS,
            ClassLabels(("cat", "cow")),
            "'x' is the classes cat, cow, where classes of cat, dog was expected",
        ),
        (
            {"kind": "boxes", "classes": ["dog"]},
            BOXES,
            "'x' is 1 boxes of cat, where boxes of dog was expected",
        ),
        (
            {"kind": "image", "shape": [20, 20, 3]},
            PICTURE,
            "'x' is an image of 20x10, where image [20, 20, 3] was expected",
        ),
        (
            {"kind": "audio"},
            PICTURE,
            "'x' is an image of 20x10, where audio [any, any] was expected",
        ),
        (
            {"kind": "audio", "sample_rate": 16000},
            SOUND,
            "'x' is audio of 400 samples, 1 channels and 8,000 Hz, where audio [any, any] at "
            "16,000 Hz was expected",
        ),
        ({"kind": "audio", "shape": [None, 2]}, SOUND, "where audio [any, 2] was expected"),
        (TENSOR, array(shape=(4,)), "'x' is int64 [4] from 0 to 9, where int64 [3] was expected"),
        (
            TENSOR,
            array(shape=(1, 3)),
            "'x' is int64 [1, 3] from 0 to 9, where int64 [3] was expected",
        ),
        (TENSOR, array("float32"), "'x' is float32 [3] from 0 to 9, where int64 [3] was expected"),
        (TENSOR, array("uint64", high=2**63), "where int64 [3] was expected"),
        (
            RAW,
            array("int64", (2, 2), high=256),
            "'x' is int64 [2, 2] from 0 to 256, where uint8 [2, 2] was expected",
        ),
        (HALF, array("float32", high=70_000.0), "where float16 [3] was expected"),
        (
            {**RAW, "dtype": "bool"},
            array("uint8", (2, 2), high=2),
            "where bool [2, 2] was expected",
        ),
        (
            {**TENSOR, "maximum": 8},
            array(),
            "'x' is int64 [3] from 0 to 9, where int64 [3] of 8 or less was expected",
        ),
        ({**TENSOR, "shape": []}, 0.5, "'x' is 0.5, where int64 was expected"),
        (TENSOR, ("a", "b", "c"), "'x' is ('a', 'b', 'c'), where int64 [3] was expected"),
        (
            {"kind": "tensor", "dtype": "string", "shape": [2]},
            ("a",),
            "where string [2] was expected",
        ),
        (
            {"kind": "tensor", "dtype": "string", "shape": [3]},
            array(),
            "where string [3] was expected",
        ),
        (
            ROWS,
            array("float32", (7, 5)),
            "'x' is float32 [7, 5] from 0 to 9, where float32 [any, 4] was expected",
        ),
        (
            SEQUENCE,
            array(shape=(0,), low=None, high=None, dtype="float32"),
            "'x' is float32 [0], where int64 [any] was expected",
        ),
        (SEQUENCE, 3, "'x' is 3, where int64 [any] was expected"),
    ],
)
def test_what_does_not(declared, value, told):
    assert told in problem(declared, value)


def test_long_values_are_cut():
    assert len(problem(INT, "x" * 1000)) < 150


def test_what_is_not_declared_is_left_out():
    schema = parse_schema({"a": INT})
    assert conforming({"a": 1, "b": 2}, schema) == {"a": 1}


def test_nan_may_stand_for_what_is_missing_whatever_the_range():
    schema = parse_schema({"a": {"kind": "scalar", "dtype": "float32", "minimum": 0}})
    missing = {"a": math.nan}

    assert conforming(missing, schema, may_be_nan=True) == missing
    with pytest.raises(RecordError, match=r"'a' is nan, where float32 of 0 or more"):
        conforming(missing, schema)
    with pytest.raises(RecordError, match=r"'a' is -1.0, where float32 of 0"):
        conforming({"a": -1.0}, schema, may_be_nan=True)
