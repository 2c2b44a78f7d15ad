"""The value of a declared feature becomes one key, with the declared type and form."""

import numpy as np
import pytest
from inspecting import inline

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Audio, ClassLabel, FileRef, Image, Inspected, Objects
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.write.encoding import Encoder, ReadRecord


def array(values):
    return inline(np.asarray(values))


def declared_value(declared, value, payload=None):
    """Return the values by key of a record with this declaration of its only feature "x"."""
    schema = parse_schema([{"name": "x", **declared}])
    record = Inspected(key="a", features={} if value is None else {"x": value})
    payloads = {} if payload is None else {"x": payload}
    values = Encoder(schema=schema, rules=Rules()).values([ReadRecord(record, payloads)])
    return {key: value for key, [value] in values.items()}


LISTED = {"kind": "tensor", "dtype": "float32", "shape": [2]}
RAW = {"kind": "tensor", "encoding": "bytes"}
FLAT = {"kind": "boxes", "key": "bbox", "bare": True, "encoding": "flat"}
BARE = {"kind": "class_label", "key": "label", "bare": True, "classes": ["a", "b"]}
TWO_BOXES = Objects(boxes=((0, 0.25, 0.5, 1), (0, 0, 1, 1)), format="rel_xyxy")
BYTES = array([[1, 2], [3, 255]])


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (LISTED, array([0.5, 2]), [0.5, 2.0]),
        (LISTED, array([1, 2]), [1.0, 2.0]),
        ({**LISTED, "dtype": "int64"}, array([True, False]), [1, 0]),
        ({**LISTED, "shape": [2, 2]}, array([[1.0, 2], [3, 4]]), [1.0, 2.0, 3.0, 4.0]),
        ({**LISTED, "shape": []}, 3, [3.0]),
        ({**LISTED, "dtype": "string"}, ("a", "ä"), [b"a", "ä".encode()]),
        ({**RAW, "dtype": "uint8", "shape": [2, 2]}, BYTES, [b"\1\2\3\xff"]),
        ({**RAW, "dtype": "float16", "shape": [1]}, array(np.array([1.0])), [b"\0\x3c"]),
        (LISTED, array([np.inf, -np.inf]), [np.inf, -np.inf]),
        ({"kind": "scalar", "dtype": "bytes"}, b"\xff", [b"\xff"]),
        ({"kind": "scalar", "dtype": "float32"}, 3, [3.0]),
        ({"kind": "scalar", "dtype": "int64"}, True, [1]),
        (BARE, ClassLabel("b"), [1]),
        (FLAT, TWO_BOXES, [0.0, 0.25, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0]),
    ],
)
def test_one_key(declared, value, expected):
    values = declared_value(declared, value)
    assert values == {declared.get("key", "x"): expected}
    (found,) = values.values()
    assert [type(each) for each in found] == [type(each) for each in expected]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("image", Image(file=FileRef(path="/a", sha256="ab"), format="jpeg", width=3, height=2)),
        ("audio", Audio(file=FileRef(path="/a"), format="wav")),
    ],
)
def test_bare_media_have_one_key(kind, value):
    declared = {"kind": kind, "key": "x_raw", "bare": True}
    assert declared_value(declared, value, b"payload") == {"x_raw": [b"payload"]}


def test_bare_boxes_have_no_texts():
    declared = {"kind": "boxes", "key": "x", "bare": True, "classes": ["a", "b"]}
    boxes = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy", labels=("a",))
    assert "x/class/label" in declared_value(declared, boxes)
    assert "x/class/text" not in declared_value(declared, boxes)


def test_numbers_that_the_type_cannot_hold():
    message = r"value out of range.*feature 'x' holds numbers beyond the range of float32"
    with pytest.raises(RecordError, match=message):
        declared_value(LISTED, array([1e300, 0.0]))
