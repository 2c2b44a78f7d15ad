"""Broken images of every format are refused with a reason."""

import contextlib
import random

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from media_files import encode, store

from beam_pipeline.errors import RecordError
from beam_pipeline.media.images import ImageOptions, inspect_image


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
