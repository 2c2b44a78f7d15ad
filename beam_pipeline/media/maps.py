"""Maps: a number for each pixel of an image, stored as a PNG of one channel.

Class maps have 8 bits, and 255 is ignored; depth maps have 16 bits. A PNG of this form is stored
byte for byte. Other maps, such as TIFF and GIF, are encoded again without loss: palettes as their
indices, 1, 2 and 4 bits as their values, and colours as the numbers of their classes.
"""

import contextlib
import dataclasses
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from beam_pipeline.errors import RecordError
from beam_pipeline.files.hashed import hashed
from beam_pipeline.media import pixels
from beam_pipeline.media.header import Header
from beam_pipeline.media.images import decode_pixels
from beam_pipeline.records import Map

IGNORED = 255
"""The pixel of no class in a map of classes."""

NOT_A_MAP = "not a map"
UNKNOWN_CLASS = "unknown class in map"
_JPEG = "a JPEG changes pixels; save maps as PNG"
BINARY = bytes([0, 0, 0, 255, 255, 255])
"""The colours of two classes: background is black, foreground white."""

Numbers = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
_KEPT_MODES = {"classes": "L", "depth": "I;16"}
# Grey levels at either end that count as black or white in a JPEG, and their minimum share.
_NEARLY = 32
_NEARLY_ALL = 0.98
_MOST_COLORS = 256
_LEVELS = {2: 85, 4: 17}  # by bits: step between greys after Pillow scales them to 8 bits


def inspect_map(data: bytes, value: Map, max_pixels: int) -> Map:
    """Check the file of a map, and return the map with its size, classes and conversions.

    Raises:
        RecordError: As `inspect_image`; "not a map" if its pixels are not numbers; "unknown class
            in map" if a number or colour is not one of the classes.
    """
    header, image = decode_pixels(data, max_pixels)
    numbers = _numbers(header, image, value)
    shown: tuple[int, ...] = ()
    if value.shows == "classes":
        by_color = value.colors and not value.classes
        (present,) = np.nonzero(np.bincount(numbers.reshape(-1)))
        shown = tuple(number for number in present.tolist() if number != IGNORED or by_color)
        if value.num_classes and shown and shown[-1] >= value.num_classes:
            wrong = next(number for number in shown if number >= value.num_classes)
            raise RecordError(
                UNKNOWN_CLASS,
                f"the pixel at {_place(numbers == wrong)} has the class {wrong}, but classes are 0 "
                f"to {value.num_classes - 1}, and 255 is ignored; name or correct the class",
            )
    height, width = numbers.shape
    return dataclasses.replace(
        value,
        file=hashed(value.file, data),
        numbers=shown,
        width=width,
        height=height,
        orientation=1,
        conversions=tuple(_conversions(header, image, value)),
    )


def encode_map(data: bytes, value: Map, max_pixels: int) -> bytes:
    """Return the bytes to store for an inspected map: `data` itself without conversions.

    The map is scaled to its stored size by nearest neighbour.
    """
    if not value.conversions:
        return data
    numbers = _numbers(*decode_pixels(data, max_pixels), value)
    upright = np.asarray(pixels.upright(Image.fromarray(numbers), value.orientation))
    rows, columns = (
        (np.arange(size) * 2 + 1) * of // (size * 2)
        for size, of in zip((value.height, value.width), upright.shape, strict=True)
    )
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(upright[rows][:, columns])).save(buffer, "PNG")
    return buffer.getvalue()


def read_numbers(data: bytes, max_pixels: int) -> Numbers:
    """Read the numbers of a stored map [height, width]: uint8 classes or uint16 depths."""
    header, image = decode_pixels(data, max_pixels)
    if header.format != "png" or image.mode not in _KEPT_MODES.values():
        raise RecordError(NOT_A_MAP, f"a {header.format.upper()} of {image.mode} pixels")
    return np.asarray(image)


@dataclasses.dataclass(frozen=True, slots=True)
class MapSample:
    """Distinct pixels of an image, to detect a map.

    Attributes:
        numbers: Numbers of its only channel, up to 65,535; None if pixels are colours.
        colors: Red, green and blue of each colour; None if there are more than 256. A nearly
            black-and-white JPEG has these two.
    """

    numbers: frozenset[int] | None
    colors: frozenset[tuple[int, ...]] | None


def sample_map(data: bytes, max_pixels: int) -> MapSample:
    """Find the distinct pixels of an image."""
    header, image = decode_pixels(data, max_pixels)
    if header.format == "jpeg":
        levels = np.bincount(np.asarray(image.convert("L")).reshape(-1), minlength=256)
        is_black, is_white = levels[:_NEARLY].sum(), levels[-_NEARLY:].sum()
        if is_black + is_white < _NEARLY_ALL * levels.sum():
            return MapSample(None, None)
        colors = {(0, 0, 0): is_black, (255, 255, 255): is_white}
        return MapSample(None, frozenset(color for color in colors if colors[color]))
    numbers = None
    with contextlib.suppress(RecordError):
        channel = _one_channel(header, image)
        numbers = frozenset(np.unique(channel).tolist())
    if image.mode == "I;16":
        return MapSample(numbers, None)
    counted = image.convert("RGB").getcolors(_MOST_COLORS)
    if counted is None:
        return MapSample(numbers, None)
    return MapSample(numbers, frozenset(each for _, each in counted if isinstance(each, tuple)))


