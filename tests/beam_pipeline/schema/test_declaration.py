"""A user's schema is read and completed, or refused with a reason."""

import json

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.schema.declaration import parse_schema, read_schema
from tfrecord_dataset.format.feature import Feature


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param({"kind": "image"}, {"dtype": "uint8", "key": "x/encoded"}, id="image"),
        pytest.param(
            {"kind": "class_label", "classes": [1, "b"]},
            {"dtype": "int64", "shape": (), "key": "x/label", "classes": ("1", "b")},
            id="label",
        ),
        pytest.param({"kind": "class_label", "shape": [None]}, {"shape": (None,)}, id="labels"),
        pytest.param({"kind": "boxes"}, {"label_offset": 1, "shape": (None, 4)}, id="boxes"),
        pytest.param(
            {"kind": "tensor", "dtype": "uint8", "shape": [28, 28], "encoding": "bytes"},
            {"dtype": "uint8", "shape": (28, 28), "encoding": "bytes", "key": "x"},
            id="raw tensor",
        ),
        pytest.param({"kind": "sequence", "dtype": "int64"}, {"shape": (None,)}, id="sequence"),
        pytest.param({"kind": "text"}, {"dtype": "string"}, id="text"),
        pytest.param({"kind": "audio"}, {"shape": (None, None)}, id="audio"),
        pytest.param({"kind": "bytes", "dtype": "bytes"}, {"dtype": "string"}, id="bytes"),
        ({"kind": "scalar", "dtype": "float32", "minimum": 0}, {"minimum": 0}),  # bounded
    ],
)
def test_what_is_not_said_is_usual(entry, expected):
    (found,) = parse_schema([{"name": "x", **entry}])
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("s.json", '[{"name": "a", "kind": "text"}]', id="a list"),
        pytest.param("s.json", '{"features": [{"name": "a", "kind": "text"}]}', id="metadata.json"),
        pytest.param("s.yaml", "a:\n  kind: text\n", id="YAML by name"),
        pytest.param("s.yml", "a: text", id="only kinds"),
        pytest.param("s.yaml", "- name: a\n  kind: text\n", id="a list in YAML"),
    ],
)
def test_forms_of_the_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (feature,) = read_schema(str(tmp_path / name))
    assert feature == Feature(name="a", kind="text", dtype="string", shape=(), key="a")


def test_what_a_dataset_states_declares_the_next():
    feature = Feature(
        name="boxes", kind="boxes", dtype="float32", shape=(None, 4), key="image/object",
        classes=("a",), label_offset=1, attributes={"difficult": "int64"}, keypoints=3,
    )  # fmt: skip
    assert parse_schema(json.loads(json.dumps([feature.to_json()]))) == (feature,)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, "it holds '7'; give a list of features"),
        ([], "give a list of features"),
        ({"nc": 2, "names": ["cat"]}, "give a list of features"),  # YOLO's data.yaml
        ([{"name": "a"}], "has no kind; declare it as"),
        ([{"kind": "text"}], "has no name"),
        ([{"name": "a", "kind": "txt"}], "unknown feature kind .* 'txt' .did you mean 'text'"),
        ([{"name": "a", "kind": "scalar"}], "has no dtype"),
        ([{"name": "a", "kind": "scalar", "dtype": "uint8"}], "give one of int64, float32"),
        ([{"name": "a", "kind": "tensor", "dtype": "int64"}], "give its sizes by axis"),
        ([{"name": "a", "kind": "text", "dtyp": "string"}], "unknown field 'dtyp'"),
        ([{"name": "a", "kind": "text"}] * 2, "'a' is declared twice"),
        ({"a": {"kind": "class_label", "classes": "cat"}}, "has the classes 'cat'; give a list"),
        ({"a": {"kind": "class_label", "classes": ["b", "b"]}}, "has the class 'b' twice"),
        ({"a": {"kind": "class_label", "classes": [False]}}, "YAML reads yes, no.*in quotes"),
        (
            {"a": {"kind": "class_label", "default": 0}},
            "has the default 0; remove it, only a class label",
        ),
        ({"a": {"kind": "class_label", "shape": [None], "default": -1}}, "has the default -1"),
        ({"a": {"kind": "scalar", "dtype": "int64", "default": -1}}, "'scalar' has the default -1"),
        ({"a": {"kind": "scalar", "dtype": "int64", "minimum": "low"}}, r"\['low'\]; give numbers"),
        (
            {"a": {"kind": "scalar", "dtype": "int64", "minimum": 2, "maximum": 1}},
            "minimum 2 above its maximum 1",
        ),
    ],
)
def test_what_cannot_be(data, message):
    with pytest.raises(ConfigError, match=message):
        parse_schema(data)


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "schema.json"
    with pytest.raises(ConfigError, match=r"schema\.json cannot be read: missing file"):
        read_schema(str(path))
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"schema\.json cannot be read: Expecting"):
        read_schema(str(path))


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 20)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(LAUGHS, r"\*a0 is an alias; write it out", id="aliases"),
        pytest.param("a: " + "[" * 999, "nested too deep", id="deep"),
        pytest.param("- " * 100_000, "nested too deep", id="deep in lines"),
        pytest.param("a: 1\n" * 300_000, "file too large", id="long"),
    ],
)
def test_yaml_without_bound(tmp_path, text, message):
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_schema(str(path))
