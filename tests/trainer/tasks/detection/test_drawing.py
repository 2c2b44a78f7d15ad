"""Boxes drawn on images."""

import pytest

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.drawing import label_corner


@pytest.mark.parametrize(
    ("box", "text", "expected"),
    [
        ((30, 40, 60, 70), (20, 10), (30, 40)),
        ((90, 40, 99, 70), (20, 10), (80, 40)),
        ((30, 76, 60, 79), (20, 10), (30, 70)),
        ((-3, -5, 60, 70), (20, 10), (0, 0)),
        ((5, 5, 6, 6), (20, 10), (5, 5)),
        ((50, 0, 60, 10), (200, 10), (0, 0)),  # wider than the image
    ],
)
def test_a_label_stays_in_the_image(box, text, expected):
    assert label_corner(box, text, ImageSize(height=80, width=100)) == expected
