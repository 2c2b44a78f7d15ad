"""The files of TFDS, read with TFDS itself, and those that TFDS wrote."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from inspecting import Inspected, schema_of

from beam_pipeline.describe import tfds
from beam_pipeline.describe.tfds import TfdsInfo, read_class_names
from beam_pipeline.errors import DataError
from beam_pipeline.records import Audio, ClassLabel, FileRef, Image, Objects
from beam_pipeline.schema.declaration import parse_schema
from tfrecord_dataset.format.metadata import ShardEntry


def schema_with(**features):
    return schema_of(Inspected(key="a", features=features))


CELLS = ("cells", "1.2.3")
IMAGE = Image(file=FileRef(path="/a.jpg", sha256="00"), format="jpeg", width=1, height=1)
BOXES = Objects(
    boxes=((0, 0, 1, 1),),
    format="rel_xyxy",
    labels=("cat",),
    attributes={"area": (1.5,), "difficult": (0,), "pose": ("left",)},
    keypoints=((0.1, 0.2, 2),),
)


@pytest.fixture
def from_json(tmp_path):
    """TFDS's own FeaturesDict for a schema."""

    def read(schema):
        from tensorflow_datasets.core.features import FeaturesDict

        (tmp_path / "features.json").write_text(tfds.features(schema))
        for name, text in tfds.class_names(schema).items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return FeaturesDict.from_config(os.fspath(tmp_path))

    return read


def test_features_are_read_by_tfds(from_json):
    schema = schema_with(
        image=IMAGE,
        label=ClassLabel("tabby"),
        boxes=BOXES,
        age=3,
        weight=0.5,
        note="x",
        raw=b"\x00",
    )
    features = from_json(schema)

    assert features["image/class/label"].names == ["tabby"]
    assert features["image/object/class/label"].feature.names == ["background", "cat"]
    assert features["age"].np_dtype == "int64"
    assert features["weight"].np_dtype == "float32"
    keys = set(features)
    assert {"image/object/keypoint/x", "image/object/pose", "image/object/bbox/xmin"} <= keys
    assert keys == {key for feature in schema for key in tfds.leaves(feature)}


@pytest.mark.parametrize(
    ("declared", "keys"),
    [
        ({"kind": "image"}, {"x"}),
        ({"kind": "audio"}, {"x"}),
        ({"kind": "class_label", "classes": ["a", "b"]}, {"x"}),
        ({"kind": "class_label"}, {"x"}),
        ({"kind": "class_label", "shape": [None]}, {"x"}),
        ({"kind": "boxes", "encoding": "flat"}, {"x"}),
        ({"kind": "boxes"}, {f"x/bbox/{side}" for side in ("xmin", "xmax", "ymin", "ymax")}),
        ({"kind": "text"}, {"x"}),
        ({"kind": "scalar", "dtype": "bytes"}, {"x"}),
        ({"kind": "sequence", "dtype": "float32", "shape": [None, 4]}, {"x"}),
        ({"kind": "tensor", "dtype": "string", "shape": [2]}, {"x"}),
        ({"kind": "tensor", "dtype": "uint16", "shape": [2, 3], "encoding": "bytes"}, {"x"}),
    ],
)
def test_bare_features_have_only_their_key(from_json, declared, keys):
    schema = parse_schema([{"name": "x", "key": "x", "bare": True, **declared}])
    assert set(from_json(schema)) == keys


AUDIO = Audio(
    file=FileRef(path="/a.wav", sha256="00"), format="wav", sample_rate=8, num_samples=8, channels=1
)
NAMELESS = Objects(boxes=((0, 0, 1, 1),), format="rel_xyxy")
A, B = ClassLabel("a"), ClassLabel("b")
SIDES = {side: f"image/object/bbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax")}


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"image": IMAGE, "label": A}, ("image/encoded", "image/class/label")),
        (
            {"image": IMAGE, "boxes": BOXES},
            ("image/encoded", {**SIDES, "label": "image/object/class/label"}),
        ),
        ({"image": IMAGE, "boxes": NAMELESS}, ("image/encoded", SIDES)),
        ({"image": IMAGE, "boxes": BOXES, "scene": A, "age": 3}, ("image/encoded", "scene/label")),
        ({"audio": AUDIO, "label": A, "by": B}, ("audio/encoded", "label/label")),
        ({"image": IMAGE}, None),
        ({"age": 3, "label": A}, None),
    ],
)
def test_supervised_keys_are_read_by_tfds(features, expected):
    from tensorflow_datasets.core.dataset_info import read_proto_from_builder_dir

    with tempfile.TemporaryDirectory() as folder:
        text = tfds.dataset_info(*CELLS, schema_with(**features), {})
        Path(folder, "dataset_info.json").write_text(text)
        proto = read_proto_from_builder_dir(folder)
    assert proto.HasField("supervised_keys") == (expected is not None)
    if expected is not None:
        from tensorflow_datasets.core.dataset_info import _supervised_keys_from_proto

        assert _supervised_keys_from_proto(proto.supervised_keys) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a-train.tfrecord-00000-of-00001"], "a-train.tfrecord-{SHARD_X_OF_Y}"),
        (["train-00000-of-00002", "train-00001-of-00002"], "train-{SHARD_X_OF_Y}"),
        (["data_00000.tfrecord", "data_00001.tfrecord"], "data_{SHARD_INDEX}.tfrecord"),
        (["train/00000-of-00002.a", "train/00001-of-00002.a"], "train/{SHARD_X_OF_Y}.a"),
        (["train.tfrecord"], "train.tfrecord"),
    ],
)
def test_names_that_tfds_can_state(files, expected):
    template = tfds.template_of(files)

    assert template == expected
    naming = pytest.importorskip("tensorflow_datasets.core.naming").ShardedFileTemplate(
        data_dir="", template=template
    )
    paths = naming.sharded_filepaths(num_shards=len(files))
    assert [str(path) for path in paths] == files


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


def test_no_files_of_tfds(tmp_path):
    assert TfdsInfo.read(str(tmp_path)) is None


def test_damaged_files_of_tfds(tmp_path):
    (tmp_path / "dataset_info.json").write_text("[")
    with pytest.raises(DataError, match="is invalid"):
        TfdsInfo.read(str(tmp_path))


def test_class_names_that_tfds_wrote(tmp_path):
    (tmp_path / "label.labels.txt").write_text("cat\ndog\n")
    (tmp_path / "objects-kind.labels.txt").write_text("wheel\n")

    assert read_class_names(str(tmp_path), ["label", "objects/kind", "image"]) == {
        "label": ("cat", "dog"),
        "objects/kind": ("wheel",),
    }
