"""Images of each format, in the requested size; broken ones are refused with a reason."""

import contextlib
import random
import struct
import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from file_bytes import png_chunk
from media_files import encode, make_image, make_png, open_image, store
from PIL import Image

from beam_pipeline import records
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.media.header import exif_orientation
from beam_pipeline.media.images import ImageOptions, decode_rgb, inspect_image

CHANNELS = {"1": 1, "L": 1, "I;16": 1, "LA": 2, "P": 3, "RGB": 3, "RGBA": 4}


# A file's format, mode, options of `Image.save`, and channels.
KEPT = [
    ("JPEG", "RGB", {}, 3),
    ("JPEG", "RGB", {"progressive": True}, 3),
    ("JPEG", "RGB", {"keep_rgb": True}, 3),
    ("JPEG", "L", {}, 1),
    ("JPEG", "RGB", {"orientation": 1}, 3),
    ("MPO", "RGB", {"animated": True}, 3),
    ("PNG", "1", {}, 1),
    ("PNG", "L", {}, 1),
    ("PNG", "L", {"transparency": 9}, 1),
    ("PNG", "LA", {}, 2),
    ("PNG", "P", {}, 3),
    ("PNG", "P", {"bits": 4}, 3),
    ("PNG", "P", {"transparency": 3}, 4),
    ("PNG", "RGB", {}, 3),
    ("PNG", "RGB", {"transparency": (1, 2, 3)}, 3),
    ("PNG", "RGBA", {}, 4),
    ("PNG", "I;16", {}, 1),
]


@pytest.mark.parametrize(("file_format", "mode", "save", "channels"), KEPT)
def test_jpeg_and_png_are_stored_as_they_are(file_format, mode, save, channels):
    data = encode(file_format, mode, **save)

    found, stored = store(data)

    assert stored is data
    image = records.Image(
        file=found.image.file,
        format="png" if file_format == "PNG" else "jpeg",
        width=24,
        height=16,
        channels=channels,
        bits=16 if mode == "I;16" else 8,
    )
    assert found == (image, (16, 24), 1, len(data))


# A file's format, mode and options; mode and conversions of the stored image.
TO_PNG = [
    ("BMP", "RGB", {}, "RGB", ("format bmp",)),
    ("BMP", "P", {}, "P", ("format bmp",)),
    ("GIF", "P", {}, "P", ("format gif",)),
    ("GIF", "P", {"transparency": 3}, "P", ("format gif",)),
    ("GIF", "P", {"animated": True}, "P", ("animated", "format gif")),
    ("WEBP", "RGB", {"lossless": True}, "RGB", ("format webp",)),
    ("WEBP", "RGBA", {"lossless": True}, "RGBA", ("format webp",)),
    ("WEBP", "RGB", {"lossless": True, "animated": True}, "RGB", ("animated", "format webp")),
    ("PNG", "RGB", {"animated": True}, "RGB", ("animated",)),
    ("TIFF", "1", {}, "1", ("format tiff",)),
    ("TIFF", "L", {}, "L", ("format tiff",)),
    ("TIFF", "I;16", {}, "I;16", ("format tiff",)),
    ("TIFF", "RGBA", {}, "RGBA", ("format tiff",)),
    ("TIFF", "CMYK", {}, "RGB", ("cmyk", "format tiff")),
    ("TIFF", "RGB", {"compression": "tiff_lzw"}, "RGB", ("format tiff",)),
    ("TIFF", "RGB", {"animated": True}, "RGB", ("animated", "format tiff")),
    ("PPM", "RGB", {}, "RGB", ("format ppm",)),
    ("PPM", "I", {}, "I;16", ("format ppm",)),
    ("JPEG2000", "RGB", {}, "RGB", ("format jpeg2000",)),
]
TO_JPEG = [
    ("JPEG", "CMYK", {}, "RGB", ("cmyk",)),
    ("PNG", "1", {}, "L", ("format png",)),
    ("PNG", "L", {}, "L", ("format png",)),
    ("PNG", "LA", {}, "L", ("format png", "alpha")),
    ("PNG", "P", {}, "RGB", ("format png", "palette")),
    ("PNG", "P", {"transparency": 3}, "RGB", ("format png", "palette", "alpha")),
    ("PNG", "RGB", {}, "RGB", ("format png",)),
    ("PNG", "RGB", {"transparency": (1, 2, 3)}, "RGB", ("format png", "alpha")),
    ("PNG", "RGBA", {}, "RGB", ("format png", "alpha")),
    ("PNG", "I;16", {}, "L", ("format png", "16-bit")),
]
TO_BMP = [
    ("JPEG", "RGB", {}, "RGB", ("format jpeg",)),
    ("JPEG", "L", {}, "RGB", ("format jpeg",)),
    ("JPEG", "CMYK", {}, "RGB", ("cmyk", "format jpeg")),
    ("PNG", "1", {}, "RGB", ("format png",)),
    ("PNG", "L", {}, "RGB", ("format png",)),
    ("PNG", "P", {}, "RGB", ("format png", "palette")),
    ("PNG", "LA", {}, "RGB", ("format png", "alpha")),
    ("PNG", "P", {"transparency": 3}, "RGB", ("format png", "palette", "alpha")),
    ("PNG", "RGBA", {}, "RGB", ("format png", "alpha")),
    ("BMP", "RGB", {}, "RGB", ("format bmp",)),
    ("BMP", "L", {}, "RGB", ("format bmp",)),
]


