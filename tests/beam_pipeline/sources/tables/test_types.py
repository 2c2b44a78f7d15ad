"""Kinds of columns, and conversion of their values."""

import functools
import json
import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow.compute as compute
import pytest
from cases.reading import values_of

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Array
from beam_pipeline.sources.tables.survey import (
    Profile,
    profile_of_texts,
    profile_of_values,
    profiles_of_texts,
)
from beam_pipeline.sources.tables.types import (
    ListOf,
    class_name,
    convert,
    convert_column,
    kind_of_json,
    kind_of_text,
    merge_kinds,
    parse_list,
    wider,
)

NUMBERS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "+", "-", "--", " "]),
        st.text("0123456789", max_size=22),
        st.sampled_from(["", ".", ".5", "_1", "..", "\n"]),
        st.sampled_from(["", "e3", "E+07", "e", "e-"]),
        st.sampled_from(["", " ", "\u00a0", " 2"]),
    ),
)
WORDS = ["nan", "-Inf", "infinity", "True", "FALSE", "", " ", "[1, 2]", "[]", "١", "1 2"]
TEXTS = st.one_of(NUMBERS, st.text(max_size=4), st.sampled_from(WORDS))
JSON = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.floats(), st.text(max_size=3)),
        st.integers(-(2**64), 2**64),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.just("a"), inner)),
    max_leaves=4,
)


@hypothesis.given(st.one_of(st.lists(TEXTS, max_size=8), st.lists(NUMBERS, max_size=8)))
def test_the_kind_of_texts_is_the_widest_of_each(texts):
    assert profile_of_texts(texts).widest == functools.reduce(wider, map(kind_of_text, texts), None)


@hypothesis.given(st.lists(st.one_of(st.lists(TEXTS, max_size=4), st.lists(NUMBERS, max_size=4))))
def test_columns_are_profiled_together_as_one_by_one(columns):
    assert [*profiles_of_texts(columns)] == [*map(profile_of_texts, columns)]


def test_patterns_are_matched_in_all_columns_at_once(monkeypatch):
    calls = []
    match = compute.match_substring_regex
    monkeypatch.setattr(
        compute, "match_substring_regex", lambda *given: calls.append(given) or match(*given)
    )

    profiles = [*profiles_of_texts([["1", "2.5"], ["x", ""], [], ["7"]] * 50)]

    assert [each.usual for each in profiles[:4]] == [float, str, None, int]
    assert len(calls) == 2


@hypothesis.given(st.lists(JSON, max_size=6))
def test_the_kind_of_values_is_the_widest_of_each(values):
    values = json.loads(json.dumps(values))

    def widest_of_each(values):
        return functools.reduce(wider, map(kind_of_json, values), None)

    found = []
    for kind_of in (lambda values: profile_of_values(values).widest, widest_of_each):
        try:
            found.append(kind_of(values))
        except RecordError as error:
            found.append(str(error))
    assert found[0] == found[1]


@hypothesis.given(st.lists(TEXTS, max_size=20), st.integers(0, 20))
def test_profiles_of_parts_merge_to_that_of_all_rows(texts, middle):
    merged = Profile()
    for part in (texts[:middle], texts[middle:]):
        merged.merge(profile_of_texts(part))
    whole = profile_of_texts(texts)
    merged.first_text = whole.first_text
    assert merged == whole


@pytest.mark.parametrize(
    ("numbers", "others", "expected"),
    [
        (["1"] * 2000, ["3O", ""], int),
        (["1"] * 1990, ["3O", "x"], str),
        (["1.5"] * 2000, ["NA", "?", " n/a "], float),
        (["1"] * 2000, ["007"], str),
        (["[1, 2]"] * 2000, ["[1,"], ListOf(int)),
        ([], ["NA", "?"], str),
        ([], ["", " "], None),
        ([], ["nan"], float),
        ([1] * 2000, ["3O", None], int),
        ([1] * 2000, ["NA", "", "NaN"], int),
        ([1] * 2000, ["3"], str),
        ([1] * 2000, [2**63], str),
    ],
)
def test_the_usual_kind_leaves_out_errors_and_missing_values(numbers, others, expected):
    """Up to one text in a thousand values is an error, unless digits would be lost."""
    profile_of = profile_of_texts if isinstance([*numbers, ""][0], str) else profile_of_values
    assert profile_of([*numbers, *others]).usual == expected


def kind_of(values, kind):
    return merge_kinds([{"x": kind(value)} for value in values])["x"]


