"""Values become what a schema declares, or are refused with column, value and expectation."""

import numpy as np
import pytest
from cases.reading import values_of

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, FileRef, Image, RawFile
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.columns.fitting import fit


def fitted(value, kind, **declared):
    (feature,) = parse_schema([{"name": "f", "kind": kind, **declared}])
    return fit(feature, "col", value, lambda name: f"/in/{name}")


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int64", " 12 ", 12),
        ("int64", "-007", -7),
        ("int64", "+5", 5),
        ("int64", str(2**63 - 1), 2**63 - 1),
        ("int64", 12, 12),
        ("int64", True, 1),
        ("float32", "12", 12.0),
        ("float32", "1e3", 1000.0),
        ("float32", ".5", 0.5),
        ("float32", "-inf", -np.inf),
        ("float32", 3, 3.0),
        ("float32", 2.5, 2.5),
        ("int64", "True", 1),
        ("float32", "false", 0.0),
        ("string", " as it is ", " as it is "),
        ("string", "", ""),
        ("string", None, ""),
        ("string", 7, "7"),
        ("bytes", "ä", "ä".encode()),
    ],
)
def test_scalars(dtype, value, expected):
    made = fitted(value, "scalar", dtype=dtype)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize("value", ["", " ", None])
def test_what_stands_for_a_missing_number(value):
    number, whole, text = parse_schema(
        {
            "a": {"kind": "scalar", "dtype": "float32"},
            "b": {"kind": "scalar", "dtype": "int64"},
            "c": {"kind": "text"},
        }
    )

    assert fit(number, "a", value, str, missing_number=-1.5) == -1.5
    assert fit(number, "a", "2", str, missing_number=-1.5) == 2
    assert fit(text, "c", value, str, missing_number=-1.5) == (value or "")
    with pytest.raises(RecordError, match="column 'b' is empty, where one int64 number"):
        fit(whole, "b", value, str, missing_number=-1.5)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *(("int64", text) for text in ("12.5", "12.0", "1e3", "", " ", "x", "1 2", "1_000", "١")),
        *(("int64", value) for value in (None, 1.0, [1], {}, str(2**63), -(2**63) - 1)),
        *(
            ("float32", value)
            for value in ("", "x", "1e39", "1e400", 1e39, None, "0x1", "1_0.5", [1.0])
        ),
        *(("string", value) for value in ([1], {}, True)),
    ],
)
def test_no_such_scalar(dtype, value):
    with pytest.raises(RecordError, match="does not fit the schema: column 'col' is "):
        fitted(value, "scalar", dtype=dtype)


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        pytest.param("[1, 2, 3, 4]", {"dtype": "int64", "shape": [4]}, [1, 2, 3, 4], id="JSON"),
        pytest.param("1 2  3\t4", {"dtype": "int64", "shape": [4]}, [1, 2, 3, 4], id="spaces"),
        pytest.param("1, 2,3 ,4", {"dtype": "int64", "shape": [4]}, [1, 2, 3, 4], id="commas"),
        pytest.param("1;2;3;4", {"dtype": "int64", "shape": [4]}, [1, 2, 3, 4], id="semicolons"),
        pytest.param([1, 2, 3, 4], {"dtype": "float32", "shape": [4]}, [1, 2, 3, 4], id="a list"),
        pytest.param(
            "70 80 82 72", {"dtype": "uint8", "encoding": "bytes", "shape": [2, 2]},
            [[70, 80], [82, 72]], id="pixels, flat",
        ),
        pytest.param(
            [[1, 0], [0, 1]], {"dtype": "bool", "encoding": "bytes", "shape": [2, 2]},
            [[True, False], [False, True]], id="nested",
        ),
        pytest.param("5", {"dtype": "int64", "shape": [1]}, [5], id="one"),
        pytest.param(5, {"dtype": "int64", "shape": []}, 5, id="no axis"),
        pytest.param(
            [2**63], {"dtype": "uint64", "encoding": "bytes", "shape": [1]}, [2**63], id="uint64"
        ),
        pytest.param(
            "0.1 nan", {"dtype": "float64", "encoding": "bytes", "shape": [2]}, [0.1, np.nan],
            id="float64",
        ),
    ],
)  # fmt: skip
def test_tensors(value, declared, expected):
    made = fitted(value, "tensor", **declared)
    assert made.dtype == declared["dtype"]
    np.testing.assert_equal(values_of(made).tolist(), expected)


