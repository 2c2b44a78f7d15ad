"""Detect image formats by magic bytes, and read formats with Pillow's plugins."""

import contextlib
import io
import re
import struct
from collections.abc import Iterator

from PIL import Image, ImageFile

from beam_pipeline.errors import RecordError
from beam_pipeline.media.header import (
    DAMAGED,
    NOT_AN_IMAGE,
    PIXEL_BYTES,
    SAMPLES_PER_PIXEL,
    TILE_LENGTH,
    TILE_WIDTH,
    TOO_LARGE,
    TRUNCATED,
    UNSUPPORTED,
    Header,
    check_decoding,
    check_size,
    exif_orientation,
    tiff_entries,
)

# Excludes formats without magic bytes (TGA, …), which accept noise, and formats that start other
# programs (EPS, WMF), which are unsafe.
_MAGIC = (
    ("jpeg", rb"\xff\xd8\xff"),
    ("png", rb"\x89PNG\r\n\x1a\n"),
    ("gif", rb"GIF8[79]a"),
    ("webp", rb"RIFF....WEBP"),
    ("tiff", rb"II[*+]\x00|MM\x00[*+]"),
    ("bmp", rb"BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00\x00\x00"),
    ("ppm", rb"P[1-6fF]\s"),
    ("jpeg2000", rb"\x00\x00\x00\x0cjP  \r\n|\xff\x4f\xff\x51"),
    ("avif", rb"....ftypavi[fs]"),
)
_MAGIC_REGEX = re.compile(
    b"|".join(b"(?P<%s>%s)" % (name.encode(), magic) for name, magic in _MAGIC), re.DOTALL
)
_CHANNELS = {"1": 1, "L": 1, "I;16": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4, "P": 3}
_PLAIN_MODES = {
    "RGBX": "RGB", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB", "PA": "RGBA", "La": "LA",
    "RGBa": "RGBA", "I;16B": "I;16", "I;16L": "I;16", "I;16N": "I;16",
}  # fmt: skip

# Measured memory per pixel while Pillow decodes an image, if more than PIXEL_BYTES.
_PIXEL_BYTES = {"avif": 16, "jpeg2000": 25, "webp": 16}
# Tags may share values, such as a resolution, but only short ones.
_SHARED_TAG_BYTES = 1 << 16
_MAX_BANDS = 4
_BIG_TIFF = (b"+\0", b"\0+")
Size = tuple[int, int]
"""(width, height) in pixels."""


def sniff(data: bytes) -> str:
    """Detect the format of `data` by its magic bytes: "jpeg", "png", "gif", ….

    Raises:
        RecordError: "not an image".
    """
    if match := _MAGIC_REGEX.match(data):
        return str(match.lastgroup)
    raise RecordError(
        NOT_AN_IMAGE,
        f"{len(data):,} bytes that begin with {data[:12]!r}; convert other formats to PNG or JPEG",
    )


def inspect(data: bytes, image_format: str, max_pixels: int) -> Header:
    """Check an image that is neither JPEG nor PNG, as `inspect_image` does; decode one frame."""
    _check_before_opening(data, image_format, max_pixels)
    image = _open(data, image_format)
    _check_size(image.size, image_format, max_pixels)
    orientation = _orientation(image, image_format)
    with _faults():  # this may read frames
        animated = bool(getattr(image, "is_animated", False))
    loaded = _load(image, image_format)
    mode = loaded.mode
    width, height = loaded.size
    if image_format == "tiff" and orientation >= 5:
        width, height = height, width  # Pillow has turned it upright
    color_key = "transparency" in image.info
    return Header(
        format=image_format,
        width=width,
        height=height,
        mode=mode,
        channels=_CHANNELS[mode] + (mode == "P" and color_key),
        bits=16 if mode == "I;16" else 8,
        color_key=color_key,
        orientation=orientation,
        animated=animated,
    )


def decode(data: bytes, image_format: str) -> Image.Image:
    """Decode the first frame of an inspected image; only a TIFF is turned upright."""
    return _load(_open(data, image_format), image_format)


