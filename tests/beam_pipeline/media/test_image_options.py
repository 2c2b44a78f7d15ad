"""Images in the size and format that a user asks for, and the images that a limit refuses."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from file_bytes import png_chunk
from PIL import Image

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.media.image_options import ImageOptions
from beam_pipeline.media.images import inspect_image

Encode = Callable[..., bytes]


@pytest.mark.parametrize(
    ("options", "size", "expected"),
    [
        pytest.param({"max_side": 12}, (24, 16), (12, 8), id="shrunk, aspect kept"),
        pytest.param({"max_side": 12}, (16, 24), (8, 12), id="shrunk, portrait"),
        pytest.param({"max_side": 24}, (24, 16), (24, 16), id="never touched when it fits"),
        pytest.param({"max_side": 99}, (24, 16), (24, 16), id="never enlarged"),
        pytest.param({"max_side": 4}, (100, 2), (4, 1), id="a side never vanishes"),
        pytest.param({"size": (30, 10)}, (24, 16), (10, 30), id="stretched"),
        pytest.param({"size": (16, 24)}, (24, 16), (24, 16), id="of that size already"),
    ],
)
@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "BMP"])
def test_sizes(encode: Encode, store, open_image, options, size, expected, file_format):
    found, stored = store(encode(file_format, size=size), ImageOptions(**options))

    assert (found.image.width, found.image.height) == open_image(stored).size == expected
    assert ("resized" in found.image.conversions) == (size != expected)


def test_a_large_jpeg_is_shrunk_like_its_pixels(
    encode: Encode, make_image, store, open_image, rgb_of
):
    """It is decoded at a part of its size, which must not show."""
    _, stored = store(encode("JPEG", size=(400, 300), quality=95), ImageOptions(max_side=50))

    meant = make_image(size=(400, 300)).resize((50, 38), Image.Resampling.LANCZOS)
    assert np.abs(rgb_of(open_image(stored)) - rgb_of(meant)).mean() < 3


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
def test_modes_when_resized(
    encode: Encode, make_image, store, open_image, mode, save, stored_mode, reasons
):
    found, stored = store(encode("PNG", mode, **save), ImageOptions(max_side=12))

    seen = open_image(stored)
    assert found.image.conversions == reasons
    assert seen.mode == stored_mode
    assert found.image.channels == {"L": 1, "I;16": 1, "LA": 2, "RGB": 3, "RGBA": 4}[stored_mode]


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
def test_to_jpeg(encode: Encode, store, open_image, rgb_of, mode, save, channels, reasons):
    data = encode("PNG", mode, **save)

    found, stored = store(data, ImageOptions(format="jpeg", jpeg_quality=100))

    seen = open_image(stored)
    assert found.image.conversions == reasons
    assert (found.image.format, found.image.channels) == ("jpeg", channels)
    assert seen.mode == {1: "L", 3: "RGB"}[channels]
    meant = open_image(data)
    if mode == "I;16":
        meant = Image.fromarray((np.asarray(meant) >> 8).astype(np.uint8))
    elif "alpha" in reasons:
        meant = meant.convert("RGBA")
        meant = Image.alpha_composite(Image.new("RGBA", meant.size, "white"), meant)
    lightness = rgb_of(seen.convert("L")) - rgb_of(meant.convert("L"))  # 4:2:0 blurs colours
    assert np.abs(lightness).mean() < 2


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
        {"format": "mix=1.5"},
        {"jpeg_quality": 0},
        {"jpeg_quality": 101},
        {"max_pixels": 0},
    ],
)
def test_options_that_cannot_be_used(options):
    with pytest.raises(ConfigError):
        ImageOptions(**options)


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


def test_a_png_that_only_pillow_refuses_is_refused_where_pillow_is_needed(make_png, store):
    data = make_png(before=png_chunk(b"tRNS", b"x"))

    found, stored = store(data)
    assert stored is data
    assert found.image.channels == 3
    with pytest.raises(RecordError):
        inspect_image(data, ImageOptions(max_side=5))