def shown(value):
    """Return a value, or the dtype and numbers of an array."""
    return (value.dtype, values_of(value).tolist()) if isinstance(value, Array) else value


PLAIN = [
    ("1 -2 0", [1, -2, 0]),
    ("+3 +4917612345678 -4", [3, 4917612345678, -4]),
    ("+007 1", ["+007", "1"]),
    ("1 2.5 1e3 .5 2.", [1.0, 2.5, 1000.0, 0.5, 2.0]),
    ("1 nan -Inf Infinity", [1.0, math.nan, -math.inf, math.inf]),
    ("True false TRUE 7", [1, 0, 1, 7]),
    ("True 0.5", [1.0, 0.5]),
    ("True yes", ["True", "yes"]),
    ("007 1", ["007", "1"]),
    ("1_000 2", ["1_000", "2"]),
    ("0x1 2", ["0x1", "2"]),
    ("9223372036854775807", [2**63 - 1]),
    ("9223372036854775808 1", ["9223372036854775808", "1"]),
    ("١", ["١"]),
]
NO_LISTS = {
    "not in every row": ["[1]", "2"],
    "spaced, not in every row": ["1 2", "2 a"],
    "of two forms": ["1 2", "[1, 2]", "3"],
    "zeros in front": ["2020 01 05"],
    "beyond 64 bits": [f"1 {2**63}"],
    "no JSON": ["[1", "[2]"],
    "printed by NumPy": ["[0.1 0.2]"],
    "objects": ['[{"a": 1}]'],
    "bottomless": ["[" * 10**6],
    "a text without end": ["['" + "\\'" * 10**6],
    "two texts": ["['a' 'b']"],
    "two numbers": ["[1 2]"],
    "an open list": ["['a'"],
    "a name": ["[abc]"],
    "a tuple": ["[('a', 1)]"],
    "a call": ["['a', open('x')]"],
    "an escape": ["['\\d']"],
}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        *((texts.split(), expected) for texts, expected in PLAIN),
        (["1 2 3", "4"], [("int64", [1, 2, 3]), ("int64", [4])]),
        (["7", "true", " 0  -5 "], [("int64", [7]), ("int64", [1]), ("int64", [0, -5])]),
        (["1 2.5", "-.5 1e3"], [("float32", [1.0, 2.5]), ("float32", [-0.5, 1000.0])]),
        (["1 2.5", "3"], [("float32", [1.0, 2.5]), ("float32", [3.0])]),
        (['["ä", "b"]'], [("ä", "b")]),
        *(pytest.param(texts, texts, id=name) for name, texts in NO_LISTS.items()),
    ],
)
def test_columns_of_texts(texts, expected):
    """The order of rows does not matter."""
    for kind in (kind_of(texts, kind_of_text), kind_of(texts[::-1], kind_of_text)):
        values = [convert("x", text, kind, missing_number=math.nan) for text in texts]
        assert repr(list(map(shown, values))) == repr(expected)


@pytest.mark.parametrize(
    ("rows", "expected", "dtype"),
    [
        pytest.param([[1, 2], [3]], [[1, 2], [3]], "int64", id="whole"),
        pytest.param([[1], [2.5]], [[1], [2.5]], "float32", id="one list has fractions"),
        pytest.param([[], [True, False, 7]], [[], [1, 0, 7]], "int64", id="true and false"),
        pytest.param([[]], [[]], "int64", id="only empty ones"),
        pytest.param([[[1.1, 2.2], [3.3, 4]]], [[[1.1, 2.2], [3.3, 4]]], "float32", id="nested"),
        pytest.param(
            [[[1, 2]], []], [[[1, 2]], np.empty((0, 2))], "int64", id="an empty one, and nested"
        ),
        pytest.param([[float("nan"), float("-inf")]], [[np.nan, -np.inf]], "float32", id="nan"),
    ],
)
@pytest.mark.parametrize("is_text", [False, True])
def test_lists_of_numbers(rows, expected, dtype, is_text):
    values = list(map(json.dumps, rows)) if is_text else rows
    kind = kind_of(values, kind_of_text if is_text else kind_of_json)
    assert isinstance(kind, ListOf)
    for value, wanted in zip(values, expected, strict=True):
        array = convert("x", value, kind)
        assert (array.dtype, array.file) == (dtype, None)
        np.testing.assert_array_equal(values_of(array), np.array(wanted, dtype=dtype))


