"""Files that TFDS itself wrote into a directory are distinguished from this project's."""

import json

import pytest

from beam_pipeline.describe import tfds
from beam_pipeline.describe.tfds import TfdsInfo, read_class_names
from beam_pipeline.errors import DataError
from beam_pipeline.schema.declaration import parse_schema
from tfrecord_dataset.format.metadata import ShardEntry

TFDS_INFO = {
    "name": "pets",
    "version": "2.0.1",
    "fileFormat": "tfrecord",
    "moduleName": "pets",
    "splits": [{"name": "train", "shardLengths": ["3", "2"], "numBytes": "99"}, {"name": "test"}],
}


PICTURES = parse_schema(
    [{"name": "image", "kind": "image"}, {"name": "label", "kind": "class_label"}]
)


def shard(num_records):
    return ShardEntry(file="a", num_records=num_records, num_bytes=9, sha256="")


def test_what_tfds_wrote(tmp_path):
    (tmp_path / "dataset_info.json").write_text(json.dumps(TFDS_INFO))
    info = TfdsInfo.read(str(tmp_path))

    assert (info.name, info.version) == ("pets", "2.0.1")
    info.check({"train": [shard(3), shard(2)]})
    with pytest.raises(DataError, match="fetch the missing files"):
        info.check({"train": [shard(3)]})


def test_what_this_project_wrote(tmp_path):
    (tmp_path / "dataset_info.json").write_text(
        tfds.dataset_info("pets", "1.0.0", PICTURES, {"train": [shard(3)]})
    )
    assert "supervisedKeys" in (tmp_path / "dataset_info.json").read_text()
    assert TfdsInfo.read(str(tmp_path)) is None


def test_nothing(tmp_path):
    assert TfdsInfo.read(str(tmp_path)) is None


def test_what_nobody_understands(tmp_path):
    (tmp_path / "dataset_info.json").write_text("[")
    with pytest.raises(DataError, match="is invalid"):
        TfdsInfo.read(str(tmp_path))


def test_class_names(tmp_path):
    (tmp_path / "label.labels.txt").write_text("cat\ndog\n")
    (tmp_path / "objects-kind.labels.txt").write_text("wheel\n")

    assert read_class_names(str(tmp_path), ["label", "objects/kind", "image"]) == {
        "label": ("cat", "dog"),
        "objects/kind": ("wheel",),
    }
