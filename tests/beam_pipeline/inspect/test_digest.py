"""Equal contents have equal digests, independent of their annotations."""

import dataclasses

import hypothesis
import hypothesis.strategies as st
import pytest
from inspecting import Inspected, examples_of

from beam_pipeline.inspect.inspect_batch import annotations, content_digests, label_texts, texts_of
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    RawFile,
)

FILE = FileRef(path="/a", sha256="ab")
INLINE = Array(dtype="int64", shape=(1,), data=bytes(8))


def content(**features):
    [digest] = content_digests({name: [value] for name, value in features.items()}, 1)
    return digest


def said(**features):
    [text] = annotations(examples_of(Inspected(key="k", features=features)))
    return text


@pytest.mark.parametrize(
    "value",
    [Image(file=FILE), Audio(file=FILE), RawFile(file=FILE)],
    ids=lambda value: type(value).__name__,
)
def test_one_file_is_the_content_and_all_else_describes_it(value):
    others = {"numbers": INLINE, "note": "n", "label": ClassLabel("cat")}
    assert content(x=value, **others) == "ab"
    other = dataclasses.replace(value, file=FileRef(path="/b", sha256="cd"))
    assert said(x=value, **others) == said(x=other, **others)
    assert said(x=value, **others) != said(x=value)


def test_an_arrays_content_is_its_values_type_and_shape():
    array = Array(dtype="int64", shape=(2, 3), file=FILE)
    digest = content(x=array)
    assert digest == content(x=array, label=ClassLabel("cat"))
    for other in ({"dtype": "float64"}, {"shape": (3, 2)}, {"file": FileRef(path="/a")}):
        changed = dataclasses.replace(array, **other)
        assert content(x=changed) != digest
    elsewhere = dataclasses.replace(array, file=FileRef(path="/b", offset=9, sha256="ab"))
    assert content(x=elsewhere) == digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(INLINE, Array(dtype="int64", shape=(1,), data=b"\1" + bytes(7)), id="values"),
        pytest.param(INLINE, Array(dtype="uint8", shape=(1,), data=bytes(8)), id="type"),
        pytest.param(INLINE, Array(dtype="int64", shape=(1, 1), data=bytes(8)), id="shape"),
        pytest.param("a", "b", id="text"),
        pytest.param(("a", "b"), ("b", "a"), id="texts"),
    ],
)
def test_without_a_file_the_values_are_the_content(one, other):
    assert content(x=one) == content(x=one)
    assert content(x=one) != content(x=other)


@hypothesis.given(st.text("a\n\t\r\"'\\\0\x7f~ é", min_size=1000, max_size=1100))
def test_the_text_of_a_long_value_is_pythons(value):
    assert texts_of({"x": [value]}) == [repr([("x", value)])]


def test_label_text_names_all_classes():
    labels = {"label": ClassLabel("a"), "topics": ClassLabels(("b", "c"))}
    assert [*label_texts(examples_of(Inspected(key="k", features=labels)))] == ["a, b, c"]
