"""What is stored of each kind of image where nobody asks for another."""

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from beam_pipeline import records
from beam_pipeline.media.images import decode_rgb

Encode = Callable[..., bytes]


@pytest.mark.parametrize(
    ("file_format", "mode", "save", "stored_format", "channels"),
    [
        pytest.param("JPEG", "RGB", {}, "jpeg", 3, id="jpeg"),
        pytest.param("JPEG", "RGB", {"progressive": True}, "jpeg", 3, id="progressive jpeg"),
        pytest.param("JPEG", "L", {}, "jpeg", 1, id="grey jpeg"),
        pytest.param("JPEG", "RGB", {"orientation": 1}, "jpeg", 3, id="jpeg that says upright"),
        pytest.param("MPO", "RGB", {"animated": True}, "jpeg", 3, id="jpeg with a second image"),
        pytest.param("PNG", "1", {}, "png", 1, id="1-bit png"),
        pytest.param("PNG", "L", {}, "png", 1, id="grey png"),
        pytest.param("PNG", "L", {"transparency": 9}, "png", 1, id="grey png with a clear colour"),
        pytest.param("PNG", "LA", {}, "png", 2, id="grey png with alpha"),
        pytest.param("PNG", "P", {}, "png", 3, id="palette png"),
        pytest.param("PNG", "P", {"transparency": 3}, "png", 4, id="palette png with alpha"),
        pytest.param("PNG", "RGB", {}, "png", 3, id="png"),
        pytest.param("PNG", "RGBA", {}, "png", 4, id="png with alpha"),
        pytest.param("PNG", "I;16", {}, "png", 1, id="16-bit grey png"),
    ],
)
def test_jpeg_and_png_are_stored_as_they_are(
    encode: Encode, store, file_format, mode, save, stored_format, channels
):
    data = encode(file_format, mode, **save)

    found, stored = store(data)

    assert stored is data
    image = records.Image(
        file=found.image.file,
        format=stored_format,
        width=24,
        height=16,
        channels=channels,
        bits=16 if mode == "I;16" else 8,
    )
    assert found == (image, (16, 24), 1, len(data))


@pytest.mark.parametrize(
    ("file_format", "mode", "save", "stored_mode", "conversions"),
    [
        pytest.param("BMP", "RGB", {}, "RGB", ("format bmp",), id="bmp"),
        pytest.param("BMP", "P", {}, "P", ("format bmp",), id="palette bmp"),
        pytest.param("GIF", "P", {}, "P", ("format gif",), id="gif"),
        pytest.param("GIF", "P", {"transparency": 3}, "P", ("format gif",), id="clear gif"),
        pytest.param("GIF", "P", {"animated": True}, "P", ("animated", "format gif"), id="frames"),
        pytest.param("WEBP", "RGB", {"lossless": True}, "RGB", ("format webp",), id="webp"),
        pytest.param("WEBP", "RGBA", {"lossless": True}, "RGBA", ("format webp",), id="clear webp"),
        pytest.param(
            "WEBP",
            "RGB",
            {"lossless": True, "animated": True},
            "RGB",
            ("animated", "format webp"),
            id="animated webp",
        ),
        pytest.param("PNG", "RGB", {"animated": True}, "RGB", ("animated",), id="animated png"),
        pytest.param("TIFF", "1", {}, "1", ("format tiff",), id="1-bit tiff"),
        pytest.param("TIFF", "L", {}, "L", ("format tiff",), id="grey tiff"),
        pytest.param("TIFF", "I;16", {}, "I;16", ("format tiff",), id="16-bit tiff"),
        pytest.param("TIFF", "RGBA", {}, "RGBA", ("format tiff",), id="clear tiff"),
        pytest.param("TIFF", "RGB", {"compression": "tiff_lzw"}, "RGB", ("format tiff",), id="lzw"),
        pytest.param(
            "TIFF", "RGB", {"animated": True}, "RGB", ("animated", "format tiff"), id="pages"
        ),
        pytest.param("PPM", "RGB", {}, "RGB", ("format ppm",), id="ppm"),
        pytest.param("PPM", "I", {}, "I;16", ("format ppm",), id="16-bit pgm"),
        pytest.param("JPEG2000", "RGB", {}, "RGB", ("format jpeg2000",), id="jpeg 2000"),
    ],
)
def test_every_other_format_becomes_png_without_loss(
    encode: Encode, store, open_image, file_format, mode, save, stored_mode, conversions
):
    data = encode(file_format, mode, **save)

    found, stored = store(data)

    seen, meant = open_image(stored), open_image(data)
    assert found.image.conversions == conversions
    assert (seen.format, seen.mode, seen.size) == (
        "PNG",
        stored_mode,
        (found.image.width, found.image.height),
    )
    assert not getattr(seen, "is_animated", False)
    if stored_mode == "I;16":
        assert (np.asarray(seen) == np.asarray(meant)).all()
    else:
        assert (np.asarray(seen.convert("RGBA")) == np.asarray(meant.convert("RGBA"))).all()
    assert found.image.channels == {"1": 1, "L": 1, "I;16": 1, "RGB": 3, "RGBA": 4, "P": 3}[
        stored_mode
    ] + ("transparency" in seen.info)
    assert 0.1 * len(stored) < found.num_bytes < 10 * len(stored)


