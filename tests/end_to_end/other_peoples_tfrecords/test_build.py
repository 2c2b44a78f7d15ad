"""Datasets built from foreign TFRecords have Examples with equal bytes."""

from collections import Counter

import numpy as np
import pytest
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

import tfrecord_dataset
import trainer
from beam_pipeline.errors import DataError
from beam_pipeline.schema.declaration import parse_schema

BOXES = {"kind": "boxes", "key": "bounding_boxes"}


def test_every_example_is_written_as_it_is(tmp_path, schema):
    payloads = examples(schema)
    write(tmp_path / "in", payloads[:12])
    write(tmp_path / "in", payloads[12:], "GZIP", name="more_{}.tfrecord.gz")
    info = build_verified(tmp_path / "in", tmp_path, num_shards=2)

    assert len(info.splits["train"]) == 2
    assert Counter(stored(info)) == Counter(payloads)
    assert taken_for(info) == SCHEMAS[schema][1]
    assert all(feature.bare for feature in info.schema)


def test_what_a_key_holds_decides_the_split(tmp_path):
    folder = write(tmp_path / "in", examples("audio"))
    info = build_verified(folder, tmp_path, group_by="speaker_id", split={"a": 0.5, "b": 0.5})

    speakers = {
        split: {int(each["speaker_id"]) for each in tfrecord_dataset.open(info.path)[split]}
        for split in info.splits
    }
    assert speakers["a"] | speakers["b"] == set(range(5))
    assert not speakers["a"] & speakers["b"]


def test_equal_images_are_duplicates(tmp_path):
    payloads = [example(image=jpeg(number // 2), label=number) for number in range(4)]
    info = build_verified(write(tmp_path / "in", payloads), tmp_path, duplicates="drop")

    duplicates = info.metadata["duplicates"]
    assert (duplicates["groups"], duplicates["records"], duplicates["conflicting"]) == (2, 4, 2)
    assert duplicates["examples"][0]["labels"] in (["0", "1"], ["2", "3"])
    assert len(stored(info)) == 2


def test_class_names(tmp_path):
    folder = write(tmp_path / "in", examples("image"))
    info = build_verified(folder, tmp_path, classes=("cat", "dog", "bird"))
    assert info.classes == ("cat", "dog", "bird")

    with pytest.raises(DataError, match=r"class numbers \(not 0 to 1\): 2; declared are cat, dog"):
        build_verified(folder, tmp_path / "again", classes=("cat", "dog"))


@pytest.mark.slow
def test_a_declared_schema(tmp_path):
    raw = {"kind": "tensor", "dtype": "float32", "shape": [64, 64], "encoding": "bytes"}
    for name, declared in (
        ("values", {"raw": raw, "y": {"kind": "scalar", "dtype": "float32"}}),
        ("boxes", {"image": {"kind": "image", "key": "image_raw"}, "boxes": BOXES}),
    ):
        folder = write(tmp_path / name, examples(name))
        info = build_verified(folder, tmp_path / f"{name}-out", schema=parse_schema(declared))
        record = next(iter(trainer.open(info.path).numpy("train", image_dtype="uint8")))
        if name == "values":
            assert (record["raw"].shape, record["raw"].dtype) == ((64, 64), np.float32)
            assert 0 <= record["raw"].min() < record["raw"].max() <= 1
        else:
            assert [feature.encoding for feature in info.schema] == ["", "flat"]
            assert (record["image"].shape, record["boxes"].shape[1]) == ((12, 16, 3), 4)
