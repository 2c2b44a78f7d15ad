"""Batches: names, shapes, values, inputs and targets, boxes, and errors for wrong arguments."""

import numpy as np
import pytest
import tensorflow as tf

import trainer
from trainer.errors import DatasetDamagedError

NUMBERS = {"split": "train", "features": "number"}
SIDES = ("xmin", "ymin", "xmax", "ymax")


@pytest.mark.parametrize(
    ("arguments", "dtype", "shape"),
    [
        pytest.param({"image_size": 16}, tf.float32, (8, 16, 16, 3), id="square"),
        pytest.param({"image_size": (16, 8)}, tf.float32, (8, 16, 8, 3), id="height, width"),
        pytest.param(
            {"image_size": 16, "image_dtype": "uint8"}, tf.uint8, (8, 16, 16, 3), id="uint8"
        ),
    ],
)
def test_batches_of_images(dataset, arguments, dtype, shape):
    batch = next(iter(dataset.batches("train", batch_size=8, **arguments)))

    assert set(batch) == {"image", "label", "number"}
    assert (batch["image"].dtype, tuple(batch["image"].shape)) == (dtype, shape)
    assert batch["label"].dtype == tf.int64
    assert batch["number"].shape == (8,)


def test_float_images_are_the_pixels_in_0_to_1(dataset):
    pixels = next(dataset.numpy("train", image_dtype="uint8"))["image"]
    scaled = next(dataset.numpy("train"))["image"]

    assert pixels.shape == (20, 24, 3)
    np.testing.assert_allclose(scaled, pixels / 255, atol=1e-7)


def test_images_of_a_declared_size_batch_without_image_size(tmp_path, write_records, png):
    write_records(tmp_path / "a.tfrecord", [{"image": png(np.full((4, 6, 3), 9))}] * 2)
    declared = {"image": {"kind": "image", "shape": [4, 6, 1]}}
    dataset = trainer.open(tmp_path / "a.tfrecord", features=declared)

    batch = next(iter(dataset.batches(batch_size=2, image_dtype="uint8")))

    assert batch["image"].shape == (2, 4, 6, 1)
    assert int(batch["image"][0, 0, 0, 0]) == 9


@pytest.mark.parametrize(
    ("arguments", "inputs", "target"),
    [
        pytest.param(
            {"features": ["image", "label"], "target": "label"}, tf.Tensor, tf.Tensor, id="one"
        ),
        pytest.param({"target": "label"}, {"image", "number"}, tf.Tensor, id="several inputs"),
        pytest.param(
            {"target": ["label", "number"]}, tf.Tensor, {"label", "number"}, id="several targets"
        ),
    ],
)
def test_inputs_and_target(dataset, arguments, inputs, target):
    pair = next(iter(dataset.batches("train", image_size=8, **arguments)))

    for part, expected in zip(pair, (inputs, target), strict=True):
        if isinstance(expected, set):
            assert set(part) == expected
        else:
            assert isinstance(part, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "tain"}, "'train'"),
        ({}, "several splits"),
        ({"split": "train", "features": ["lable"]}, r"did you mean 'label'\?"),
        ({"split": "train", "features": []}, "selects nothing"),
        ({"split": "train", "image_size": 8, "target": "lebel"}, r"did you mean 'label'\?"),
        ({"split": "train", "features": ["label"], "target": "label"}, "leaves no input"),
        ({"split": "train"}, "differ in size"),
        ({**NUMBERS, "repeat": 2, "first_record": 101}, r"beyond 2 pass\(es\) over 50 records"),
        ({"split": "train", "image_size": 8, "image_dtype": "uint16"}, "image_dtype 'uint16'"),
        ({"split": "train", "image_size": 8, "image_dtype": 8}, "unknown image_dtype 8"),
        ({**NUMBERS, "worker": 2, "num_workers": 2}, "worker=2 of num_workers=2: .* from 0 to 1"),
        ({**NUMBERS, "num_workers": 3}, "3 workers cannot share batches of 32 evenly"),
        ({**NUMBERS, "num_workers": 0}, "num_workers=0"),
    ],
)
def test_wrong_arguments(dataset, arguments, message):
    with pytest.raises(trainer.ConfigError, match=message):
        dataset.batches(**arguments)


@pytest.fixture(scope="module")
def boxed(tmp_path_factory, write_dataset, schema, png):
    """Three images with 2, 0 and 1 boxes, in one shard.

    A box is (xmin, ymin, xmax, ymax) in fractions of its image; padding is -1.
    """

    def record(boxes, labels):
        """Make an image and its boxes as stored by a build."""
        columns = [list(map(float, column)) for column in zip(*boxes, strict=True)] or [[]] * 4
        sides = zip(SIDES, columns, strict=True)
        return {
            "image/encoded": png(np.zeros((10, 12, 3))),
            **{f"image/object/bbox/{side}": column for side, column in sides},
            "image/object/class/label": labels,
            "image/object/difficult": [0] * len(labels),
            "image/object/area": [5.0] * len(labels),
        }

    records = [
        record([(0.1, 0.2, 0.3, 0.4), (0.5, 0.5, 1, 1)], [1, 2]),
        record([], []),
        record([(0, 0, 0.5, 0.5)], [2]),
    ]
    directory = tmp_path_factory.mktemp("boxed") / "1.0.0"
    features = [schema["image"], schema["boxes"]]
    return trainer.open(write_dataset(directory, features, {"train": records}, num_shards=1))


def test_padded_boxes(boxed):
    batch = next(iter(boxed.batches(batch_size=3, image_size=8)))

    assert set(batch) == {"image", "boxes", "box_labels", "box_difficult", "box_area"}
    assert batch["boxes"].shape == (3, 2, 4)
    np.testing.assert_allclose(
        batch["boxes"][2], [(0, 0, 0.5, 0.5), (-1, -1, -1, -1)], rtol=0, atol=1e-6
    )
    assert batch["box_labels"].numpy().tolist() == [[0, 1], [-1, -1], [1, -1]]
    assert batch["box_difficult"].numpy().tolist() == [[0, 0], [-1, -1], [0, -1]]
    assert batch["box_area"].numpy().tolist() == [[5, 5], [-1, -1], [5, -1]]


@pytest.mark.parametrize("labels", [[], [1], [1, 2, 1]])
def test_classes_that_are_not_one_for_each_box_are_an_error(
    tmp_path, write_dataset, schema, labels
):
    record = {f"image/object/bbox/{side}": [0.0, 0.5] for side in SIDES}
    boxes = {**schema["boxes"], "attributes": {}}
    directory = write_dataset(
        tmp_path / "1.0.0", [boxes], {"train": [record | {"image/object/class/label": labels}]}
    )

    with pytest.raises(DatasetDamagedError, match=f"one class per box, but: {len(labels)}"):
        list(trainer.open(directory).numpy())
