"""Declared features, checked against the first records."""

import numpy as np
import pytest
import tensorflow as tf

import trainer

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


def test_a_key_that_some_records_lack(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": 5, "m": 1}, {"m": 1}])

    with pytest.raises(
        trainer.ConfigError, match=r"takes a value of every record or a default, .*none"
    ):
        trainer.open(tmp_path / "a.tfrecord", features={"n": {"kind": "scalar", "dtype": "int64"}})


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
