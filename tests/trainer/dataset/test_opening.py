"""Finding datasets: directories, versions, bare files, and what is said when there is none."""

import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from sealing import edit

import trainer
from tfrecord_dataset.sealed_json import sealed

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


def test_a_directory_without_metadata_is_not_a_dataset(tmp_path):
    (tmp_path / "tiny-train.tfrecord-00000-of-00001").touch()

    with pytest.raises(trainer.NotADatasetError, match=r"interrupted.*beam_pipeline build"):
        trainer.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        pytest.param("{", trainer.DatasetDamagedError, "build the dataset again", id="not JSON"),
        pytest.param("{}", trainer.DatasetDamagedError, "its checksum", id="other JSON"),
        pytest.param("[]", trainer.DatasetDamagedError, "not a dataset's metadata", id="a list"),
        pytest.param(
            sealed({"format_version": 99, "features": [], "splits": {}}),
            trainer.ConfigError,
            "format version 99, but this program reads 3",
            id="from the future",
        ),
    ],
)
def test_metadata_that_cannot_be_used(tmp_path, text, error, message):
    (tmp_path / "metadata.json").write_text(text)

    with pytest.raises(error, match=message):
        trainer.open(tmp_path)


def test_missing_shards_are_named(colors, tmp_path):
    copy = shutil.copytree(colors, tmp_path / "copy")
    (copy / "tiny-test.tfrecord-00001-of-00003").unlink()

    with pytest.raises(trainer.DatasetDamagedError, match=r"1 of 3 shards .*test-?.*00001"):
        trainer.open(copy)


def test_what_cannot_be_read_does_not_keep_a_dataset_from_opening(colors, tmp_path):
    copy = shutil.copytree(colors, tmp_path / "copy")
    wave = {"name": "wave", "kind": "scalar", "dtype": "complex64", "shape": [], "key": "wave"}
    edit(copy / "metadata.json", lambda m: m["features"].append(wave))

    dataset = trainer.open(copy)

    with pytest.raises(trainer.ConfigError, match="'wave' has dtype 'complex64'"):
        dataset.batches("train", image_size=8)
    assert set(next(dataset.numpy("test", features=["image", "label"]))) == {"image", "label"}


def test_compression_is_seen_past_empty_files(tmp_path, write_records):
    (tmp_path / "a.tfrecord").touch()
    write_records(tmp_path / "b.tfrecord", [{"n": 7}], "GZIP")

    dataset = trainer.open(
        f"{tmp_path}/*.tfrecord", features={"n": {"kind": "scalar", "dtype": "int64"}}
    )

    assert [record["n"] for record in dataset.numpy()] == [7]


def test_opening_takes_no_features_for_a_directory(colors: Path):
    with pytest.raises(trainer.ConfigError, match=r"leave it out.*\*\.tfrecord\*"):
        trainer.open(colors, features=BARE)


def test_sequence_examples_are_refused_by_name(tmp_path):
    frame = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"frame"]))
    record = tf.train.SequenceExample(
        context=tf.train.Features(feature={"id": frame}),
        feature_lists=tf.train.FeatureLists(
            feature_list={"rgb": tf.train.FeatureList(feature=[frame, frame])}
        ),
    )
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        writer.write(record.SerializeToString())

    with pytest.raises(trainer.NotADatasetError, match=r"tf\.train\.SequenceExample"):
        trainer.open(tmp_path / "a.tfrecord")


def test_a_key_without_a_letter_is_a_feature(tmp_path, write_dataset):
    unnamed = {"name": "", "kind": "scalar", "dtype": "int64", "shape": [], "key": "", "bare": True}
    directory = write_dataset(tmp_path / "tiny" / "1.0.0", [unnamed], {"train": [{"": 7}]})

    assert [record[""] for record in trainer.open(directory).numpy()] == [7]
