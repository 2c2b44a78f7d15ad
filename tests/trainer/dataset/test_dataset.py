"""Batches: names, shapes, values, inputs and targets, and errors for wrong arguments."""

import numpy as np
import pytest
import tensorflow as tf

import trainer

NUMBERS = {"split": "train", "features": "number"}


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
