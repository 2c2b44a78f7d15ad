"""Opening datasets: directories, versions, bare files, declared features, and errors."""

import gzip
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from damages import edit
from tensorflow_examples import example as tensorflow_example

import tfrecord_dataset
import trainer
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.json_file import sealed
from trainer.dataset.opening import open_data
from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError

BARE = {"image": {"kind": "image"}, "label": {"kind": "class_label", "classes": ["a", "b", "c"]}}


def test_a_dataset_says_its_splits_features_and_classes(colors):
    dataset = trainer.open(colors)

    assert list(dataset.splits) == ["train", "validation", "test"]
    assert "train" in dataset.splits
    assert list(dataset.features) == ["image", "label", "number"]
    assert dataset.features["label"].key == "image/class/label"
    assert dataset.features["image"].shape == (None, None, 3)
    assert dataset.classes == ["blue", "green", "red"]
    assert dataset.num_records("train") == 50
    assert len(dataset.splits["train"].files) == 3


SHARD = "tiny-train.tfrecord-00000-of-00001"
FRAME = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"frame"]))
SEQUENCE = tf.train.SequenceExample(
    context=tf.train.Features(feature={"id": FRAME}),
    feature_lists=tf.train.FeatureLists(
        feature_list={"rgb": tf.train.FeatureList(feature=[FRAME, FRAME])}
    ),
).SerializeToString()
FUTURE = sealed({"format_version": 99, "features": [], "splits": {}}).encode()
A_RECORD = framed(tensorflow_example({"n": 1}))
MIXED = r"b\.tfrecord\.gz is gzip, but .*a\.tfrecord of the same split is not"
# Files by name, the path to open, and the error.
REFUSED = {
    "no metadata": ({SHARD: b""}, "", NotADatasetError, "interrupted.*beam-tfrecords build"),
    "no JSON": ({"metadata.json": b"{"}, "", DatasetDamagedError, "build the dataset again"),
    "other JSON": ({"metadata.json": b"{}"}, "", DatasetDamagedError, "its checksum"),
    "a list": ({"metadata.json": b"[]"}, "", DatasetDamagedError, "not a dataset's metadata"),
    "from the future": ({"metadata.json": FUTURE}, "", ConfigError, "version 99, but .* reads 3"),
    "sequences": ({"a": framed(SEQUENCE)}, "a", NotADatasetError, r"tf\.train\.SequenceExample"),
    "no Examples": (
        {"a": framed(b"\xff" * 3)},
        "a",
        NotADatasetError,
        "cannot be read as tf.train",
    ),
    "no value": (
        {"a": b""},
        "a",
        NotADatasetError,
        "cannot be inferred; declare them by features",
    ),
    "text": ({"a.txt": b"a text " * 9}, "a.txt", DatasetDamagedError, "or not a TFRecord file"),
    "zlib": (
        {"a": zlib.compress(A_RECORD)},
        "a",
        DatasetDamagedError,
        "a is damaged, compressed as ZLIB, or not a TFRecord",
    ),
    "gzip and not": (
        *({"a.tfrecord": A_RECORD, "b.tfrecord.gz": gzip.compress(A_RECORD)}, "*"),
        *(ConfigError, MIXED),
    ),
}


