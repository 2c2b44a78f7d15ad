"""What is stored of each kind of picture."""

import io
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from beam_pipeline import records
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.media.images import (
    ImageFacts,
    ImageOptions,
    decode_rgb,
    encode_image,
    inspect_image,
)

Encode = Callable[..., bytes]


def store(data: bytes, options: ImageOptions | None = None) -> tuple[ImageFacts, bytes]:
    """What the stages do to a picture: inspect it, and later encode it."""
    options = options or ImageOptions()
    facts = inspect_image(data, options)
    image = records.Image(
        file=records.FileRef(path="/a"),
        format=facts.format,
        width=facts.width,
        height=facts.height,
        channels=facts.channels,
        conversions=facts.conversions,
    )
    stored = encode_image(data, image, options)
    assert encode_image(data, image, options) == stored  # the same bytes each time
    return facts, stored


def open_image(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def array(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.parametrize(
    ("file_format", "mode", "save", "stored_format", "channels"),
    [
        pytest.param("JPEG", "RGB", {}, "jpeg", 3, id="jpeg"),
        pytest.param("JPEG", "RGB", {"progressive": True}, "jpeg", 3, id="progressive jpeg"),
        pytest.param("JPEG", "L", {}, "jpeg", 1, id="grey jpeg"),
        pytest.param("JPEG", "RGB", {"orientation": 1}, "jpeg", 3, id="jpeg that says upright"),
        pytest.param("MPO", "RGB", {"animated": True}, "jpeg", 3, id="jpeg with a second picture"),
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
    encode: Encode, file_format, mode, save, stored_format, channels
):
    data = encode(file_format, mode, **save)

    facts, stored = store(data)

    assert stored is data
    assert facts == ImageFacts(
        format=stored_format,
        width=24,
        height=16,
        channels=channels,
        conversions=(),
        source_size=(24, 16),
        orientation=1,
        estimated_bytes=len(data),
    )


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
        pytest.param("ICO", "RGBA", {"sizes": [(16, 16)]}, "RGBA", ("format ico",), id="icon"),
        pytest.param("SGI", "RGB", {}, "RGB", ("format sgi",), id="sgi"),
        pytest.param("DDS", "RGBA", {}, "RGBA", ("format dds",), id="dds"),
    ],
)
def test_every_other_format_becomes_png_without_loss(
    encode: Encode, file_format, mode, save, stored_mode, conversions
):
    data = encode(file_format, mode, **save)

    facts, stored = store(data)

    seen, meant = open_image(stored), open_image(data)
    assert facts.conversions == conversions
    assert (seen.format, seen.mode, seen.size) == ("PNG", stored_mode, (facts.width, facts.height))
    assert not getattr(seen, "is_animated", False)
    if stored_mode == "I;16":
        assert (np.asarray(seen) == np.asarray(meant)).all()
    else:
        assert (np.asarray(seen.convert("RGBA")) == np.asarray(meant.convert("RGBA"))).all()
    assert facts.channels == {"1": 1, "L": 1, "I;16": 1, "RGB": 3, "RGBA": 4, "P": 3}[
        stored_mode
    ] + ("transparency" in seen.info)
    assert 0.1 * len(stored) < facts.estimated_bytes < 10 * len(stored)


def test_a_cmyk_jpeg_becomes_rgb(encode: Encode, make_image):
    facts, stored = store(encode("JPEG", "CMYK", quality=95))

    assert facts.conversions == ("cmyk",)
    assert (facts.format, facts.channels) == ("jpeg", 3)
    assert np.abs(array(open_image(stored)) - array(make_image())).mean() < 5


def test_a_cmyk_jpeg_without_adobes_marker_is_not_inverted(encode: Encode, make_image):
    data = encode("JPEG", "CMYK", quality=95)
    start = data.index(b"\xff\xee")
    plain = data[:start] + data[start + 2 + int.from_bytes(data[start + 2 : start + 4], "big") :]

    _, stored = store(plain)

    # The samples are Adobe's, so read without the marker they mean the opposite inks.
    inverted = Image.eval(make_image("CMYK"), lambda ink: 255 - ink)
    assert np.abs(array(open_image(stored)) - array(inverted)).mean() < 5


@pytest.mark.parametrize(
    ("file_format", "mode"),
    [("TIFF", "F"), ("TIFF", "I"), ("PFM", "F")],
)
def test_pixels_of_more_than_16_bits_are_unsupported(encode: Encode, file_format, mode):
    data = encode(file_format.replace("PFM", "PPM"), mode)

    with pytest.raises(RecordError, match="16 bits a sample") as error:
        inspect_image(data, ImageOptions())
    assert error.value.reason == "unsupported image"


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
def test_a_turned_picture_is_stored_upright(
    encode: Encode, make_image, file_format, stored_format, mode, orientation
):
    lossless = {"lossless": True} if file_format == "WEBP" else {}
    data = encode(file_format, mode, orientation=orientation, **lossless)

    facts, stored = store(data)

    seen = open_image(stored)
    upright = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}[orientation]
    meant = make_image(mode).transpose(Image.Transpose(upright))
    assert facts.conversions[0] == "orientation"
    assert (facts.source_size, facts.orientation) == ((24, 16), orientation)
    assert (facts.format, seen.format) == (stored_format, stored_format.upper())
    assert seen.size == (facts.width, facts.height) == meant.size
    assert 0x0112 not in seen.getexif()
    difference = np.abs(np.asarray(seen).astype(int) - np.asarray(meant).astype(int))
    assert difference.mean() < (8 if file_format == "JPEG" else 1e-9)


