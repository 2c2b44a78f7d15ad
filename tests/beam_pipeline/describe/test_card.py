"""README.md lists the splits for people, and the data files for Hugging Face."""

import fnmatch

import yaml

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.card import card
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
