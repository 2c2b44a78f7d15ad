"""The operations of RandAugment are Pillow's."""

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageEnhance, ImageOps

from trainer.augmentation.rand_augment import IN_PLACE, MOVING

OPERATIONS = {each.__name__: each for each in (*IN_PLACE, *MOVING)}

GREY = (128, 128, 128)


@pytest.fixture(scope="module")
def image():
    """Noise on a gradient, uint8 [24, 32, 3], of which no channel is full."""
    noise = np.random.default_rng(1).integers(0, 60, (24, 32, 3))
    return (noise + np.linspace(30, 160, 32)[:, None] + [0, 10, 30]).astype(np.uint8)


def affine(matrix):
    return lambda pillow: pillow.transform(
        pillow.size, Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST, fillcolor=GREY
    )


@pytest.mark.parametrize(
    ("operation", "strength", "expected", "tolerance"),
    [
        pytest.param("keep", 0.7, lambda each: each, 0),
        pytest.param("autocontrast", 0.7, ImageOps.autocontrast, 1),
        pytest.param("equalize", 0.7, ImageOps.equalize, 0),
        pytest.param("solarize", -0.5, lambda each: ImageOps.solarize(each, 128), 0),
        pytest.param("posterize", 0.8, lambda each: ImageOps.posterize(each, 4), 0),
        pytest.param(
            "brightness", -0.4, lambda each: ImageEnhance.Brightness(each).enhance(0.6), 1
        ),
        pytest.param("contrast", 0.4, lambda each: ImageEnhance.Contrast(each).enhance(1.4), 4),
        pytest.param("translate_x", 0.5, affine((1, 0, 7, 0, 1, 0)), 0),
        pytest.param("translate_y", -0.5, affine((1, 0, 0, 0, 1, -5)), 0),
        pytest.param("shear_x", 0.6, affine((1, 0.18, 0, 0, 1, 0)), 0),
        pytest.param("shear_y", -0.6, affine((1, 0, 0, -0.18, 1, 0)), 0),
        pytest.param("rotate", 0.5, lambda each: each.rotate(-15, fillcolor=GREY), 0),
    ],
)
def test_operations(image, operation, strength, expected, tolerance):
    found = OPERATIONS[operation](tf.constant(image, tf.float32), tf.constant(strength)).numpy()

    wanted = np.asarray(expected(Image.fromarray(image)))
    different = np.abs(np.clip(found, 0, 255) - wanted).max(axis=-1)
    assert (different > tolerance).mean() <= 0.01  # ties of nearest neighbours


def test_one_value_is_left_as_it_is():
    even = tf.fill([4, 4, 3], 77.0)

    for operation in ("equalize", "autocontrast"):
        np.testing.assert_array_equal(OPERATIONS[operation](even, tf.constant(0.5)), even)