def on_white(image):
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)


@pytest.mark.parametrize(
    ("asked", "file_format", "mode", "save", "stored_mode", "conversions"),
    [
        *(("keep", *row) for row in TO_PNG),
        *(("jpeg", *row) for row in TO_JPEG),
        *(("bmp", *row) for row in TO_BMP),
    ],
)
def test_what_is_encoded_again(asked, file_format, mode, save, stored_mode, conversions):
    data = encode(file_format, mode, size=(23, 16), **save)  # BMP pads rows of this width

    found, stored = store(data, ImageOptions(format=asked, jpeg_quality=100))

    image, seen, meant = found.image, open_image(stored), open_image(data)
    assert (image.format, image.conversions) == (seen.format.lower(), conversions)
    assert image.format == {"keep": "png"}.get(asked, asked)
    assert (seen.mode, seen.size) == (stored_mode, (image.width, image.height))
    assert image.channels == CHANNELS[stored_mode] + ("transparency" in seen.info)
    assert not getattr(seen, "is_animated", False)
    assert 0.1 * len(stored) < found.num_bytes < 10 * len(stored)
    if stored_mode == "I;16":
        assert (np.asarray(seen) == np.asarray(meant)).all()
        return
    if "16-bit" in conversions:
        meant = Image.fromarray((np.asarray(meant) >> 8).astype(np.uint8))
    elif "alpha" in conversions:
        meant = on_white(meant)
    # JPEG's 4:2:0 blurs colours.
    pixels = [
        np.asarray(each.convert("L" if asked == "jpeg" else "RGBA")).astype(int)
        for each in (seen, meant)
    ]
    assert np.abs(pixels[0] - pixels[1]).mean() < (2 if asked == "jpeg" else 1e-9)
    if asked == "bmp":
        assert found.num_bytes == len(stored)


@pytest.mark.parametrize("options", [{"max_side": 7}, {"format": "jpeg"}, {"size": (5, 9)}])
@pytest.mark.parametrize(("file_format", "mode", "save"), [row[:3] for row in KEPT + TO_PNG])
def test_tensorflow_decodes_what_is_stored(file_format, mode, save, options):
    store(encode(file_format, mode, **save), ImageOptions(**options))


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize(
    ("file_format", "stored_format", "mode"),
    [
        ("JPEG", "jpeg", "RGB"),
        ("JPEG", "jpeg", "L"),
        ("JPEG", "bmp", "RGB"),
        ("PNG", "png", "RGBA"),
        ("PNG", "png", "P"),
        ("PNG", "png", "I;16"),
        ("WEBP", "png", "RGB"),
        ("TIFF", "png", "RGB"),
    ],
)
def test_a_turned_image_is_stored_upright(file_format, stored_format, mode, orientation):
    lossless = {"lossless": True} if file_format == "WEBP" else {}
    data = encode(file_format, mode, orientation=orientation, **lossless)

    found, stored = store(data, ImageOptions(format="bmp" if stored_format == "bmp" else "keep"))

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


