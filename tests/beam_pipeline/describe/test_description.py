"""README.md, label maps and schema.pbtxt can be read by people and by other tools."""

import csv
import fnmatch
import io

import pytest
import yaml
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import tfds
from beam_pipeline.describe.description import card, csv_text, protobuf_text, schema_text
from beam_pipeline.describe.record_text import as_text
from beam_pipeline.schema.declaration import parse_schema
from tfrecord_dataset.format.metadata import ShardEntry


def test_the_shards_are_the_data():
    shard = "cells-train.tfrecord-00000-of-00001"
    entry = ShardEntry(file=shard, num_records=7, num_bytes=9, sha256="")
    text = card(BuildConfig(name="cells", license="cc-by-4.0"), {"train": [entry]}, ())

    _, head, body = text.split("---\n", 2)
    (config,) = yaml.safe_load(head)["configs"]
    assert config["config_name"] == "default"
    assert yaml.safe_load(head)["license"] == "cc-by-4.0"
    for name, is_data in ((shard, True), (f"{shard}.gz", True), ("index/x.parquet", False)):
        assert fnmatch.fnmatch(name, config["data_files"]) == is_data
    assert "| train | 7 | 1 |" in body


def test_it_says_what_records_hold():
    classes = ["<script>", "a|b", "`c", *(f"n{number}" for number in range(20))]
    schema = parse_schema(
        [
            {"name": "photo", "kind": "image", "dtype": "uint8"},
            {"name": "label", "kind": "class_label", "classes": classes},
        ]
    )
    entry = ShardEntry(file="x", num_records=7, num_bytes=9, sha256="")
    sample = as_text({"photo": [b"\xff\xd8"], "note": [b"```\n# no"], "label": [1]})
    text = card(BuildConfig(name="cells"), {"train": [entry]}, schema, sample)
    assert "| `photo` | image | uint8 | any × any × 3 |" in text
    assert "Classes of `label`, 23: `<script>`, `a\\|b`, `'c`, `n0`" in text
    assert "`n16` and 3 more." in text
    assert "License: not stated." in text
    assert 'tfrecord_dataset.open("DATA_DIR/cells/1.0.0")["train"]' in text
    assert "license:" not in text
    assert "\n    photo  <2 bytes>\n    note   '```\\n# no'\n    label  1\n\n" in text


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("cat", "cat"),
        ('"quoted"', r"\"quoted\""),
        ("back\\slash", r"back\\slash"),
        ("tab\tand\nline", r"tab\tand\nline"),
        ("weiße 猫 🐈", "weiße 猫 🐈"),
    ],
)
def test_a_label_map_has_ids_from_one_and_the_escapes_of_protobuf(name, written):
    assert protobuf_text(["a", name]) == (
        f'item {{\n  id: 1\n  name: "a"\n}}\nitem {{\n  id: 2\n  name: "{written}"\n}}\n'
    )


@pytest.mark.parametrize("classes", [["cat", "dog"], ['"a"', "b\\", "c\td\n", "e,f"], ["猫", "🐈"]])
def test_model_garden_reads_rows_without_a_header(classes):
    rows = csv.reader(io.StringIO(csv_text(classes)), delimiter=",")
    assert [(int(number), name) for number, name in rows] == list(enumerate(classes, 1))


def test_a_class_that_a_spreadsheet_would_run_is_a_text():
    classes = ["=cmd|' /C calc'!A0", "@SUM(1)", "+a", "-1", "+1.5", "cat"]
    rows = dict(csv.reader(io.StringIO(csv_text(classes))))
    assert [*rows.values()] == [*(f"'{name}" for name in classes[:3]), *classes[3:]]


FIXED, ANY = (), None


def read_schema_text(*declared):
    """Return (type, fixed shape or None for any number of values, whether required) by key."""
    schema = parse_schema([*declared])
    parsed = text_format.Parse(schema_text(schema), schema_pb2.Schema())
    assert [each.name for each in parsed.feature] == sorted(
        key for feature in schema for key in tfds.leaves(feature)
    )
    return {
        each.name: (
            schema_pb2.FeatureType.Name(each.type),
            tuple(dim.size for dim in each.shape.dim) if each.HasField("shape") else None,
            each.presence.min_fraction == 1,
        )
        for each in parsed.feature
    }


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("{kind: scalar, dtype: int64}", {"x": ("INT", FIXED, True)}),
        ("{kind: scalar, dtype: float32}", {"x": ("FLOAT", FIXED, True)}),
        ("{kind: text}", {"x": ("BYTES", FIXED, True)}),
        ("{kind: tensor, dtype: float32, shape: [2, 3]}", {"x": ("FLOAT", (2, 3), True)}),
        (
            "{kind: tensor, dtype: uint8, shape: [2, 3], encoding: bytes}",
            {"x": ("BYTES", FIXED, True)},
        ),
        ("{kind: sequence, dtype: int64, shape: [null]}", {"x": ("INT", ANY, False)}),
        (
            "{kind: class_label, classes: [a]}",
            {"x/label": ("INT", FIXED, True), "x/text": ("BYTES", FIXED, True)},
        ),
        (
            "{kind: class_label, classes: [a], shape: [null]}",
            {"x/label": ("INT", ANY, False), "x/text": ("BYTES", ANY, False)},
        ),
        ("{kind: class_label, key: y, bare: true, default: -1}", {"y": ("INT", ANY, False)}),
    ],
)
def test_types_and_shapes(declared, expected):
    assert read_schema_text({"name": "x", **yaml.safe_load(declared)}) == expected


def test_names_are_escaped():
    assert list(read_schema_text({"name": 'größe "x"', "kind": "text"})) == ['größe "x"']
