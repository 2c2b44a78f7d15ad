"""The kind of a column is the widest of its values' kinds, however it is found."""

import functools
import json

import hypothesis
import hypothesis.strategies as st

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.tables.types import (
    kind_of_json,
    kind_of_text,
    kind_of_texts,
    kind_of_values,
    wider,
)

DIGITS = st.text("0123456789", max_size=22)
NUMBERS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "+", "-", "--", " "]),
        DIGITS,
        st.sampled_from(["", ".", ".5", "_1", "..", "\n"]),
        st.sampled_from(["", "e3", "E+07", "e", "e-"]),
        st.sampled_from(["", " ", "\u00a0", " 2"]),
    ),
)
TEXTS = st.one_of(
    NUMBERS,
    st.text(max_size=4),
    st.sampled_from(
        ["nan", "-Inf", "infinity", "True", "FALSE", "", " ", "[1, 2]", "[]", "١", "1 2"]
    ),
)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**64), 2**64),
        st.floats(),
        st.text(max_size=3),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.just("a"), inner)),
    max_leaves=4,
)


@hypothesis.given(st.one_of(st.lists(TEXTS, max_size=8), st.lists(NUMBERS, max_size=8)))
def test_texts(texts):
    assert kind_of_texts(texts) == functools.reduce(wider, map(kind_of_text, texts), None)


@hypothesis.given(st.lists(JSON, max_size=6))
def test_values(values):
    values = json.loads(json.dumps(values))
    try:
        expected = functools.reduce(wider, map(kind_of_json, values), None)
    except RecordError as error:
        expected = str(error)
    try:
        kind = kind_of_values(values)
    except RecordError as error:
        kind = str(error)
    assert kind == expected
