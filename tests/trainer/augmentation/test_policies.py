"""Augmentation policies."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.augmentation import PLACES_POLICIES, POLICIES
from trainer.augmentation.rand_augment import rand_augment_in_place
from trainer.options.shared import AUGMENTATIONS, AUTO


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
    """Pixel values change, but the brighter square stays where it is, or becomes the darker one."""
    image = np.full((16, 16, 3), (60, 80, 100), np.uint8)
    image[4:12, 4:12] = (180, 160, 200)
    function = tf.function(rand_augment_in_place, autograph=False)
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