def test_what_is_encoded_again_keeps_its_colour_profile_and_no_other_metadata():
    profile = b"profile " * 20_000  # three segments
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
        pytest.param({"size": (30, 10)}, (24, 16), (10, 30), id="stretched"),
        pytest.param({"size": (16, 24)}, (24, 16), (24, 16), id="of that size already"),
    ],
)
@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "BMP"])
def test_sizes(options, size, expected, file_format):
    found, stored = store(encode(file_format, size=size), ImageOptions(**options))

    assert (found.image.width, found.image.height) == open_image(stored).size == expected
    assert ("resized" in found.image.conversions) == (size != expected)


def test_a_large_jpeg_is_shrunk_like_its_pixels():
    """Decoding at a fraction of the size must not be visible."""
    _, stored = store(encode("JPEG", size=(400, 300), quality=95), ImageOptions(max_side=50))

    meant = make_image(size=(400, 300)).resize((50, 38), Image.Resampling.LANCZOS)
    assert np.abs(np.asarray(open_image(stored)).astype(int) - np.asarray(meant)).mean() < 3


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
def test_modes_when_resized(mode, save, stored_mode, reasons):
    found, stored = store(encode("PNG", mode, **save), ImageOptions(max_side=12))

    assert found.image.conversions == reasons
    assert open_image(stored).mode == stored_mode
    assert found.image.channels == CHANNELS[stored_mode]


@pytest.mark.parametrize(
    ("file_format", "mode"),
    [("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "I;16"), ("PNG", "RGBA"), ("PNG", "1")],
)
def test_decode_rgb(file_format, mode):
    image = decode_rgb(encode(file_format, mode))

    assert (image.mode, image.size) == ("RGB", (24, 16))
    assert np.asarray(image).std() > 20


def test_a_fault_of_a_stored_image_names_its_format():
    with pytest.raises(RecordError, match="truncated image: JPEG: no end marker"):
        decode_rgb(encode("JPEG")[:300])


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


def test_bombs_are_refused_by_their_header_and_without_pillows_warning():
    """A small file states 100 megapixels: Pillow warns, and raises from 400 on."""
    data = encode("GIF", "P")
    for side, options in ((20_000, {}), (10_000, {"max_pixels": 10_000_000})):
        stated = data[:6] + side.to_bytes(2, "little") * 2 + data[10:]
        with warnings.catch_warnings(action="error"), pytest.raises(RecordError) as error:
            inspect_image(stated, ImageOptions(**options))
        assert error.value.reason == "image too large"


def test_a_png_that_only_pillow_refuses_is_refused_where_pillow_is_needed():
    data = make_png(before=png_chunk(b"tRNS", b"x"))

    found, stored = store(data)
    assert stored is data
    assert found.image.channels == 3
    with pytest.raises(RecordError, match="damaged image: PNG: "):
        inspect_image(data, ImageOptions(max_side=5))


def reason(data: bytes) -> str | None:
    """Return why `data` is refused; None if it passes."""
    try:
        inspect_image(data, ImageOptions())
    except RecordError as error:
        return error.reason
    return None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", "empty file", id="empty"),
        pytest.param(b"\0" * 1000, "not an image", id="zeros"),
        pytest.param(np.random.default_rng(0).bytes(5000), "not an image", id="noise"),
        pytest.param(b"<html><body>404</body></html>", "not an image", id="an error page"),
        pytest.param(b"%PDF-1.7 ", "not an image", id="PDF"),
        pytest.param(b"BMW is a maker of cars, and this is a text", "not an image", id="text"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "not an image", id="lfs"),
        pytest.param(b"\0\0\0\x18ftypheic\0\0\0\0", "not an image", id="HEIC"),
        pytest.param(b"\xff\xd8\xff", "truncated image", id="JPEG of three bytes"),
        pytest.param(b"\xff\xd8\xff\xd9", "damaged image", id="JPEG without an image"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "truncated image", id="PNG of eight bytes"),
        pytest.param(b"GIF89a", "damaged image", id="GIF of six bytes"),
        pytest.param(b"II+\0\x08\0\0\0" + b"\xff" * 90, "unsupported image", id="BigTIFF"),
    ],
)
def test_not_a_usable_image(data, expected):
    assert reason(data) == expected


