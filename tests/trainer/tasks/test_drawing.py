"""Boxes and maps of classes drawn on images."""

import numpy as np
import pytest
from PIL import Image

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.map_colors import palette
from trainer.tasks.drawing import in_colors, label_corner, resized, with_map


@pytest.mark.parametrize(
    ("box", "text", "expected"),
    [
        ((30, 40, 60, 70), (20, 10), (30, 40)),
        ((90, 40, 99, 70), (20, 10), (80, 40)),
        ((30, 76, 60, 79), (20, 10), (30, 70)),
        ((-3, -5, 60, 70), (20, 10), (0, 0)),
        ((50, 0, 60, 10), (200, 10), (0, 0)),  # wider than the image
    ],
)
def test_a_label_stays_in_the_image(box, text, expected):
    assert label_corner(box, text, ImageSize(height=80, width=100)) == expected


def test_a_map_has_class_numbers_in_the_colors_of_pascal_voc():
    colors = palette()
    assert colors[:4].tolist() == [[0, 0, 0], [128, 0, 0], [0, 128, 0], [128, 128, 0]]
    assert colors[255].tolist() == [224, 224, 192]
    assert len(np.unique(colors, axis=0)) == 256

    numbers = np.array([[0, 1], [2, 200]], np.uint8)
    image = in_colors(numbers)
    assert image.mode == "P"
    np.testing.assert_array_equal(np.asarray(image), numbers)
    np.testing.assert_array_equal(np.asarray(image.convert("RGB")), colors[numbers])


@pytest.mark.parametrize("size", [(4, 6), (9, 5), (2, 3), (1, 1)])
def test_the_nearest_pixel_is_that_of_pillow(size):
    numbers = np.random.default_rng(0).integers(0, 5, (4, 6)).astype(np.uint8)
    expected = Image.fromarray(numbers).resize(size[::-1], Image.Resampling.NEAREST)
    np.testing.assert_array_equal(resized(numbers, ImageSize(*size)), np.asarray(expected))


@pytest.mark.parametrize(
    ("first", "shown", "corner"),
    [
        pytest.param("Background", [100, 100, 100], [128, 0, 0], id="background"),
        pytest.param("0", [100, 100, 100], [128, 0, 0], id="a first class without a name"),
        pytest.param("road", [50, 50, 50], [0, 0, 0], id="a class like others"),
    ],
)
def test_classes_are_drawn_over_the_image(first, shown, corner):
    classes = np.zeros((60, 80), np.uint8)
    classes[:, 70:] = 1
    grey = Image.new("RGB", (80, 60), (100, 100, 100))
    drawn = np.asarray(with_map(grey, classes, (first, "car")))

    assert drawn[55, 5].tolist() == shown
    assert drawn[55, 75].tolist() == [114, 50, 50]  # mixed with 128, 0, 0
    assert drawn[1, 0].tolist() == corner  # color of the first name
