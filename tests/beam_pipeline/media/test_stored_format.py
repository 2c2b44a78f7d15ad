"""Images stored as pixels, all or a share of them that their content draws."""

import hashlib

import pytest
from PIL import Image

from beam_pipeline.errors import ConfigError
from beam_pipeline.media.image_options import ImageOptions
from tfrecord_dataset.errors import UnknownNameError

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

    facts, stored = store(data, BMP)

    seen = open_image(stored)
    assert (seen.format, seen.mode, facts.format, facts.channels) == ("BMP", "RGB", "bmp", 3)
    assert facts.conversions == reasons
    assert facts.estimated_bytes == len(stored)
    meant = open_image(data)
    if "alpha" in reasons:
        meant = meant.convert("RGBA")
        meant = Image.alpha_composite(Image.new("RGBA", meant.size, "white"), meant)
    if "orientation" in reasons:
        meant = meant.transpose(Image.Transpose.ROTATE_270)
    assert (rgb_of(seen) == rgb_of(meant)).all()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_is_drawn_by_content(encode, store, share):
    files = [encode("JPEG", size=(8, side)) for side in range(1, 101)]
    options = ImageOptions(format=f"mix={share}")

    drawn = [store(data, options)[0].format for data in files]

    assert abs(drawn.count("bmp") - 100 * share) < 15
    assert drawn.count("bmp") + drawn.count("jpeg") == 100
    for data, form in zip(files, drawn, strict=True):
        assert (form == "bmp") == (hashlib.sha256(data).digest()[:8] < _up_to(share))
        if form == "jpeg":
            assert store(data, options)[1] is data


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ("jpg", UnknownNameError, "jpeg"),
        ("mix", UnknownNameError, "mix=0.5"),
        ("mixed=0.5", UnknownNameError, "mix=0.5"),
        ("mix=half", ConfigError, "write mix=0.5"),
        ("mix=0", ConfigError, "no share between 0 and 1"),
        ("mix=1", ConfigError, "or bmp for all"),
        ("mix=nan", ConfigError, "no share"),
    ],
)
def test_formats_that_are_none(asked, error, message):
    with pytest.raises(error, match=message):
        ImageOptions(format=asked)


def _up_to(share: float) -> bytes:
    return int(share * 2**64).to_bytes(8, "big")
