"""Headers of image files, and the checks that need no pixels."""

import math
import struct
from collections.abc import Iterator
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from tfrecord_dataset.image_size import ImageSize

# Reasons of `Rejected`, counted in metadata.json.
EMPTY = "empty file"
NOT_AN_IMAGE = "not an image"
TRUNCATED = "truncated image"
DAMAGED = "damaged image"
TOO_LARGE = "image too large"
UNSUPPORTED = "unsupported image"

# TensorFlow decodes fewer than 2^29 bytes per image: 178,956,970 pixels of RGB
# (tensorflow/core/kernels/image/decode_image_op.cc).
DECODER_MAX_PIXELS = (2**29 - 1) // 3
# The longest side that libjpeg and libpng accept; TensorFlow reads longer BMPs.
MAX_SIDE = {"jpeg": 65_500, "png": 1_000_000, "bmp": 1_000_000}

# Memory limit for decoding and encoding an image again: four bytes per pixel of the largest image.
# Raising `max_pixels` raises it.
_DECODER_PIXEL_BYTES = 4
# Memory per pixel in most formats: Pillow's four bytes, once for decoding and once for encoding.
PIXEL_BYTES = 2 * _DECODER_PIXEL_BYTES

# Tags of TIFF files, and the kind of short whole numbers.
ORIENTATION, SAMPLES_PER_PIXEL = 0x0112, 0x0115
TILE_WIDTH, TILE_LENGTH = 0x0142, 0x0143
_SHORT = 3

_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
# By kind: bytes per value, and the struct format of a whole number.
_VALUE_BYTES = dict(zip(range(1, 14), (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4), strict=True))
_NUMBERS = {1: "B", _SHORT: "H", 4: "I"}


class Header(NamedTuple):
    """Header of an image file.

    Attributes:
        format: "jpeg", "png", "gif", …: the encoding, whatever the file name.
        width, height: Pixels, as in the file, before the orientation is applied.
        mode: Pillow's name for the pixels: "L", "RGB", "CMYK", "P", "I;16", ….
        channels: Channels of the decoded image by default, 1 to 4.
        bits: Bits per sample, 16 or fewer.
        color_key: Whether one colour, or entries of the palette, are transparent.
        orientation: EXIF's 1..8; 1 is upright.
        animated: Whether there are several frames or pages.
        coefficient_bytes: Bytes per pixel that the decoder of a multi-scan JPEG keeps.
        adobe: Whether the JPEG has Adobe's marker, and thus inverted CMYK.
        icc_profile: The colour profile of a JPEG; empty if there is none.
    """

    format: str
    width: int
    height: int
    mode: str
    channels: int
    bits: int = 8
    color_key: bool = False
    orientation: int = 1
    animated: bool = False
    coefficient_bytes: float = 0
    adobe: bool = False
    icc_profile: bytes = b""

    @property
    def size(self) -> ImageSize:
        """Size in the file, before the orientation is applied."""
        return ImageSize(self.height, self.width)


def check_size(width: int, height: int, max_pixels: int) -> None:
    """Check the size in an image's header, before any pixel is decoded."""
    if width <= 0 or height <= 0:
        raise RecordError(DAMAGED, f"a size of {width}x{height} pixels")
    if width * height > max_pixels:
        raise RecordError(
            TOO_LARGE,
            f"{width}x{height} are {width * height:,} pixels, more than the {max_pixels:,} "
            "allowed; shrink the image, or raise image.max_pixels",
        )


def check_decoding(num_bytes: float, max_pixels: int) -> None:
    """Check the memory for an image's pixels before they are decoded."""
    allowed = _DECODER_PIXEL_BYTES * max(max_pixels, DECODER_MAX_PIXELS)
    if num_bytes > allowed:
        raise RecordError(
            TOO_LARGE,
            f"decoding it takes {math.ceil(num_bytes / 2**20):,} MiB of memory, "
            f"more than the {allowed >> 20:,} allowed; shrink the image, or set "
            f"image.max_pixels to {math.ceil(num_bytes / _DECODER_PIXEL_BYTES)}",
        )


def exif_orientation(exif: bytes) -> int:
    """Return the orientation in EXIF data, a TIFF structure, as 1..8; 1 if there is no valid one.

    Not read by Pillow, which parses every tag and warns about broken ones.
    """
    for entry in tiff_entries(exif.removeprefix(b"Exif\0\0")):
        if entry.tag == ORIENTATION:
            value = entry.number if entry.kind == _SHORT else None
            return value if value is not None and 1 <= value <= 8 else 1
    return 1


class TiffEntry(NamedTuple):
    """A tag, with the kind of its values.

    Attributes:
        number: The value if it is a single whole number, otherwise None.
        num_bytes: Size of the values if they do not fit into the entry, otherwise 0.
    """

    tag: int
    kind: int
    number: int | None
    num_bytes: int


def tiff_entries(tiff: bytes) -> Iterator[TiffEntry]:
    """Yield the tags of the first directory up to its end or truncation; none if not a TIFF.

    Source: TIFF 6.0, section 2.
    """
    order = _ORDERS.get(bytes(tiff[:4]))
    if order is None:
        return
    head = struct.Struct(f"{order}HHI")
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, values = head.unpack_from(tiff, entry)
            num_bytes = values * _VALUE_BYTES.get(kind, 0)
            single = None
            if values == 1 and kind in _NUMBERS:
                (single,) = struct.unpack_from(order + _NUMBERS[kind], tiff, entry + head.size)
            yield TiffEntry(tag, kind, single, num_bytes if num_bytes > 4 else 0)
    except struct.error:  # truncated
        return
