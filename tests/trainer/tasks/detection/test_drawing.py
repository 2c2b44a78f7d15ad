"""Boxes drawn on images."""

import pytest

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.detection.drawing import label_corner


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        pytest.param((30, 40, 60, 70), (30, 40), id="at the box"),
        pytest.param((90, 40, 99, 70), (80, 40), id="right side"),
        pytest.param((30, 76, 60, 79), (30, 70), id="bottom"),
        pytest.param((-3, -5, 60, 70), (0, 0), id="box beyond the image"),
        pytest.param((5, 5, 6, 6), (5, 5), id="small box"),
    ],
)
def test_a_label_stays_in_the_image(box, expected):
    assert label_corner(box, (20, 10), ImageSize(height=80, width=100)) == expected


def test_a_label_wider_than_the_image_begins_at_its_side():
    assert label_corner((50, 0, 60, 10), (200, 10), ImageSize(height=80, width=100)) == (0, 0)