def test_what_is_encoded_again_keeps_its_colour_profile_and_no_other_metadata(encode: Encode):
    profile = b"profile " * 20_000  # of three segments
    data = encode("JPEG", orientation=6, icc_profile=profile, comment=b"private", xmp=b"<private/>")

    _, stored = store(data)

    assert open_image(stored).info["icc_profile"] == profile
    assert b"private" in data
    assert b"private" not in stored


@pytest.mark.parametrize(
    ("options", "size", "expected"),
    [
        pytest.param({"max_side": 12}, (24, 16), (12, 8), id="shrunk, aspect kept"),
        pytest.param({"max_side": 12}, (16, 24), (8, 12), id="shrunk, portrait"),
        pytest.param({"max_side": 24}, (24, 16), (24, 16), id="never touched when it fits"),
        pytest.param({"max_side": 99}, (24, 16), (24, 16), id="never enlarged"),
        pytest.param({"max_side": 4}, (100, 2), (4, 1), id="a side never vanishes"),
        pytest.param({"size": (10, 30)}, (24, 16), (10, 30), id="stretched"),
        pytest.param({"size": (24, 16)}, (24, 16), (24, 16), id="of that size already"),
    ],
)
@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "BMP"])
def test_sizes(encode: Encode, options, size, expected, file_format):
    facts, stored = store(encode(file_format, size=size), ImageOptions(**options))

    assert (facts.width, facts.height) == open_image(stored).size == expected
    assert ("resized" in facts.conversions) == (size != expected)


def test_a_turned_picture_is_resized_upright(encode: Encode):
    facts, stored = store(encode("JPEG", orientation=6), ImageOptions(max_side=12))

    assert (facts.width, facts.height) == open_image(stored).size == (8, 12)
    assert facts.conversions == ("orientation", "resized")


def test_a_large_jpeg_is_shrunk_like_its_pixels(encode: Encode, make_image):
    """It is decoded at a part of its size, which must not show."""
    _, stored = store(encode("JPEG", size=(400, 300), quality=95), ImageOptions(max_side=50))

    meant = make_image(size=(400, 300)).resize((50, 38), Image.Resampling.LANCZOS)
    assert np.abs(array(open_image(stored)) - array(meant)).mean() < 3


@pytest.mark.parametrize(
    ("mode", "save", "stored_mode", "reasons"),
    [
        ("1", {}, "L", ("resized",)),
        ("L", {}, "L", ("resized",)),
        ("L", {"transparency": 9}, "LA", ("resized",)),
        ("LA", {}, "LA", ("resized",)),
        ("P", {}, "RGB", ("resized", "palette")),
        ("P", {"transparency": 3}, "RGBA", ("resized", "palette")),
        ("RGB", {}, "RGB", ("resized",)),
        ("RGB", {"transparency": (1, 2, 3)}, "RGBA", ("resized",)),
        ("RGBA", {}, "RGBA", ("resized",)),
        ("I;16", {}, "I;16", ("resized",)),
    ],
)
def test_modes_when_resized(encode: Encode, make_image, mode, save, stored_mode, reasons):
    facts, stored = store(encode("PNG", mode, **save), ImageOptions(max_side=12))

    seen = open_image(stored)
    assert facts.conversions == reasons
    assert seen.mode == stored_mode
    assert facts.channels == {"L": 1, "I;16": 1, "LA": 2, "RGB": 3, "RGBA": 4}[stored_mode]


