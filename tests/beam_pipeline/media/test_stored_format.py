"""Images stored as pixels."""

import pytest
from PIL import Image

from beam_pipeline.media.image_options import ImageOptions

BMP = ImageOptions(format="bmp")


@pytest.mark.parametrize(
    ("file_format", "mode", "save", "reasons"),
    [
        pytest.param("JPEG", "RGB", {}, ("format jpeg",), id="jpeg"),
        pytest.param("JPEG", "L", {}, ("format jpeg",), id="grey jpeg"),
        pytest.param("JPEG", "CMYK", {}, ("cmyk", "format jpeg"), id="cmyk"),
        pytest.param(
            "JPEG", "RGB", {"orientation": 6}, ("orientation", "format jpeg"), id="turned"
        ),
        pytest.param("PNG", "1", {}, ("format png",), id="1 bit"),
        pytest.param("PNG", "L", {}, ("format png",), id="grey"),
        pytest.param("PNG", "P", {}, ("format png", "palette"), id="palette"),
        pytest.param("PNG", "LA", {}, ("format png", "alpha"), id="grey, alpha"),
        pytest.param(
            "PNG", "P", {"transparency": 3}, ("format png", "palette", "alpha"), id="clear"
        ),
        pytest.param("PNG", "RGBA", {}, ("format png", "alpha"), id="alpha"),
        pytest.param("BMP", "RGB", {}, ("format bmp",), id="bmp"),
        pytest.param("BMP", "L", {}, ("format bmp",), id="bmp of 8 bits"),
    ],
)
def test_pixels_are_those_of_the_image(
    encode, store, open_image, rgb_of, file_format, mode, save, reasons
):
    data = encode(file_format, mode, size=(23, 16), **save)  # rows that end within four bytes

    found, stored = store(data, BMP)

    seen = open_image(stored)
    assert (seen.format, seen.mode, found.image.format, found.image.channels) == (
        "BMP",
        "RGB",
        "bmp",
        3,
    )
    assert found.image.conversions == reasons
    assert found.num_bytes == len(stored)
    meant = open_image(data)
    if "alpha" in reasons:
        meant = meant.convert("RGBA")
        meant = Image.alpha_composite(Image.new("RGBA", meant.size, "white"), meant)
    if "orientation" in reasons:
        meant = meant.transpose(Image.Transpose.ROTATE_270)
    assert (rgb_of(seen) == rgb_of(meant)).all()