def test_a_cmyk_jpeg_becomes_rgb(encode: Encode, make_image, store, open_image, rgb_of):
    found, stored = store(encode("JPEG", "CMYK", quality=95))

    assert found.image.conversions == ("cmyk",)
    assert (found.image.format, found.image.channels) == ("jpeg", 3)
    assert np.abs(rgb_of(open_image(stored)) - rgb_of(make_image())).mean() < 5


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize(
    ("file_format", "stored_format", "mode"),
    [
        ("JPEG", "jpeg", "RGB"),
        ("JPEG", "jpeg", "L"),
        ("PNG", "png", "RGBA"),
        ("PNG", "png", "P"),
        ("PNG", "png", "I;16"),
        ("WEBP", "png", "RGB"),
        ("TIFF", "png", "RGB"),
    ],
)
def test_a_turned_image_is_stored_upright(
    encode: Encode, make_image, store, open_image, file_format, stored_format, mode, orientation
):
    lossless = {"lossless": True} if file_format == "WEBP" else {}
    data = encode(file_format, mode, orientation=orientation, **lossless)

    found, stored = store(data)

    seen = open_image(stored)
    upright = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}[orientation]
    meant = make_image(mode).transpose(Image.Transpose(upright))
    assert found.image.conversions[0] == "orientation"
    assert (found.source_size, found.orientation) == ((16, 24), orientation)
    assert (found.image.format, seen.format) == (stored_format, stored_format.upper())
    assert seen.size == (found.image.width, found.image.height) == meant.size
    assert 0x0112 not in seen.getexif()
    difference = np.abs(np.asarray(seen).astype(int) - np.asarray(meant).astype(int))
    assert difference.mean() < (8 if file_format == "JPEG" else 1e-9)


def test_what_is_encoded_again_keeps_its_colour_profile_and_no_other_metadata(
    encode: Encode, store, open_image
):
    profile = b"profile " * 20_000  # of three segments
    data = encode("JPEG", orientation=6, icc_profile=profile, comment=b"private", xmp=b"<private/>")

    _, stored = store(data)

    assert open_image(stored).info["icc_profile"] == profile
    assert b"private" in data
    assert b"private" not in stored


@pytest.mark.parametrize(
    ("file_format", "mode"),
    [("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "I;16"), ("PNG", "RGBA"), ("PNG", "1")],
)
def test_decode_rgb(encode: Encode, rgb_of, file_format, mode):
    image = decode_rgb(encode(file_format, mode))

    assert (image.mode, image.size) == ("RGB", (24, 16))
    assert rgb_of(image).std() > 20