def test_lists_of_texts():
    kind = kind_of([["a"], [1, None], []], kind_of_json)
    assert [convert("x", value, kind) for value in (["a", 1, None], [])] == [("a", "1", ""), ()]


@pytest.mark.parametrize("missing", ["", " ", None])
def test_missing_values(missing):
    for kind in (int, float):
        assert convert("n", missing, kind, missing_number=-1) == -1
        with pytest.raises(RecordError, match=r"missing value: column 'x' .* has numbers"):
            convert("x", missing, kind)
    with pytest.raises(RecordError, match=r"missing value: column 'x' .* has lists"):
        convert("x", missing, ListOf(int), missing_number=-1)
    if missing != "":
        return
    for word in ("NA", "n/a", "#N/A", "null", "None", "nan", "-", "?"):
        assert convert("n", word, int, missing_number=-1) == -1
        assert convert("t", word, str, missing_number=-1) == word
    assert convert("t", missing, str, missing_number=-1) == (missing or "")
    assert convert("t", missing, None) == (missing or "")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ([1, [2]], ListOf(int), "malformed annotation: column 'x': .* differ in length or depth"),
        ([[1], [2, 3]], ListOf(int), "differ in length"),
        ([[], []], ListOf(int), "empty lists"),
        ([1, None], ListOf(int), "missing value: column 'x': .* has null"),
        ([2**63], ListOf(int), "value out of range: column 'x'"),
        ([1e39], ListOf(float), "range of float32"),
        ("word", ListOf(int), "malformed annotation: column 'x': 'word' is not a list"),
        ([1], int, "unsupported column: column 'x' holds \\[1\\]"),
        ("3O", int, "malformed annotation: column 'x' is '3O' here, but has numbers elsewhere"),
        ("[6, 1]", float, r"malformed annotation: column 'x' is '\[6, 1\]' here, but has numbers"),
        ("1_000", float, "malformed annotation: column 'x' is '1_000'"),
        ({}, str, "unsupported column"),
        *(
            (text, float, f"value out of range: column 'x' is {text[:50]}, which float32")
            for text in ("1e400", "-1e400", "9" * 400)
        ),
        ("[1, 1e400]", ListOf(float), "value out of range: .*1e400, which float32"),
        ("1 1e400", ListOf(float, spaced=True), "value out of range: .*1e400, which float32"),
    ],
)
def test_what_cannot_be_converted(value, kind, message):
    with pytest.raises(RecordError, match=message):
        convert("x", value, kind)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("9007199254740993", 2**53 + 1),
        (" 9007199254740993.0 ", 2**53 + 1),
        (2**53 + 1, 2**53 + 1),
        ("9007199254740992", 2.0**53),
        ("1e300", 1e300),
        ("0.1", 0.1),
    ],
)
def test_a_whole_number_that_float64_would_change_stays_one(value, expected):
    """So Inspect counts it among the numbers that change in float32."""
    for made in (convert("x", value, float), *convert_column([value], "x", float, math.nan)):
        assert (type(made), made) == (type(expected), expected)


@pytest.mark.parametrize("text", ["1", " 2 ", "", "NA", "nan", "1_0", "٣", "true", "3O"])
@pytest.mark.parametrize("kind", [int, float])
def test_a_column_is_converted_as_each_of_its_values(kind, text):
    found = []
    for convert_last in (
        lambda: convert("x", text, kind, missing_number=-1),
        lambda: convert_column(["5", text], "x", kind, -1)[1],
    ):
        try:
            found.append(convert_last())
        except RecordError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_names_of_classes():
    names = [class_name(value) for value in (3, 3.0, "3", " cat ", True, 2.5, None, "", math.nan)]
    assert names == ["3", "3", "3", "cat", "1", "2.5", "", "", ""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("['a', 'b']", ["a", "b"], id="texts"),
        pytest.param(
            """["it's", 'a "b"', 'it\\'s', 'c\\\\d']""",
            ["it's", 'a "b"', "it's", r"c\d"],
            id="quotes",
        ),
        pytest.param(r"['caf\xe9', '\n', '\u00e9']", ["café", "\n", "é"], id="escapes"),
        pytest.param(
            "[None, True, False, nan, -inf]", [None, True, False, math.nan, -math.inf], id="names"
        ),
        pytest.param("['None', \"True\"]", ["None", "True"], id="names in quotes"),
        pytest.param("[1, [2, 3.5]]", [1, [2, 3.5]], id="numbers"),
    ],
)
def test_lists_as_python_writes_them(text, expected):
    assert str(parse_list(text)) == str(expected)
