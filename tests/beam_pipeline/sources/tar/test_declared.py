"""What a user declares decides what the members of a tar are, and which records fit."""

import functools

import pytest
from eager_runner import yielded

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel, RawFile
from beam_pipeline.sources.tar.read import ReadTar
from tfrecord_dataset.feature import Feature

SCHEMA = (
    Feature(name="image", kind="image", dtype="uint8", shape=(None, None, 3), key="image/encoded"),
    Feature(
        name="label", kind="class_label", dtype="int64", shape=(), key="l", classes=("ant", "bee")
    ),
    Feature(name="age", kind="scalar", dtype="float32", shape=(), key="age"),
    Feature(name="box", kind="tensor", dtype="int64", shape=(2,), key="box"),
    Feature(name="raw", kind="bytes", dtype="string", shape=(), key="raw"),
)

FITTING = {
    "jpg": b"image",
    "cls": b"1",
    "age": b"7",
    "box": b"1 2",
    "raw.json": b"[1]",
    "json": b'{"not": "read"}',
}


def test_a_declared_schema(read, content):
    members = {f"0.{extension}": data for extension, data in FITTING.items()}
    members["0.raw.bin"] = b"any"
    del members["0.raw.json"]
    records, rejects = read({"x.tar": members}, schema=SCHEMA)
    assert rejects == {}
    features = records["x.tar/0"].features
    assert content(features["image"]) == b"image"
    assert isinstance(features["raw"], RawFile)
    assert content(features["raw"]) == b"any"
    assert features["label"] == ClassLabel("bee")
    assert (features["age"], type(features["age"])) == (7.0, float)
    assert (features["box"].shape, features["box"].dtype) == ((2,), "int64")
    assert len(features) == 5


def test_a_declared_schema_finds_its_values_in_json(read):
    members = {"0.json": {"age": 3, "box": [4, 5], "label": "ant"}, "0.raw": b"1", "0.jpg": b"1"}
    records, rejects = read({"x.tar": members}, schema=SCHEMA)
    assert rejects == {}
    features = records["x.tar/0"].features
    assert (features["age"], features["label"]) == (3.0, ClassLabel("ant"))


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        pytest.param({"age": b"old"}, "'age' is 'old'", id="number"),
        pytest.param({"cls": b"2"}, "class of ant, bee", id="class"),
        pytest.param({"box": b"1 2 3"}, "list of 2", id="shape"),
        pytest.param({"age": None}, "there is no .age", id="missing"),
        pytest.param({"jpg": None}, "there is no .jpg", id="no image"),
    ],
)
def test_what_does_not_fit_the_schema(read, changes, detail):
    good = {f"good.{name}": data for name, data in FITTING.items()}
    good["good.raw.bin"] = b""
    bad = {f"0.{name}": data for name, data in (FITTING | changes).items() if data is not None}
    bad["0.raw.bin"] = b""
    tar = {name: data for name, data in (good | bad).items() if "raw.json" not in name}
    records, rejects = read({"x.tar": tar}, schema=SCHEMA)
    assert list(records) == ["x.tar/good"]
    assert rejects["x.tar/0"].reason == "does not fit the schema"
    assert detail in rejects["x.tar/0"].detail


@pytest.mark.parametrize(
    ("members", "options", "error"),
    [
        pytest.param(
            {"0.txt": b""}, {"schema": SCHEMA}, r"declares 'image' \(image\)", id="schema"
        ),
        pytest.param({"0.txt": b""}, {"label_column": "cls"}, "--label-column 'cls'", id="label"),
        pytest.param(
            {"0.x.txt": b"", "0.x.cls": b"1"}, {}, "both make the feature 'x'", id="twice"
        ),
    ],
)
def test_what_cannot_be_told(read, members, options, error):
    with pytest.raises(ConfigError, match=error):
        read({"x.tar": members}, **options)


@pytest.mark.parametrize("schema", ["", "declared"])
def test_numbers_that_are_missing_may_be_stored(write, schema, by_name):
    declared = Feature(name="age", kind="scalar", dtype="float32", shape=(), key="age")
    tars = {"x.tar": {"0.json": {"age": 3, "n": 1}, "1.json": {"age": None, "n": 1}}}
    read = functools.partial(ReadTar, write(tars), schema=(declared,) if schema else ())

    assert by_name(yielded(read()))[1].keys() == {"x.tar/1"}
    records, rejects = by_name(yielded(read(missing_number=-1.0)))

    assert rejects == {}
    assert [records[key].features["age"] for key in sorted(records)] == [3, -1.0]