@pytest.mark.parametrize(
    ("value", "declared", "why"),
    [
        pytest.param("1 2 3", {"shape": [4]}, r"its shape is \[3\]", id="too few"),
        pytest.param([[1, 2], [3, 4], [5, 6]], {"shape": [2, 3]}, r"\[3, 2\]", id="turned"),
        pytest.param([[1, 2], [3]], {"shape": [3]}, "differ in length", id="ragged"),
        pytest.param("1 2 x", {"shape": [3]}, "a list of 3 int64 numbers", id="a word"),
        pytest.param("1,,2", {"shape": [2]}, "a list of 2 int64", id="a gap"),
        pytest.param("1 2.5", {"shape": [2]}, "a list of 2 int64", id="a fraction"),
        pytest.param([1, 2.0], {"shape": [2]}, "a list of 2 int64", id="a float"),
        pytest.param([1, None], {"shape": [2]}, "a list of 2 int64", id="null"),
        pytest.param([1, "2"], {"shape": [2]}, "a list of 2 int64", id="text"),
        pytest.param("[1, 2", {"shape": [2]}, "is not a list", id="no JSON"),
        pytest.param("", {"shape": [2]}, "empty, where", id="empty"),
        pytest.param(None, {"shape": [2]}, "empty, where", id="missing"),
        pytest.param({"a": 1}, {"shape": [1]}, "a list of 1 int64", id="object"),
        pytest.param(
            [300],
            {"dtype": "uint8", "encoding": "bytes", "shape": [1]},
            "range of uint8",
            id="too large",
        ),
        pytest.param(
            [-1],
            {"dtype": "uint64", "encoding": "bytes", "shape": [1]},
            "range of uint64",
            id="negative",
        ),
        pytest.param(
            [2], {"dtype": "bool", "encoding": "bytes", "shape": [1]}, "range of bool", id="no bool"
        ),
    ],
)
def test_no_such_tensor(value, declared, why):
    with pytest.raises(RecordError, match=f"does not fit the schema: column 'col' is .*{why}"):
        fitted(value, "tensor", **{"dtype": "int64", **declared})


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        ("5 8 2", {}, [5, 8, 2]),
        ("[]", {}, []),
        ([], {"shape": [None, 2]}, np.empty((0, 2))),
        ("1 2 3 4", {"shape": [None, 2]}, [[1, 2], [3, 4]]),
        ([[1, 2], [3, 4]], {"shape": [None, 2]}, [[1, 2], [3, 4]]),
        ("0.5", {"dtype": "float32"}, [0.5]),
    ],
)
def test_sequences(value, declared, expected):
    made = fitted(value, "sequence", **{"dtype": "int64", **declared})
    np.testing.assert_array_equal(values_of(made), expected)


@pytest.mark.parametrize(
    ("value", "declared"),
    [("", {}), (None, {}), ("1 2 3", {"shape": [None, 2]}), ([[1], [2]], {"shape": [None, 2]})],
)
def test_no_such_sequence(value, declared):
    with pytest.raises(RecordError, match=r"where a list of int64 numbers.* was expected"):
        fitted(value, "sequence", **{"dtype": "int64", **declared})


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ('["a", "b"]', "sequence", ("a", "b")),
        ("a|b c", "sequence", ("a", "b c")),
        ("a, b", "tensor", ("a", "b")),
        (["a", "b"], "tensor", ("a", "b")),
    ],
)
def test_texts(value, kind, expected):
    shape = {"shape": [2]} if kind == "tensor" else {}
    assert fitted(value, kind, dtype="string", **shape) == expected


@pytest.mark.parametrize(
    ("value", "classes", "expected"),
    [
        (" cat ", ["cat", "dog"], "cat"),
        ("1", ["cat", "dog"], "dog"),
        (1, ["cat", "dog"], "dog"),
        (1.0, ["cat", "dog"], "dog"),
        ("1.0", ["cat", "dog"], "dog"),
        ("1.0", ["1.0", "2.0"], "1.0"),
        ("1", ["1", "0"], "1"),  # a name before a number
        ("anything", [], "anything"),
        (True, [], "1"),
    ],
)
def test_a_class(value, classes, expected):
    assert fitted(value, "class_label", classes=classes) == ClassLabel(expected)


@pytest.mark.parametrize("value", ["bird", "2", "-1", "0.5", "", None, ["cat"], {}])
def test_no_such_class(value):
    with pytest.raises(RecordError, match="where a class of cat, dog was expected"):
        fitted(value, "class_label", classes=["cat", "dog"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["cat", 1]', ("cat", "dog")),
        (["dog"], ("dog",)),
        ("cat|dog", ("cat", "dog")),
        ("cat, 1", ("cat", "dog")),
        ("big, old", ("big, old",)),
        (0, ("cat",)),
        ("", ()),
        (None, ()),
        ([], ()),
    ],
)
def test_classes(value, expected):
    made = fitted(value, "class_label", shape=[None], classes=["cat", "dog", "big, old"])
    assert made == ClassLabels(expected)


def test_no_such_classes():
    with pytest.raises(RecordError, match=r"'cat\|bird', where a list of classes of cat, dog was"):
        fitted("cat|bird", "class_label", shape=[None], classes=["cat", "dog"])


@pytest.mark.parametrize(
    ("kind", "declared", "expected"),
    [
        ("image", {}, Image(file=FileRef(path="/in/a.npy"))),
        ("audio", {}, Audio(file=FileRef(path="/in/a.npy"))),
        ("bytes", {}, RawFile(file=FileRef(path="/in/a.npy"))),
        ("text", {}, "a.npy"),
        ("tensor", {"dtype": "float32", "shape": [3]}, Array(file=FileRef(path="/in/a.npy"))),
        ("sequence", {"dtype": "int64"}, Array(file=FileRef(path="/in/a.npy"))),
    ],
)
def test_paths(kind, declared, expected):
    assert fitted("a.npy", kind, **declared) == expected


def test_the_message_names_all():
    with pytest.raises(RecordError) as caught:
        fitted("x" * 500, "scalar", dtype="int64")
    assert caught.value.reason == "does not fit the schema"
    assert (
        caught.value.detail == f"column 'col' is '{'x' * 78}…, where one int64 number was expected"
    )