def _conversions(header: Header, image: Image.Image, value: Map) -> Iterator[str]:
    if header.format != "png":
        yield f"format {header.format}"
    elif value.colors:
        yield "colors"
    elif image.mode != _KEPT_MODES[value.shows] or header.bits < 8 or header.color_key:
        yield "palette" if image.mode == "P" else f"{header.bits}-bit {image.mode}"


def _numbers(header: Header, image: Image.Image, value: Map) -> Numbers:
    if value.colors:
        places = _of_colors(header, image, value.colors)
        if value.classes:
            return np.frombuffer(value.classes, np.uint8)[places]
        return places.astype(np.uint8)
    if header.format == "jpeg":
        raise RecordError(NOT_A_MAP, _JPEG)
    numbers = _one_channel(header, image)
    if value.shows == "depth":
        if image.mode not in ("I;16", "L"):
            raise RecordError(NOT_A_MAP, f"{image.mode} pixels, where depths are 8 or 16 bits grey")
        return numbers.astype(np.uint16)
    if numbers.max() > IGNORED:
        raise RecordError(
            UNKNOWN_CLASS,
            f"the pixel at {_place(numbers > IGNORED)} has the class {numbers.max()}, but maps "
            "have up to 255 classes, from 0, and 255 is ignored; number the classes again",
        )
    return numbers.astype(np.uint8)


def _one_channel(header: Header, image: Image.Image) -> npt.NDArray[Any]:
    """Return the numbers of an image's pixels, as in its file."""
    numbers = np.asarray(image)
    if numbers.ndim == 3:
        return _grey(numbers)
    if header.bits in _LEVELS and image.mode == "L":
        return numbers // _LEVELS[header.bits]
    return numbers


def _grey(numbers: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return one channel of grey pixels; raise RecordError for colours. Alpha is ignored."""
    channels: npt.NDArray[np.uint8] = numbers[..., : 3 if numbers.shape[-1] > 2 else 1]
    colored = (channels != channels[..., :1]).any(axis=-1)
    if colored.any():
        raise RecordError(
            NOT_A_MAP,
            f"the pixel at {_place(colored)} has the colour {_color(channels, colored)}, not a "
            "number; put a class_dict.csv with the columns name,r,g,b in its folder, or save it "
            "in grey",
        )
    one: npt.NDArray[np.uint8] = channels[..., 0]
    return one


def _of_colors(header: Header, image: Image.Image, colors: bytes) -> npt.NDArray[np.int64]:
    """Return the index of each pixel's colour, or of the nearer one in a two-colour JPEG."""
    table = np.frombuffer(colors, np.uint8).reshape(-1, 3)
    if image.mode == "I;16":
        raise RecordError(NOT_A_MAP, "16 bits per pixel, where 8-bit colours stand for classes")
    rgb = np.asarray(image.convert("RGB"))
    if header.format == "jpeg":
        if len(table) > 2:
            raise RecordError(NOT_A_MAP, _JPEG)
        distance = [np.square(rgb.astype(np.int32) - color).sum(axis=-1) for color in table]
        nearest: npt.NDArray[np.int64] = np.argmin(distance, axis=0)
        return nearest
    codes = _codes(table)
    order = np.argsort(codes, kind="stable")
    packed = _codes(rgb)
    places = np.minimum(np.searchsorted(codes[order], packed), len(codes) - 1)
    numbers: npt.NDArray[np.int64] = order[places]
    if (unknown := codes[numbers] != packed).any():
        remedy = "is not that of a class or segment; correct the map, or declare the colour"
        if colors == BINARY:
            remedy = "is neither black nor white, as in the first maps; make it black or white"
        raise RecordError(
            UNKNOWN_CLASS,
            f"the pixel at {_place(unknown)} has the colour {_color(rgb, unknown)}, which {remedy}",
        )
    return numbers


def _codes(colors: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Pack each colour into one number."""
    codes: npt.NDArray[np.int64] = colors.astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
    return codes


def _color(pixels: npt.NDArray[np.uint8], where: npt.NDArray[np.bool_]) -> str:
    """Format the first pixel for messages."""
    return ", ".join(map(str, pixels[tuple(np.argwhere(where)[0])].tolist()))


def _place(where: npt.NDArray[np.bool_]) -> str:
    """Format the position of the first pixel for messages."""
    row, column = np.argwhere(where)[0].tolist()
    return f"row {row}, column {column}"
