"""Photographs are rotated as by Pillow."""

import io

import numpy as np
import pytest
import tensorflow as tf
from file_bytes import image_bytes
from PIL import Image, ImageOps

from trainer.tasks.inputs.image import exif_orientation, upright

PIXELS = np.kron(
    np.array([[0, 80, 160], [240, 40, 120]], np.uint8)[..., None], np.ones((16, 16, 3), np.uint8)
)


def photograph(orientation=None, byte_order="<", artist=""):
    """Make a JPEG of 48 x 32 pixels, with other tags around the orientation."""
    exif = Image.Exif()
    exif.endian = byte_order
    if artist:
        exif[0x013B] = artist
    exif[0x010F] = "a maker"
    if orientation is not None:
        exif[0x0112] = orientation
    return image_bytes(PIXELS, "JPEG", exif=exif, quality=95)


@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("orientation", [None, *range(1, 9), 0, 9])
def test_orientation(orientation, byte_order):
    encoded = photograph(orientation, byte_order, artist="somebody with a long name")

    found = int(exif_orientation(tf.constant(encoded)))

    assert found == (orientation if orientation in range(1, 9) else 1)


def test_jpegs_without_exif_or_cut_in_it():
    whole = photograph(6)

    for encoded in (image_bytes(PIXELS, "JPEG"), whole[:40], whole[:4]):
        assert int(exif_orientation(tf.constant(encoded))) == 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_upright(orientation):
    encoded = photograph(orientation)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(encoded))), int)

    turned = upright(tf.constant(encoded))

    found = tf.io.decode_image(turned).numpy()
    assert found.shape == expected.shape == ((32, 48, 3) if orientation < 5 else (48, 32, 3))
    np.testing.assert_allclose(found, expected, atol=3)
    assert (turned.numpy() == encoded) == (orientation == 1)


def test_other_formats_stay_as_they_are():
    png = tf.io.encode_png(PIXELS)

    assert upright(png).numpy() == png.numpy()