@pytest.mark.parametrize(("files", "path", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_a_dataset_is_named(tmp_path, files, path, error, message):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    with pytest.raises(error, match=message):
        trainer.open(tmp_path / path)


@pytest.mark.parametrize("pattern", ["**", "tiny/1.0.0/*", "tiny/1.0.0/metadata.json"])
@pytest.mark.parametrize("opened", [trainer.open, tfrecord_dataset.open])
def test_a_pattern_that_matches_a_whole_dataset_is_answered_with_its_folder(
    colors, tmp_path, pattern, opened
):
    folder = shutil.copytree(colors, tmp_path / "tiny/1.0.0")

    with pytest.raises(NotADatasetError, match=rf"metadata\.json .*; .*, {folder}$"):
        opened(f"{tmp_path}/{pattern}")


def test_missing_shards_are_named(colors, tmp_path):
    copy = shutil.copytree(colors, tmp_path / "copy")
    (copy / "tiny-test.tfrecord-00001-of-00003").unlink()

    with pytest.raises(DatasetDamagedError, match=r"1 of 3 shards .*test-?.*00001"):
        trainer.open(copy)


@pytest.mark.parametrize(
    ("unreadable", "message"),
    [
        ({"kind": "scalar", "dtype": "complex64", "shape": []}, "'wave' has dtype 'complex64'"),
        (
            {"kind": "tensor", "dtype": "float32", "shape": [10**12, 10**12]},
            "more values than a record can hold",
        ),
        ({"kind": "tensor", "dtype": "float32", "shape": [1] * 400}, "has 400 dimensions, more"),
    ],
    ids=["dtype", "shape", "dimensions"],
)
def test_what_cannot_be_read_does_not_keep_a_dataset_from_opening(
    colors, tmp_path, unreadable, message
):
    copy = shutil.copytree(colors, tmp_path / "copy")
    wave = {"name": "wave", "key": "wave"} | unreadable
    edit(copy / "metadata.json", lambda m: m["features"].append(wave))

    dataset = trainer.open(copy)

    with pytest.raises(ConfigError, match=message):
        dataset.batches("train", image_size=8)
    assert set(next(dataset.numpy("test", features=["image", "label"]))) == {"image", "label"}


def test_compression_is_seen_past_empty_files(tmp_path, write_records):
    (tmp_path / "a.tfrecord").touch()
    write_records(tmp_path / "b.tfrecord", [{"n": 7}], "GZIP")

    dataset = trainer.open(f"{tmp_path}/*.tfrecord", features={"n": scalar("int64")})

    assert [record["n"] for record in dataset.numpy()] == [7]


def test_opening_takes_no_features_for_a_directory(colors: Path):
    with pytest.raises(ConfigError, match=r"remove it.*\*\.tfrecord\*"):
        trainer.open(colors, features=BARE)


def test_a_key_without_a_letter_is_a_feature(tmp_path, write_dataset):
    unnamed = {"name": "", "kind": "scalar", "dtype": "int64", "shape": [], "key": "", "bare": True}
    directory = write_dataset(tmp_path / "tiny" / "1.0.0", [unnamed], {"train": [{"": 7}]})

    assert [record[""] for record in trainer.open(directory).numpy()] == [7]


FLOATS = np.linspace(0, 1, 16, dtype="<f4").tobytes()
RECORD = {
    "n": 3,
    "label": 1,
    "x": 0.5,
    "ints": [1, 2, 3],
    "floats": [0.25] * 4,
    "boxes": [0.5] * 8,
    "caption": b"text",
    "raw": FLOATS,
    "image": tf.io.encode_png(np.zeros((2, 2, 3), np.uint8)).numpy(),
    "sound": tf.audio.encode_wav([[0.5]], 8000).numpy(),
    "words": [b"a", b"b"],
}


@pytest.fixture
def file(tmp_path, write_records):
    """Two records with values of every kind."""
    write_records(tmp_path / "a.tfrecord", [RECORD] * 2)
    return tmp_path / "a.tfrecord"


def scalar(dtype):
    return {"kind": "scalar", "dtype": dtype}


def sequence(dtype):
    return {"kind": "sequence", "dtype": dtype}


def tensor(dtype, *shape):
    return {"kind": "tensor", "dtype": dtype, "shape": shape}


def test_default_values(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": 5, "s": [1]}, {"s": [1, 2]}])
    features = {
        "n": {**scalar("int64"), "default": 7},
        "s": {**sequence("int64"), "default": -3},
    }

    (batch,) = trainer.open(tmp_path / "a.tfrecord", features=features).batches()

    assert batch["n"].numpy().tolist() == [5, 7]
    assert batch["s"].numpy().tolist() == [[1, -3], [1, 2]]


def test_declarations_and_features_mix(file):
    inferred = trainer.open(file)

    dataset = trainer.open(
        file,
        features={
            "x": scalar("float32"),
            "image": {"kind": "image", "shape": [2, 2, 3]},
            "text": inferred.features["caption"],
        },
    )

    assert list(dataset.features) == ["x", "image", "text"]
    (batch,) = dataset.batches()
    assert batch["image"].shape == (2, 2, 2, 3)
    assert batch["text"].numpy().tolist() == [b"text"] * 2


def test_what_was_inferred_can_be_overruled_key_by_key(file):
    inferred = trainer.open(file).features
    raw = {"kind": "tensor", "dtype": "float32", "shape": [16], "encoding": "bytes"}

    dataset = trainer.open(file, features={**inferred, "raw": raw})

    assert dataset.features.keys() == RECORD.keys()
    assert dataset.features["raw"].shape == (16,)
    assert dataset.notes == ()


def test_flat_boxes(file):
    dataset = trainer.open(file, features={"objects": {"kind": "boxes", "key": "boxes"}})

    assert dataset.features["objects"].encoding == "flat"
    (batch,) = dataset.batches(pad={"objects": 3})
    expected = [[0.5] * 4, [0.5] * 4, [-1] * 4]
    assert batch["objects"].numpy().tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("name", "declared", "message"),
    [
        (
            *("lable", {"kind": "class_label"}),
            r"unknown key \(of feature 'lable'\) 'lable' in the first records \(did you",
        ),
        ("intts", sequence("int64"), r"did you mean 'ints'\?\); choose from: .*floats"),
        ("faces", {"kind": "boxes"}, "unknown .*'faces/bbox/xmin'"),
        ("x", scalar("int64"), "'x' is .* scalar of int64.*list of int64.*holds float32 in record"),
        ("n", scalar("string"), "takes a list of bytes, but key 'n' holds int64"),
        ("ints", tensor("int64", 2), r"2 values per record, but key 'ints' holds 3 to 3"),
        ("raw", tensor("float32", 3, 3), r"float32 \[3, 3\], .* 36 bytes, but key 'raw' holds 64"),
        ("n", tf.int64, "cannot be used"),
        ("n", scalar("int32"), "dtype 'int32', which Examples cannot store"),
        ("raw", tensor("complex64", 8), "declare one of bool, int8"),
    ],
)
def test_wrong_declarations(file, name, declared, message):
    with pytest.raises(trainer.ConfigError, match=message):
        trainer.open(file, features={name: declared})


TRAINED = features_from_json({"s": sequence("int64"), "label": BARE["label"]})
NOT_THE_SAME = "The model was trained on these features; use data with the same ones"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"label": 1}], f"'s' in the first records; choose from: label. {NOT_THE_SAME}"),
        ([{"s": [0.5], "label": 1}], f"key 's' holds float32.*{NOT_THE_SAME}"),
        ([{"s": [1], "label": 1}, {"s": [2]}], None),
    ],
    ids=["no input", "another type", "no label"],
)
def test_bare_files_are_read_like_the_training_data(tmp_path, write_records, records, message):
    write_records(tmp_path / "a.tfrecord", records)
    path = str(tmp_path / "a.tfrecord")
    if message is not None:
        with pytest.raises(ConfigError, match=message):
            open_data(path, None, TRAINED)
    else:
        (batch,) = open_data(path, None, TRAINED).batches()
        assert batch["s"].numpy().tolist() == [[1], [2]]
        assert batch["label"].numpy().tolist() == [1, -1]


def test_a_key_that_some_records_lack(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": 5, "m": 1}, {"m": 1}])

    with pytest.raises(ConfigError, match=r"takes a value of every record or a default, .*none"):
        trainer.open(tmp_path / "a.tfrecord", features={"n": scalar("int64")})


def test_one_key_is_not_read_in_two_ways(file):
    declared = {
        "fixed": {"kind": "tensor", "dtype": "int64", "shape": [3], "key": "ints"},
        "open": {"kind": "sequence", "dtype": "int64", "key": "ints"},
    }
    dataset = trainer.open(file, features=declared)

    with pytest.raises(trainer.ConfigError, match="'open' reads key 'ints' differently"):
        dataset.batches()
    (batch,) = dataset.batches(features=["open"])
    assert batch["open"].shape == (2, 3)


def test_empty_files_keep_their_declaration(tmp_path):
    (tmp_path / "a.tfrecord").touch()

    dataset = trainer.open(tmp_path / "a.tfrecord", features={"n": scalar("int64")})

    assert list(dataset.batches()) == []
