"""Values are converted as a schema declares, or refused with column, value and expectation."""

import math

import pytest
from cases.reading import values_of

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, FileRef, Image, RawFile
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.tables.fit import fit

INT, FLOAT, TEXT, BYTES = (
    {"kind": "scalar", "dtype": dtype} for dtype in ("int64", "float32", "string", "bytes")
)
FILE = FileRef(path="/in/a.npy")


def tensor(*shape, dtype="int64"):
    encoding = {} if dtype in ("int64", "float32", "string") else {"encoding": "bytes"}
    return {"kind": "tensor", "dtype": dtype, "shape": [*shape], **encoding}


def sequence(*inner, dtype="int64"):
    return {"kind": "sequence", "dtype": dtype, "shape": [None, *inner]}


def label(*classes):
    return {"kind": "class_label", "classes": [*classes]}


def labels(*classes):
    return {**label(*classes), "shape": [None]}


def fitted(declared, value):
    """Convert a value to plain values: for an array its numbers, or its shape if it is empty."""
    (feature,) = parse_schema([{"name": "f", **declared}])
    made = fit(feature, "col", value, lambda name: f"/in/{name}")
    match made:
        case Array(file=None):
            assert made.dtype == feature.dtype
            return values_of(made).tolist() if made.data else made.shape
        case ClassLabel():
            return made.name
        case ClassLabels():
            return made.names
    return made


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        *((INT, *each) for each in ((" 12 ", 12), ("-007", -7), ("+5", 5), (12, 12), (True, 1))),
        *((INT, *each) for each in ((str(2**63 - 1), 2**63 - 1), ("True", 1))),
        *((FLOAT, *each) for each in (("12", 12.0), ("1e3", 1000.0), (".5", 0.5), (3, 3.0))),
        *((FLOAT, *each) for each in (("-inf", -math.inf), (2.5, 2.5), ("false", 0.0))),
        *((TEXT, *each) for each in ((" as it is ", " as it is "), ("", ""), (None, ""), (7, "7"))),
        (BYTES, "ä", "ä".encode()),
        *((tensor(4), text, [1, 2, 3, 4]) for text in ("[1, 2, 3, 4]", "1 2  3\t4", "1, 2,3 ,4")),
        (tensor(4), "1;2;3;4", [1, 2, 3, 4]),
        (tensor(4, dtype="float32"), [1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0]),
        pytest.param(tensor(2, 2, dtype="uint8"), "70 80 82 72", [[70, 80], [82, 72]], id="flat"),
        (tensor(2, 2, dtype="bool"), [[1, 0], [0, 1]], [[True, False], [False, True]]),
        (tensor(1), "5", [5]),
        pytest.param(tensor(), 5, 5, id="no axis"),
        (tensor(1, dtype="uint64"), [2**63], [2**63]),
        (tensor(2, dtype="float64"), "0.1 nan", [0.1, math.nan]),
        (tensor(2, dtype="string"), "a, b", ("a", "b")),
        (sequence(), "5 8 2", [5, 8, 2]),
        (sequence(), "[]", (0,)),
        (sequence(2), [], (0, 2)),
        (sequence(2), "1 2 3 4", [[1, 2], [3, 4]]),
        (sequence(2), [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        (sequence(dtype="string"), '["a", "b"]', ("a", "b")),
        (sequence(dtype="string"), "a|b c", ("a", "b c")),
        (label("cat", "dog"), " cat ", "cat"),
        *((label("cat", "dog"), value, "dog") for value in ("1", 1, 1.0, "1.0")),
        (label("1.0", "2.0"), "1.0", "1.0"),
        pytest.param(label("1", "0"), "1", "1", id="a name before a number"),
        *((label(), *each) for each in (("anything", "anything"), (True, "1"))),
        *((labels("cat", "dog"), text, ("cat", "dog")) for text in ('["cat", 1]', "cat|dog")),
        (labels("cat", "dog"), "cat, 1", ("cat", "dog")),
        (labels("cat", "dog", "big, old"), "big, old", ("big, old",)),
        *((labels("cat", "dog"), *each) for each in ((["dog"], ("dog",)), (0, ("cat",)))),
        *((labels("cat", "dog"), nothing, ()) for nothing in ("", None, [])),
        ({"kind": "image"}, "a.npy", Image(file=FILE)),
        ({"kind": "audio"}, "a.npy", Audio(file=FILE)),
        ({"kind": "bytes"}, "a.npy", RawFile(file=FILE)),
        ({"kind": "text"}, "a.npy", "a.npy"),
        (tensor(3, dtype="float32"), "a.npy", Array(file=FILE)),
        (sequence(), "a.npy", Array(file=FILE)),
    ],
)
def test_what_fits(declared, value, expected):
    assert repr(fitted(declared, value)) == repr(expected)


