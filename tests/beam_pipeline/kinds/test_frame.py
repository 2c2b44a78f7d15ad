"""Geometry is turned as Pillow turns the image."""

import numpy as np
import pytest
from PIL import Image, ImageOps

from beam_pipeline.kinds.frame import Frame
from tfrecord_dataset.image_size import ImageSize


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_point_has_the_place_of_its_pixel(orientation):
    stored = np.zeros((4, 7), np.uint8)
    stored[1, 5] = 255
    image = Image.fromarray(stored)
    image.getexif()[0x0112] = orientation
    upright = np.asarray(ImageOps.exif_transpose(image))
    frame = Frame(size=ImageSize(4, 7), orientation=orientation)

    x, y = frame.point(5.5, 1.5)

    assert frame.upright_size == upright.shape
    height, width = upright.shape
    assert upright[int(y * height), int(x * width)] == 255
    [(xmin, ymin, xmax, ymax)] = frame.boxes(np.array([(5.0, 1.0, 6.0, 2.0)]))
    assert (xmin, ymin) < (x, y) < (xmax, ymax)
    assert ((xmax - xmin) * width, (ymax - ymin) * height) == pytest.approx((1, 1))