@pytest.mark.parametrize(
    ("file_format", "mode", "save"),
    [
        pytest.param("JPEG", "RGB", {}, id="jpeg"),
        pytest.param("JPEG", "RGB", {"progressive": True}, id="progressive jpeg"),
        pytest.param("JPEG", "RGB", {"restart_marker_blocks": 1}, id="jpeg with restarts"),
        pytest.param("JPEG", "CMYK", {}, id="cmyk jpeg"),
        pytest.param("PNG", "RGB", {}, id="png"),
        pytest.param("PNG", "P", {}, id="palette png"),
        pytest.param("BMP", "RGB", {}, id="bmp"),
        pytest.param("TIFF", "RGB", {}, id="tiff"),
        pytest.param("WEBP", "RGB", {}, id="webp"),
        pytest.param("JPEG2000", "RGB", {}, id="jpeg 2000"),
    ],
)
def test_a_file_cut_anywhere_is_refused(file_format, mode, save):
    data = encode(file_format, mode, **save)
    if file_format == "JPEG2000":
        data = data[:-2]  # openjpeg does not need the end marker
    cuts = {*range(1, 40), *range(40, len(data), 17), *range(len(data) - 20, len(data))}

    assert reason(data) is None or file_format == "JPEG2000"
    passed = [cut for cut in sorted(cuts) if reason(data[:cut]) is None]
    assert passed == []


@pytest.mark.parametrize("file_format", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
@hypothesis.given(changes=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), max_size=6))
def test_changed_bytes_raise_record_errors_only(file_format, changes):
    data = bytearray(encode(file_format))
    for where, what in changes:
        start = int(where * len(data))
        data[start : start + len(what)] = what
    for options in (ImageOptions(max_pixels=10_000), ImageOptions(max_pixels=10_000, max_side=5)):
        try:
            found = inspect_image(bytes(data), options)
        except RecordError:
            continue
        assert found.image.width * found.image.height <= 10_000


@pytest.mark.parametrize(
    ("file_format", "mode", "save"),
    [
        ("JPEG", "RGB", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("JPEG", "RGB", {"restart_marker_blocks": 1}),
        ("JPEG", "CMYK", {}),
        ("PNG", "RGB", {}),
        ("PNG", "P", {"transparency": 3}),
    ],
)
def test_damage_that_passes_is_harmless(file_format, mode, save):
    """Each random change is refused, or TensorFlow still decodes the image."""
    original = encode(file_format, mode, **save)
    chance = random.Random(5)
    passed = 0
    for _ in range(150):
        data = bytearray(original)
        kind = chance.random()
        position = chance.randrange(8, len(data))
        if kind < 0.2:
            del data[position:]
        elif kind < 0.4:
            del data[position : position + chance.randrange(1, 50)]
        else:
            for _ in range(chance.randrange(1, 4)):
                position = chance.randrange(len(data) // 3, len(data))
                data[position] = chance.choice((0, 255, chance.randrange(256)))
        with contextlib.suppress(RecordError):
            store(bytes(data), ImageOptions(max_pixels=1_000_000))
            passed += 1
    assert passed > 0 or file_format == "PNG"  # PNG's checksums detect every change


def exif(order: str, *entries: tuple[int, int, int, int]) -> bytes:
    mark = b"II*\0" if order == "<" else b"MM\0*"
    body = struct.pack(f"{order}IH", 8, len(entries))
    return mark + body + b"".join(struct.pack(f"{order}HHIHxx", *entry) for entry in entries)


@pytest.mark.parametrize("prefix", [b"", b"Exif\0\0"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(orientation, order, prefix):
    data = exif(order, (0x0100, 3, 1, 6), (0x0112, 3, 1, orientation))
    assert exif_orientation(prefix + data) == orientation


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"Exif\0\0", id="nothing in it"),
        pytest.param(b"no TIFF at all", id="noise"),
        pytest.param(exif("<", (0x0112, 3, 1, 0)), id="zero"),
        pytest.param(exif("<", (0x0112, 3, 1, 9)), id="nine"),
        pytest.param(exif("<", (0x0112, 2, 1, 6)), id="of another type"),
        pytest.param(exif("<", (0x0112, 3, 2, 6)), id="two of them"),
        pytest.param(exif("<", (0x0112, 3, 1, 6))[:-8], id="cut short"),
        pytest.param(b"II*\0\xff\xff\xff\xff", id="a directory far away"),
    ],
)
def test_without_a_valid_orientation_it_is_upright(data):
    assert exif_orientation(data) == 1