def _check_before_opening(data: bytes, image_format: str, max_pixels: int) -> None:
    """Check sizes for which Pillow allocates memory when it opens an image."""
    if image_format == "webp" and (canvas := _canvas(data)):
        _check_size(canvas, image_format, max_pixels)
    elif image_format == "tiff":
        if data[2:4] in _BIG_TIFF:
            raise RecordError(UNSUPPORTED, "a BigTIFF; write it as a classic TIFF, or as PNG")
        entries = list(tiff_entries(data))
        numbers = {entry.tag: entry.number or 0 for entry in entries}
        tile = numbers.get(TILE_WIDTH, 0), numbers.get(TILE_LENGTH, 0)
        if all(tile):
            _check_size(tile, image_format, max_pixels)
        if (bands := numbers.get(SAMPLES_PER_PIXEL, 1)) > _MAX_BANDS:
            raise RecordError(
                UNSUPPORTED,
                f"it has {bands:,} bands, where an image has 1, 3 or 4; write those that you need "
                "as PNG, or all of them as a .npy array",
            )
        stated = sum(entry.num_bytes for entry in entries)
        if stated > len(data) + _SHARED_TAG_BYTES:  # Pillow would keep the values of all tags
            raise RecordError(
                DAMAGED, f"its tags state {stated:,} bytes, where the file has {len(data):,}"
            )


def _canvas(data: bytes) -> Size | None:
    """Return the size in a WebP's header; None if it is truncated.

    Source: https://developers.google.com/speed/webp/docs/riff_container.
    """
    with contextlib.suppress(struct.error):
        match data[12:16]:
            case b"VP8X":
                width, height = (int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
                return width + 1, height + 1
            case b"VP8L":
                (bits,) = struct.unpack_from("<I", data, 21)
                return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
            case b"VP8 ":
                width, height = struct.unpack_from("<HH", data, 26)
                return width & 0x3FFF, height & 0x3FFF
    return None


def _check_size(size: tuple[int, int], image_format: str, max_pixels: int) -> None:
    check_size(*size, max_pixels)
    bytes_per_pixel = _PIXEL_BYTES.get(image_format, PIXEL_BYTES)
    check_decoding(size[0] * size[1] * bytes_per_pixel, max_pixels)


def _open(data: bytes, image_format: str) -> ImageFile.ImageFile:
    """Like `Image.open` for one format, without its size limit; `check_size` has one."""
    plugin = image_format.upper()
    if plugin not in Image.OPEN:
        Image.init()
    if plugin not in Image.OPEN:
        raise RecordError(UNSUPPORTED, f"the installed Pillow is built without {plugin}")
    factory, _ = Image.OPEN[plugin]
    with _faults():
        return factory(io.BytesIO(data), b"")


def _load(image: ImageFile.ImageFile, image_format: str) -> Image.Image:
    """Load the first frame in a mode that PNG or JPEG supports, or CMYK."""
    with _faults():
        image.load()
        if image.mode == "I" and image_format in ("ppm", "png"):
            return image.convert("I;16")  # they have up to 16 bits per sample
        plain = _PLAIN_MODES.get(image.mode, image.mode)
        loaded = image if plain == image.mode else image.convert(plain)
    if loaded.mode not in _CHANNELS:
        raise RecordError(
            UNSUPPORTED,
            f"pixels of Pillow's mode {image.mode}; only 1, 8 or 16 bits per sample are supported; "
            "scale floating-point or 32-bit pixels to these",
        )
    return loaded


def _orientation(image: ImageFile.ImageFile, image_format: str) -> int:
    if image_format == "tiff":
        value = getattr(image, "tag_v2", {}).get(0x0112, 1)
        return value if value in range(1, 9) else 1
    return exif_orientation(image.info.get("exif") or b"")


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    """Turn any error of a Pillow plugin for a broken file into a RecordError."""
    try:
        yield
    except Exception as error:
        reason = DAMAGED
        if isinstance(error, EOFError) or "truncated" in str(error).lower():
            reason = TRUNCATED
        elif isinstance(error, Image.DecompressionBombError):
            reason = TOO_LARGE
        raise RecordError(reason, str(error) or type(error).__name__) from error