@pytest.mark.parametrize("value", ["", " ", None])
def test_what_stands_for_a_missing_number(value):
    number, whole, text = parse_schema({"a": FLOAT, "b": INT, "c": {"kind": "text"}})
    assert fit(number, "a", value, str, missing_number=-1.5) == -1.5
    assert fit(number, "a", "2", str, missing_number=-1.5) == 2
    assert fit(text, "c", value, str, missing_number=-1.5) == (value or "")
    with pytest.raises(RecordError, match="column 'b' is empty, where one int64 number"):
        fit(whole, "b", value, str, missing_number=-1.5)


@pytest.mark.parametrize(
    ("declared", "value", "why"),
    [
        *((INT, text, "") for text in ("12.5", "12.0", "1e3", "", " ", "x", "1 2", "1_000", "١")),
        *((INT, value, "") for value in (None, 1.0, [1], {}, str(2**63), -(2**63) - 1)),
        (INT, "x" * 500, f"'{'x' * 78}…, where one int64 number was expected$"),
        *((FLOAT, text, "") for text in ("", "x", "1e39", "1e400", "0x1", "1_0.5")),
        *((FLOAT, value, "") for value in (1e39, None, [1.0])),
        *((TEXT, value, "") for value in ([1], {}, True)),
        pytest.param(tensor(4), "1 2 3", r"its shape is \[3\]", id="too few"),
        pytest.param(tensor(2, 3), [[1, 2], [3, 4], [5, 6]], r"\[3, 2\]", id="turned"),
        pytest.param(tensor(3), [[1, 2], [3]], "differ in length", id="ragged"),
        pytest.param(tensor(3), "1 2 x", "a list of 3 int64 numbers", id="a word"),
        *(
            (tensor(2), value, "a list of 2 int64")
            for value in ("1,,2", "1 2.5", [1, 2.0], [1, None], [1, "2"])
        ),
        pytest.param(tensor(2), "[1, 2", "is not a list", id="no JSON"),
        *((tensor(2), nothing, "empty, where") for nothing in ("", None)),
        (tensor(1), {"a": 1}, "a list of 1 int64"),
        (tensor(1, dtype="uint8"), [300], "range of uint8"),
        (tensor(1, dtype="bool"), [2], "range of bool"),
        *((sequence(), nothing, "where a list of int64 numbers was") for nothing in ("", None)),
        *(
            (sequence(2), value, "where a list of int64 numbers .* was expected")
            for value in ("1 2 3", [[1], [2]])
        ),
        *(
            (label("cat", "dog"), value, "where a class of cat, dog was expected")
            for value in ("bird", "2", "-1", "0.5", "", None, ["cat"], {})
        ),
        (labels("cat", "dog"), "cat|bird", r"'cat\|bird', where a list of classes of cat, dog was"),
    ],
)
def test_what_does_not_fit(declared, value, why):
    with pytest.raises(RecordError, match=rf"^does not fit the schema: column 'col' is .*{why}"):
        fitted(declared, value)
