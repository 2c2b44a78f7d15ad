"""README.md tells people the splits, and Hugging Face where the data are."""

import fnmatch

import yaml

from beam_pipeline.describe.card import card
from tfrecord_dataset.metadata import ShardEntry


def test_the_shards_are_the_data():
    shard = "cells-train.tfrecord-00000-of-00001"
    entry = ShardEntry(file=shard, num_records=7, num_bytes=9, sha256="")
    text = card("cells", "1.0.0", {"train": [entry]})

    _, head, body = text.split("---\n", 2)
    (config,) = yaml.safe_load(head)["configs"]
    assert config["config_name"] == "default"
    for name, is_data in ((shard, True), (f"{shard}.gz", True), ("index/x.parquet", False)):
        assert fnmatch.fnmatch(name, config["data_files"]) == is_data
    assert "| train | 7 | 1 |" in body
