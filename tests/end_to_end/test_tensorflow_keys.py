"""TFRecords of TensorFlow's Object Detection API, Model Garden and competitions, undeclared."""

import dataclasses
import hashlib

import numpy as np
import pytest
from file_bytes import image_bytes
from PIL import Image

import beam_pipeline
import tfrecord_dataset
import trainer
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed
from trainer.options.command_options import EvaluateConfig
from trainer.runs import choices

NAMES = {1: b"cat", 2: b"dog", 4: b"bird"}
CLASSES = ("cat", "dog", "3", "bird")


def png(number):
    return image_bytes(Image.new("RGB", (8, 6), (number * 20, 0, 0)))


def of_image(number):
    return {
        "image/encoded": [png(number)],
        "image/format": [b"png"],
        "image/filename": [b"%d.png" % number],
        "image/source_id": [b"%d" % number],
        "image/key/sha256": [hashlib.sha256(png(number)).hexdigest().encode()],
        "image/height": [6],
        "image/width": [8],
    }


def detection(number):
    """Make a record like create_coco_tf_record.py: 0 to 3 boxes."""
    labels = [*NAMES][: number % 4]
    side = [0.25] * len(labels)
    return {
        **of_image(number),
        "image/object/bbox/xmin": side or None,
        "image/object/bbox/ymin": side or None,
        "image/object/bbox/xmax": [0.5 + each for each in side] or None,
        "image/object/bbox/ymax": [0.75 for _ in side] or None,
        "image/object/class/label": labels or None,
        "image/object/class/text": [NAMES[label] for label in labels] or None,
        "image/object/is_crowd": [0 for _ in labels] or None,
    }


def classification(number):
    """Make a record like Model Garden's imagenet_to_gcs.py: labels from 1."""
    label = [*NAMES][number % 3]
    return {
        **of_image(number),
        "image/class/label": [label],
        "image/class/text": [NAMES[label]],
    }


def unlabelled(number):
    """Make a record like a competition's: those to predict have no class."""
    return {
        "id": [b"%d" % number],
        "image": [png(number)],
        **({"class": [number % 3]} if number < 6 else {}),
    }


@pytest.fixture
def written(tmp_path):
    """written(example) -> a folder with two shards of 8 such examples."""

    def write(example):
        folder = tmp_path / "others"
        folder.mkdir()
        for shard in range(2):
            numbers = range(shard * 4, shard * 4 + 4)
            records = (
                {key: [] if values is None else values for key, values in example(number).items()}
                for number in numbers
            )
            content = b"".join(framed(encode(record)) for record in records)
            (folder / f"train-{shard:05d}-of-00002").write_bytes(content)
        return folder

    return write


def build(folder):
    return beam_pipeline.build(input=str(folder), output=str(folder.parent / "data")).path


def bare(folder):
    return f"{folder}/train-*"


def adopt(folder):
    info = beam_pipeline.adopt(folder)
    assert beam_pipeline.verify(info) == []
    return info.path


OPENERS = pytest.mark.parametrize("opened", [bare, adopt, build])


@OPENERS
def test_boxes_and_their_classes(written, opened):
    path = opened(written(detection))
    dataset = trainer.open(path)

    assert [*dataset.features] == ["image", "boxes"]
    assert dataset.features == tfrecord_dataset.open(path).features
    boxes = dataset.features["boxes"]
    assert boxes.classes == CLASSES
    assert boxes.attributes == {"is_crowd": "int64"}
    records = sorted(dataset.numpy("train"), key=lambda each: each["image"][0, 0, 0])
    assert [record["box_labels"].tolist() for record in records] == [[], [0], [0, 1], [0, 1, 3]] * 2
    np.testing.assert_allclose(records[1]["boxes"], [[0.25, 0.25, 0.75, 0.75]])


@OPENERS
def test_labels_from_1(written, opened):
    dataset = trainer.open(opened(written(classification)))

    assert [*dataset.features] == ["image", "label"]
    # The first records do not show whether there is a third class.
    assert dataset.features["label"].classes == (() if opened is bare else CLASSES)
    records = sorted(dataset.numpy("train"), key=lambda each: each["image"][0, 0, 0])
    assert [record["label"] for record in records] == [0, 1, 3, 0, 1, 3, 0, 1]


@OPENERS
def test_records_without_a_class(written, opened):
    dataset = trainer.open(opened(written(unlabelled)))
    assert dataset.features["class"].default == -1
    classes = {record["id"]: int(record["class"]) for record in dataset.numpy("train")}
    assert [classes[b"%d" % number] for number in range(8)] == [0, 1, 2, 0, 1, 2, -1, -1]


@pytest.mark.nightly
@pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")
def test_tfds_reads_lists_of_none_or_one(written):
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(build(written(unlabelled)))
    read = tfds.as_numpy(builder.as_dataset(split="train"))
    assert sorted(each["class"].tolist() for each in read) == [
        [],
        [],
        *([n // 2] for n in range(6)),
    ]


def open_for_evaluate(path, **options):
    return choices.open_given(EvaluateConfig(data=path, run_path="run", **options))


def adopt_folder(path, **options):
    return beam_pipeline.adopt(path.rpartition("/")[0], **options)


def build_folder(path, **options):
    config = beam_pipeline.BuildConfig(input=path, output=f"{path.rpartition('/')[0]}-out")
    return beam_pipeline.build(dataclasses.replace(config, **options))


@pytest.mark.parametrize(
    "opened",
    [tfrecord_dataset.open, trainer.open, open_for_evaluate, adopt_folder, build_folder],
)
def test_a_missing_shard_is_an_error_in_every_opener(written, opened):
    folder = written(classification)
    (folder / "train-00001-of-00002").unlink()

    with pytest.raises(tfrecord_dataset.errors.DatasetDamagedError, match="lacks 1 of 2 shards: 0"):
        opened(bare(folder))
    assert opened(bare(folder), allow_missing_shards=True).num_records("train") == 4
    assert trainer.open(folder / "train-00000-of-00002").num_records() == 4
