"""Maps: numbers from files of any format; files of other pixels are refused."""

import numpy as np
import pytest
from file_bytes import image_bytes
from PIL import Image

from beam_pipeline.errors import RecordError
from beam_pipeline.media.maps import BINARY, encode_map, inspect_map, read_numbers
from beam_pipeline.records import FileRef, Map

MAX_PIXELS = 10_000
NUMBERS = np.array([[0, 1, 2], [255, 2, 0]], np.uint8)
COLORS = np.array([[0, 0, 0], [128, 0, 0], [0, 64, 128]], np.uint8)
RGB = COLORS[[[0, 1, 2], [2, 2, 0]]]
DEPTHS = np.array([[0, 1, 700], [65_535, 2, 0]], np.uint16)


def saved(pixels, file_format="PNG", mode=None, **options):
    image = Image.fromarray(pixels)
    image = image.convert(mode, palette=Image.Palette.ADAPTIVE) if mode else image
    return image_bytes(image, file_format, **options)


def with_palette(numbers, file_format="PNG"):
    image = Image.fromarray(numbers)
    image.putpalette([each * 37 % 256 for each in range(768)])
    return image_bytes(image, file_format, optimize=False)


def a_map(**stated):
    return Map(file=FileRef(path="m.png"), **stated)


def stored(data, value):
    """Return the stored numbers of a file, and the reasons to encode it again."""
    checked = inspect_map(data, value, MAX_PIXELS)
    return read_numbers(encode_map(data, checked, MAX_PIXELS), MAX_PIXELS), checked.conversions


OF_COLORS = a_map(colors=COLORS.tobytes())
OF_SEGMENTS = a_map(colors=COLORS.tobytes(), classes=bytes([255, 1, 1]), num_classes=2)
DEPTH = a_map(shows="depth")
BLACK_OR_WHITE = a_map(colors=BINARY)


PLAIN = a_map()
SHADES = np.kron([[0, 9, 250, 255]], np.ones((8, 8))).astype(np.uint8)


@pytest.mark.parametrize(
    ("data", "value", "numbers", "conversions"),
    [
        (saved(NUMBERS), PLAIN, NUMBERS, ()),
        (with_palette(NUMBERS), PLAIN, NUMBERS, ("palette",)),
        (with_palette(NUMBERS % 2), PLAIN, NUMBERS % 2, ("palette",)),
        (with_palette(NUMBERS, "GIF"), PLAIN, NUMBERS, ("format gif",)),
        (saved(NUMBERS, "TIFF"), PLAIN, NUMBERS, ("format tiff",)),
        (saved(NUMBERS == 1), PLAIN, NUMBERS == 1, ("1-bit 1",)),
        (saved(NUMBERS.astype(np.uint16)), PLAIN, NUMBERS, ("16-bit I;16",)),
        (saved(NUMBERS, mode="RGB"), PLAIN, NUMBERS, ("8-bit RGB",)),
        (saved(NUMBERS, mode="LA"), PLAIN, NUMBERS, ("8-bit LA",)),
        (saved(RGB), OF_COLORS, [[0, 1, 2], [2, 2, 0]], ("colors",)),
        (saved(RGB), OF_SEGMENTS, [[255, 1, 1], [1, 1, 255]], ("colors",)),
        (saved(RGB, mode="P"), OF_COLORS, [[0, 1, 2], [2, 2, 0]], ("colors",)),
        (saved((NUMBERS > 1) * np.uint8(255)), BLACK_OR_WHITE, NUMBERS > 1, ("colors",)),
        (saved(NUMBERS > 1), BLACK_OR_WHITE, NUMBERS > 1, ("colors",)),
        (saved(SHADES, "JPEG"), BLACK_OR_WHITE, SHADES > 99, ("format jpeg",)),
        (saved(DEPTHS), DEPTH, DEPTHS, ()),
        (saved(DEPTHS, "TIFF"), DEPTH, DEPTHS, ("format tiff",)),
        (saved(NUMBERS), DEPTH, NUMBERS, ("8-bit L",)),
    ],
)
def test_numbers_are_stored_as_they_are(data, value, numbers, conversions):
    found, reasons = stored(data, value)
    np.testing.assert_array_equal(found, numbers)
    assert found.dtype == (np.uint16 if value.shows == "depth" else np.uint8)
    assert reasons == conversions


@pytest.mark.parametrize(
    ("data", "value", "reason", "detail"),
    [
        (saved(NUMBERS), a_map(num_classes=2), "unknown class in map", "row 0, column 2 has"),
        (saved(RGB), a_map(), "not a map", "row 0, column 1 has the colour 128, 0, 0, not a"),
        (saved(RGB ^ 1), OF_COLORS, "unknown class in map", "the colour 1, 1, 1, which is"),
        (saved(RGB ^ 1), OF_SEGMENTS, "unknown class in map", "not that of a class"),
        (saved(NUMBERS), BLACK_OR_WHITE, "unknown class in map", "neither black nor white"),
        (saved(NUMBERS, "JPEG"), a_map(), "not a map", "save maps as PNG"),
        (saved(RGB, "JPEG"), OF_COLORS, "not a map", "a JPEG changes pixels"),
        (saved(DEPTHS), a_map(), "unknown class in map", "row 0, column 2 has the class 65535"),
        (saved(RGB), DEPTH, "not a map", "not a number; put a class_dict"),
        (saved(RGB, "JPEG"), DEPTH, "not a map", "a JPEG changes pixels"),
        (saved(NUMBERS)[:-20], a_map(), "truncated image", "no end chunk"),
        (saved(np.zeros((200, 100), np.uint8)), a_map(), "image too large", "100x200"),
    ],
)
def test_what_is_not_a_map_is_refused_by_name(data, value, reason, detail):
    with pytest.raises(RecordError, match=detail) as caught:
        inspect_map(data, value, MAX_PIXELS)
    assert caught.value.reason == reason


def test_a_map_is_turned_and_scaled_by_the_nearest_pixel():
    data = saved(NUMBERS)
    value = a_map(width=4, height=6, orientation=6, conversions=("orientation", "resized"))
    found = read_numbers(encode_map(data, value, MAX_PIXELS), MAX_PIXELS)
    upright = np.rot90(NUMBERS, -1)  # [3, 2]
    np.testing.assert_array_equal(found, np.kron(upright, np.ones((2, 2), np.uint8)))
