"""Damage in foreign TFRecords costs a record or the rest of a file, and is reported."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from end_to_end.other_peoples_tfrecords.tutorial_files import (
    SCHEMAS,
    build_verified,
    examples,
    jpeg,
    stored,
    taken_for,
    write,
)
from tensorflow_examples import example

import beam_pipeline
from beam_pipeline.errors import DataError
from tfrecord_dataset.format.frames import framed


def flipped(data, byte):
    return data[:byte] + bytes([data[byte] ^ 1]) + data[byte + 1 :]


SEQUENCE_EXAMPLE = tf.train.SequenceExample(
    feature_lists=tf.train.FeatureLists(
        feature_list={
            "words": tf.train.FeatureList(
                feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))]
            )
        }
    )
).SerializeToString()


def damages() -> dict[str, tuple[Any, str, str, int]]:
    """Return damages with the reject's record and reason, and how many of 7 records remain."""

    def added(payload):
        return lambda data: data + framed(payload)

    cut, gone = "truncated file", "not a TFRecord file"
    return {
        "payload": (lambda data: flipped(data, 100), ":0", "damaged record", 6),
        "cut_off": (lambda data: data[:-9], "", cut, 6),
        "garbage": (lambda data: data + b"some garbage", "", "damaged file", 7),
        "another_kind": (added(example(image=jpeg(0), label=0.5)), ":7", "type conflict", 7),
        "sequence_example": (added(SEQUENCE_EXAMPLE), ":7", "not an Example", 7),
        "half_an_image": (
            added(example(image=jpeg(0)[:-200], label=1)),
            ":7",
            "truncated image",
            7,
        ),
        "no_image": (added(example(image=b"a text", label=1)), ":7", "not an image", 7),
        "empty": (lambda data: b"", "", "no records", 0),
        "text": (lambda data: b"this is text", "", gone, 0),
        "length": (lambda data: flipped(data, 3), "", gone, 0),
        "gzip": (lambda data: gzip.compress(data, mtime=0)[:-9], "", cut, 7),
    }


def test_damage_is_rejected_by_file_and_record(tmp_path):
    payloads = examples("image")[:7]
    damaged = damages()
    for name, (damage, *_) in damaged.items():
        write(tmp_path / "in", payloads, name=f"{name}.tfrecord", files=1)
        path = tmp_path / f"in/{name}.tfrecord"
        path.write_bytes(damage(path.read_bytes()))
    config = beam_pipeline.BuildConfig(input=str(tmp_path / "in"), output=str(tmp_path), name="a")
    with pytest.raises(DataError, match="10 of 64 records invalid"):
        beam_pipeline.build(config)
    info = build_verified(tmp_path / "in", tmp_path, max_bad_fraction=0.2)

    written = Counter(stored(info))
    assert written.keys() == set(payloads), "all of them whole"
    assert written.total() == sum(left for *_, left in damaged.values())
    assert taken_for(info) == SCHEMAS["image"][1]
    lines = Path(info.path, "rejects.jsonl").read_text("utf-8").splitlines()
    rejects = {each["source"]: each["reason"] for each in map(json.loads, lines)}
    assert rejects == {
        f"{name}.tfrecord{record}": reason for name, (_, record, reason, _) in damaged.items()
    }
