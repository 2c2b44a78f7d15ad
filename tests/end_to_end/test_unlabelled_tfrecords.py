"""TFRecords of a competition: those to predict have no label, the others have one."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from end_to_end.building import build
from tensorflow_examples import example

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.cli import commands
from trainer.commands import main as train

NUM_CLASSES = 3
COUNTS = {"train": 24, "val": 6, "test": 9}


def flower(split, number):
    """As its organisers wrote it: (id, class) and an image whose colour tells the class."""
    kind = number % NUM_CLASSES
    pixels = np.full((16, 16, 3), 30 + 10 * [*COUNTS].index(split), np.uint8)
    pixels[..., kind] = 200 + number
    features = {
        "id": f"{split}{number}".encode(),
        "image": tf.io.encode_jpeg(pixels).numpy(),
    }
    if split != "test":
        features["class"] = kind
    return example(features)


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    root = tmp_path_factory.mktemp("in") / "flowers"
    for split, count in COUNTS.items():
        (root / split).mkdir(parents=True)
        for shard in range(2):
            with tf.io.TFRecordWriter(str(root / split / f"{shard:02d}-16x16.tfrec")) as writer:
                for number in range(shard, count, 2):
                    writer.write(flower(split, number))
    return root


def expected(split):
    return Counter(
        (f"{split}{number}".encode(), -1 if split == "test" else number % NUM_CLASSES)
        for number in range(COUNTS[split])
    )


def labels(dataset, split):
    return Counter((record["id"], int(record["class"])) for record in dataset.numpy(split))


@pytest.fixture(scope="module")
def built(flowers, tmp_path_factory):
    """The dataset, for tests that only read it."""
    output = str(tmp_path_factory.mktemp("out"))
    assert commands.main(["build", str(flowers), "--output", output]) == 0
    return beam_pipeline.open(f"{output}/flowers/1.0.0")


@pytest.mark.slow
def test_planned_built_and_shown(flowers, built, tmp_path, capsys):
    assert commands.main(["plan", str(flowers)]) == 0
    assert "feature class: class_label, 3 classes, none in some records" in capsys.readouterr().out

    assert beam_pipeline.verify(built) == []
    opened = trainer.open(built.path)
    for split in COUNTS:
        assert labels(opened, split) == expected(split)
    assert commands.main(["show", built.path, "--images", str(tmp_path / "drawn")]) == 0


@pytest.mark.slow
def test_trained_and_evaluated(built, tmp_path, capsys):
    shared = ["--data", built.path, "--quiet"]
    run = str(tmp_path / "run")
    small = ["--batch-size", "8", "--image-size", "16", "--epochs", "1"]
    assert train(["train", *shared, "--output", run, *small]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]).keys() >= {"val_accuracy"}
    assert train(["evaluate", *shared, "--run", run, "--split", "test"]) == 3
    assert "class of a record is not one of the 3 classes (-1: it has none)" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_adopted_or_opened_as_they_lie(flowers, tmp_path):
    bare = trainer.open(str(flowers / "*" / "*.tfrec"))
    root = shutil.copytree(flowers, tmp_path / "flowers")
    info = beam_pipeline.adopt(str(root))

    assert beam_pipeline.verify(info) == []
    adopted = trainer.open(root)
    for split in COUNTS:
        assert labels(adopted, split) == labels(bare, split) == expected(split)
    assert adopted.features["class"].default == bare.features["class"].default == -1


@pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")
def test_tfds_reads_lists_of_none_or_one(built):
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(built.path)
    for split in COUNTS:
        read = tfds.as_numpy(builder.as_dataset(split=split))
        found = Counter((each["id"], *(each["class"].tolist() or [-1])) for each in read)
        assert found == expected(split)


def test_a_manifest_may_lack_labels_if_its_schema_allows_it(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n1.5,a\n2.5,\n3.5,b\n")
    schema = {
        "x": {"kind": "scalar", "dtype": "float32"},
        "label": {"kind": "class_label", "default": -1},
    }
    info = build(tmp_path / "t.csv", tmp_path / "out", schema=beam_pipeline.parse_schema(schema))
    records = tfrecord_dataset.open(info.path)["train"]
    assert {float(record["x"]): int(record["label"]) for record in records} == {
        1.5: 0,
        2.5: -1,
        3.5: 1,
    }
