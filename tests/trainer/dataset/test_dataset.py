"""Batches: names, shapes, values, inputs and targets, and what is said of wrong arguments."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import trainer


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


@pytest.mark.parametrize("batch_size", [None, 2])
def test_columns_of_every_plain_type(tmp_path, write_records, batch_size):
    records = [{"age": 7, "mass": 0.5, "raw": b"\x00", "caption": "häß".encode(), "label": 1}] * 2
    write_records(tmp_path / "a.tfrecord", records)
    dataset = trainer.open(
        tmp_path / "a.tfrecord",
        features={
            "age": {"kind": "scalar", "dtype": "int64"},
            "mass": {"kind": "scalar", "dtype": "float32"},
            "raw": {"kind": "scalar", "dtype": "bytes"},
            "caption": {"kind": "text"},
            "label": {"kind": "class_label", "classes": ["a", "b"]},
        },
    )

    element = next(dataset.batches(batch_size=batch_size).as_numpy_iterator())

    expected = {"age": 7, "mass": 0.5, "raw": b"\x00", "caption": "häß".encode(), "label": 1}
    if batch_size is None:
        assert element == expected
    else:
        assert {name: list(value) for name, value in element.items()} == {
            name: [value] * 2 for name, value in expected.items()
        }


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


@pytest.mark.slow
def test_keras_fits_a_plain_image_model(dataset):
    batches = dataset.batches(
        "train", batch_size=16, features=["image", "label"], image_size=(8, 8), target="label"
    )
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    history = model.fit(batches, epochs=2, shuffle=False, verbose=0)

    assert history.history["loss"][1] < history.history["loss"][0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        pytest.param({"split": "tain"}, trainer.UnknownNameError, "'train'", id="split"),
        pytest.param({}, trainer.ConfigError, "several splits", id="no split named"),
        pytest.param(
            {"split": "train", "features": ["lable"]},
            trainer.UnknownNameError,
            r"did you mean 'label'\?",
            id="feature",
        ),
        pytest.param({"split": "train", "features": []}, trainer.ConfigError, "selects nothing"),
        pytest.param(
            {"split": "train", "image_size": 8, "target": "lebel"},
            trainer.UnknownNameError,
            r"did you mean 'label'\?",
            id="target",
        ),
        pytest.param(
            {"split": "train", "features": ["label"], "target": "label"},
            trainer.ConfigError,
            "leaves no input",
            id="nothing but a target",
        ),
        pytest.param({"split": "train"}, trainer.ConfigError, "differ in size", id="sizes"),
        pytest.param(
            {"split": "train", "image_size": 8, "batch_size": 0},
            trainer.ConfigError,
            "batch_size=0",
            id="batch of nothing",
        ),
        pytest.param(
            {"split": "train", "features": "number", "repeat": -1},
            trainer.ConfigError,
            "repeat=-1: give a number of passes",
            id="passes",
        ),
        pytest.param(
            {"split": "train", "features": "number", "first_record": -1},
            trainer.ConfigError,
            "first_record=-1: give a whole number, 0 or more",
            id="before the first",
        ),
        pytest.param(
            {"split": "train", "features": "number", "repeat": 2, "first_record": 101},
            trainer.ConfigError,
            r"beyond 2 pass\(es\) over 50 records",
            id="behind the last",
        ),
        pytest.param(
            {"split": "train", "image_size": 8, "image_dtype": "uint16"},
            trainer.UnknownNameError,
            "uint16",
            id="image dtype",
        ),
    ],
)
def test_wrong_arguments(dataset, arguments, error, message):
    with pytest.raises(error, match=message):
        dataset.batches(**arguments)
