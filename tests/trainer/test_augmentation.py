"""Augmentation policies, and the operations of RandAugment against Pillow's."""

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageEnhance, ImageOps

from trainer.augmentation import IN_PLACE, MOVING, PLACES_POLICIES, POLICIES
from trainer.options import AUGMENTATIONS, AUTO

OPERATIONS = IN_PLACE | MOVING

GREY = (128, 128, 128)


@pytest.fixture(scope="module")
def image():
    """Noise on a gradient, uint8 [24, 32, 3], without saturated channels."""
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
    assert (different > tolerance).mean() <= 0.01  # ties between nearest neighbours


def test_one_value_is_left_as_it_is():
    even = tf.fill([4, 4, 3], 77.0)

    for operation in ("equalize", "autocontrast"):
        np.testing.assert_array_equal(OPERATIONS[operation](even, tf.constant(0.5)), even)


@pytest.mark.parametrize(
    ("policy", "of_boxes", "area", "mirror", "changes_pixels"),
    [
        pytest.param("crop", True, (0.35, 1.5), True, False, id="boxes larger and smaller"),
        pytest.param("none", True, None, None, False, id="boxes as they are"),
        pytest.param("flip", False, (1.0, 1.0), True, False, id="flip"),
        pytest.param("crop", False, (0.25, 1.0), True, False, id="crop"),
        pytest.param("rand", True, (0.35, 1.5), True, True, id="RandAugment of boxes"),
    ],
)
def test_policies(policy, of_boxes, area, mirror, changes_pixels):
    augmentation = (PLACES_POLICIES if of_boxes else POLICIES)[policy]

    views = augmentation.views
    assert (views and views.area, views and views.mirror) == (area, mirror)
    assert (augmentation.pixels is not None) == changes_pixels


@pytest.mark.slow
def test_rand_augment_of_boxes_is_a_function_of_its_seed_and_keeps_places():
    """Pixel values change, but the square stays in place, brighter or darker."""
    image = np.full((16, 16, 3), (60, 80, 100), np.uint8)
    image[4:12, 4:12] = (180, 160, 200)
    function = tf.function(PLACES_POLICIES["rand"].pixels, autograph=False)
    seen = set()

    for number in range(24):
        seed = tf.constant([3, number], tf.int64)
        first, second = function(image, seed).numpy(), function(image, seed).numpy()
        assert first.dtype == np.uint8
        assert (first == second).all()
        seen.add(first.tobytes())
        for square in (first[6:10, 6:10], first[:2, :2]):
            assert np.ptp(square.reshape(-1, 3), axis=0).max() <= 1
    assert len(seen) > 12


def test_the_option_has_all_policies():
    assert POLICIES.keys() == PLACES_POLICIES.keys() == {*AUGMENTATIONS} - {AUTO}
