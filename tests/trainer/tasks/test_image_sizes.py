"""The size at which a detector sees its images."""

import numpy as np
import pytest

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.image_sizes import size_for_boxes


@pytest.mark.parametrize(
    ("stated", "sides", "size"),
    [
        pytest.param(None, [0.5] * 9, (160, 160), id="large boxes"),
        pytest.param(None, [0.05] * 9, (384, 384), id="small boxes"),
        pytest.param(None, [1e-9] * 9, (640, 640), id="no larger than this"),
        pytest.param((480, 640), [0.05] * 9, (288, 384), id="in the images' aspect"),
        pytest.param((96, 128), [0.01] * 9, (96, 128), id="as the images are"),
        pytest.param((480, 640), [], (480, 640), id="no boxes"),
        pytest.param(None, [0.01] + [0.5] * 99, (160, 160), id="one is too small"),
    ],
)
def test_boxes_have_enough_pixels(stated, sides, size):
    stated = stated and ImageSize(*stated)
    assert size_for_boxes(stated, np.array(sides), 32) == ImageSize(*size)