@pytest.mark.parametrize(
    ("mode", "save", "channels", "reasons"),
    [
        ("1", {}, 1, ("format png",)),
        ("L", {}, 1, ("format png",)),
        ("LA", {}, 1, ("format png", "alpha")),
        ("P", {}, 3, ("format png", "palette")),
        ("P", {"transparency": 3}, 3, ("format png", "palette", "alpha")),
        ("RGB", {}, 3, ("format png",)),
        ("RGB", {"transparency": (1, 2, 3)}, 3, ("format png", "alpha")),
        ("RGBA", {}, 3, ("format png", "alpha")),
        ("I;16", {}, 1, ("format png", "16-bit")),
    ],
)
def test_to_jpeg(encode: Encode, mode, save, channels, reasons):
    data = encode("PNG", mode, **save)

    facts, stored = store(data, ImageOptions(format="jpeg", jpeg_quality=100))

    seen = open_image(stored)
    assert facts.conversions == reasons
    assert (facts.format, facts.channels) == ("jpeg", channels)
    assert seen.mode == {1: "L", 3: "RGB"}[channels]
    meant = open_image(data)
    if mode == "I;16":
        meant = Image.fromarray((np.asarray(meant) >> 8).astype(np.uint8))
    elif "alpha" in reasons:
        meant = meant.convert("RGBA")
        meant = Image.alpha_composite(Image.new("RGBA", meant.size, "white"), meant)
    lightness = array(seen.convert("L")) - array(meant.convert("L"))  # 4:2:0 blurs colours
    assert np.abs(lightness).mean() < 2


def test_jpeg_to_png(encode: Encode):
    data = encode("JPEG")

    facts, stored = store(data, ImageOptions(format="png"))

    assert facts.conversions == ("format jpeg",)
    assert (array(open_image(stored)) == array(open_image(data))).all()


def test_jpeg_quality_is_used(encode: Encode):
    data = encode("BMP", size=(64, 64))
    sizes = [
        len(store(data, ImageOptions(format="jpeg", jpeg_quality=quality))[1])
        for quality in (10, 50, 95)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_16_bit_colour_becomes_8_bit_when_encoded_again(make_png):
    facts, stored = store(make_png(16, 2), ImageOptions(max_side=5))

    assert facts.conversions == ("resized", "16-bit")
    assert open_image(stored).mode == "RGB"


@pytest.mark.parametrize(
    "options",
    [
        {"max_side": 0},
        {"max_side": 70_000},
        {"size": (0, 10)},
        {"size": (10,)},
        {"size": (60_000, 60_000)},
        {"max_side": 10, "size": (10, 10)},
        {"format": "webp"},
        {"jpeg_quality": 0},
        {"jpeg_quality": 101},
        {"max_pixels": 0},
    ],
)
def test_options_that_cannot_be_used(options):
    with pytest.raises(ConfigError):
        ImageOptions(**options)


@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_more_pixels_than_allowed_are_refused(encode: Encode, file_format):
    data = encode(file_format, "P" if file_format == "GIF" else "RGB")

    with pytest.raises(RecordError, match="24x16 are 384 pixels, more than the 383") as error:
        inspect_image(data, ImageOptions(max_pixels=383))
    assert error.value.reason == "image too large"
    inspect_image(data, ImageOptions(max_pixels=384))


def test_bombs_are_refused_by_their_header_and_without_pillows_warning(encode: Encode):
    """100 megapixels stated in a small file: Pillow warns, at 400 it raises."""
    data = encode("GIF", "P")
    stated = [
        data[:6] + bytes([*side.to_bytes(2, "little")]) * 2 + data[10:] for side in (10_000, 20_000)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RecordError) as error:
            inspect_image(stated[1], ImageOptions())
        assert error.value.reason == "image too large"
        with pytest.raises(RecordError) as error:
            inspect_image(stated[0], ImageOptions(max_pixels=10_000_000))
        assert error.value.reason == "image too large"


def test_sides_that_no_decoder_takes_are_refused(make_png):
    with pytest.raises(RecordError) as error:
        inspect_image(make_png(8, 0, size=(1_000_001, 1)), ImageOptions())
    assert error.value.reason == "image too large"

    facts, _ = store(make_png(8, 0, size=(70_000, 1)), ImageOptions())
    assert facts.width == 70_000
    with pytest.raises(RecordError, match="65,500 a side"):
        inspect_image(make_png(8, 0, size=(70_000, 1)), ImageOptions(format="jpeg"))


def test_a_png_that_only_pillow_refuses_is_refused_where_pillow_is_needed(make_png, chunk):
    data = make_png(before=chunk(b"tRNS", b"x"))

    facts, stored = store(data)
    assert stored is data
    assert facts.channels == 3
    with pytest.raises(RecordError):
        inspect_image(data, ImageOptions(max_side=5))


@pytest.mark.parametrize(
    ("file_format", "mode"),
    [("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "I;16"), ("PNG", "RGBA"), ("PNG", "1")],
)
def test_decode_rgb(encode: Encode, file_format, mode):
    image = decode_rgb(encode(file_format, mode))

    assert (image.mode, image.size) == ("RGB", (24, 16))
    assert array(image).std() > 20
