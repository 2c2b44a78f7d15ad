"""The header of an image file, and the checks that need no pixels."""

import math
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.media import tiff
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
    for entry in tiff.entries(exif.removeprefix(b"Exif\0\0")):
        if entry.tag == tiff.ORIENTATION:
            value = entry.number if entry.kind == tiff.SHORT else None
            return value if value is not None and 1 <= value <= 8 else 1
    return 1
