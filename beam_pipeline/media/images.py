"""Image files: checked by `inspect_image`, stored by `encode_image`.

Rules, in this order:

1. The format is detected from the magic bytes, never from the file name.
2. JPEG and PNG are stored byte for byte, since all readers support them, including grey, palette,
   alpha, and 1, 2, 4 and 16 bits. TensorFlow's `decode_image(channels=3)` drops alpha and
   the low byte of 16 bits.
3. Every other format that Pillow reads (BMP, GIF, WebP, TIFF, …) becomes PNG, lossless in its mode:
   16-bit grey stays 16-bit; Pillow reads 16-bit colour as 8-bit. 32-bit and floating-point
   pixels are "unsupported image".
4. A CMYK or YCCK JPEG becomes an RGB JPEG (a CMYK TIFF an RGB PNG) by the plain formula that
   decoders use, respecting Adobe's inversion; its colour profile is not applied, and is dropped.
5. The first frame of an animated GIF, WebP, AVIF or PNG, or of a TIFF with several pages, becomes a
   PNG. A JPEG followed by more images (MPO) is stored unchanged.
6. An image whose EXIF orientation is not 1 is turned upright and encoded again in its format.
   XMP is ignored.
7. `max_side` and `size` resize (Lanczos), after converting palettes to colours and 1 bit to 8.
8. `format` converts. For JPEG and BMP, transparent pixels are blended
   with white. For JPEG, 16-bit values keep their high byte; only 8-bit images may become BMP. A BMP
   is always 24-bit RGB, since readers disagree on others, and has no colour profile.

An image that is otherwise encoded again keeps its colour profile and loses all other metadata. The
same Pillow always gives the same bytes. `Image.conversions` names each rule that changed
something; when it is empty the file's own bytes are stored.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from beam_pipeline import records
from beam_pipeline.errors import RecordError, naming
from beam_pipeline.files.hashed import IN_MEMORY, hashed
from beam_pipeline.media import jpeg, other_formats, pixels, png
from beam_pipeline.media.header import (
    DECODER_MAX_PIXELS,
    EMPTY,
    MAX_SIDE,
    PIXEL_BYTES,
    TOO_LARGE,
    UNSUPPORTED,
    Header,
    check_decoding,
)
from tfrecord_dataset import extras
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Group, Option, Options

FORMATS = ("keep", "jpeg", "png", "bmp")
_BMP_HEADER_BYTES = 54
_CHANNELS = {"1": 1, "L": 1, "I;16": 1, "LA": 2, "RGB": 3, "RGBA": 4}
# Typical of photographs; the size of the source does not predict it.
_JPEG_BYTES_PER_PIXEL = 0.4
_PNG_COMPRESSION = 0.5
# Width and height in a PNG's header.
_PNG_SIZE = slice(16, 24)
_LOOK_SIDE = 64  # pixels; the hash uses 32
# In grey levels; images with less deviation count as one colour, and would all look alike.
_LEAST_DEVIATION = 2.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImageOptions(Options):
    """How images are stored. No image is enlarged by `max_side`.

        >>> small = beam_pipeline.ImageOptions(max_side=512, format="jpeg")
        >>> config = beam_pipeline.BuildConfig(input="cells", output="data", image=small)

    Raises:
        ConfigError: A value is invalid, or `size` and `max_side` are both given.
    """

    max_side: Annotated[
        int | None,
        Option(
            "shrink images whose longer side exceeds this",
            flag="--image-max-side",
            metavar="PX",
            least=1,
            most=MAX_SIDE["jpeg"],
        ),
        Group("stored images"),
    ] = None
    size: Annotated[
        ImageSize | None,
        Option("stretch every image to this size", flag="--image-size", metavar="S|WxH"),
    ] = None
    format: Annotated[
        str,
        Option(
            "convert images to this format; bmp holds pixels, which need no decoding",
            flag="--image-format",
            choices=FORMATS,
        ),
    ] = "keep"
    jpeg_quality: Annotated[
        int,
        Option(
            "of JPEGs that are encoded again",
            flag="--jpeg-quality",
            metavar="Q",
            least=1,
            most=100,
        ),
    ] = 95
    depth_scale: Annotated[
        float | None,
        Option(
            "metres per unit of depth maps: 0.001 for millimetres",
            metavar="M",
            recipe_only=True,
            above=0,
        ),
    ] = None
    max_pixels: Annotated[
        int,
        Option(
            "reject larger images before they are decoded",
            least=1,
            recipe_only=True,
        ),
        Group("checks"),
    ] = DECODER_MAX_PIXELS

    def _conflicts(self) -> Iterator[str]:
        if self.size is None:
            return
        if self.max_side is not None:
            yield "image size and image max side cannot be combined; give one"
        if max(self.size) > (longest := MAX_SIDE["jpeg"]):
            yield f"image size {self.size}: give 1 to {longest} pixels a side"
        elif self.size.height * self.size.width > DECODER_MAX_PIXELS:
            yield (
                f"image size {self.size}: TensorFlow decodes up to {DECODER_MAX_PIXELS:,} pixels; "
                "give a smaller size"
            )


class InspectedImage(NamedTuple):
    """A checked image.

    Attributes:
        image: The image as it will be stored.
        source_size: Pixels in the file, before the orientation.
        orientation: EXIF's 1..8.
        num_bytes: Size of the stored image: exact if the file's own bytes are stored, else a rough
            guess.
    """

    image: records.Image
    source_size: ImageSize
    orientation: int
    num_bytes: int


def inspect_image(
    data: bytes, options: ImageOptions, file: records.FileRef = IN_MEMORY
) -> InspectedImage:
    """Check a whole image file and decide how to store it.

    TensorFlow's `decode_image` decodes an accepted image, as stored, to the stated size. It may
    still look wrong: damage that only makes libjpeg warn is accepted (`media/jpeg.py`).

    Raises:
        RecordError: "empty file", "not an image", "truncated image", "damaged image",
            "image too large" or "unsupported image".
    """
    header = _read(data, options.max_pixels)
    encoding = stored_format(header, options.format)
    upright = header.size.turned(header.orientation)
    size = _stored_size(upright, options)
    resized = size != upright
    if max(size) > MAX_SIDE[encoding] or math.prod(size) > DECODER_MAX_PIXELS:
        raise RecordError(
            TOO_LARGE,
            f"{size} pixels are more than decoders accept in a {encoding.upper()} "
            f"({MAX_SIDE[encoding]:,} per side, {DECODER_MAX_PIXELS:,} in total); shrink it",
        )
    conversions = _conversions(header, encoding, resized)
    channels = header.channels
    bits = 16 if header.bits == 16 and header.mode in ("I;16", "RGB", "RGBA") else 8
    num_bytes: float = len(data)
    if conversions:
        _check_memory(header, size, options.max_pixels)
        if header.format == "png":  # Pillow may find damage that png.inspect does not
            _decode(data, header, size)
        mode = pixels.stored_mode(header, encoding, resized)
        channels = 3 + header.color_key if mode == "P" else _CHANNELS[mode]
        bits = 16 if mode == "I;16" else 8
        area = math.prod(size)
        if encoding == "bmp":
            num_bytes = bmp_bytes(*size)
        elif header.format == encoding:
            num_bytes = len(data) * area // math.prod(upright)
        elif encoding == "jpeg":
            num_bytes = area * _JPEG_BYTES_PER_PIXEL
        else:
            num_bytes = area * channels * bits // 8 * _PNG_COMPRESSION
    image = records.Image(
        file=hashed(file, data),
        format=encoding,
        width=size.width,
        height=size.height,
        channels=channels,
        bits=bits,
        conversions=conversions,
    )
    return InspectedImage(image, header.size, header.orientation, max(1, int(num_bytes)))


def encode_image(data: bytes, image: records.Image, options: ImageOptions) -> bytes:
    """Return the bytes to store for an inspected image: `data` itself without conversions."""
    if not image.conversions:
        return data
    header = _read(data, options.max_pixels, jpeg.read_header)
    size = ImageSize(image.height, image.width)
    decoded = _decode(data, header, at_least=size.turned(header.orientation))
    resized = "resized" in image.conversions
    decoded = pixels.to_mode(decoded, pixels.stored_mode(header, image.format, resized))
    if header.format != "tiff":  # Pillow has turned a TIFF already
        decoded = pixels.upright(decoded, header.orientation)
    if (decoded.height, decoded.width) != size:
        decoded = decoded.resize((size.width, size.height), Image.Resampling.LANCZOS)
    return pixels.encode(decoded, image.format, options.jpeg_quality)


def decode_rgb(data: bytes, most_side: int | None = None) -> Image.Image:
    """Decode a stored image for display: 8-bit RGB, shrunk to `most_side`, blended with white.

    Raises:
        RecordError: `data` is not an image, is damaged, or takes too much memory.
    """
    header = _read(data, DECODER_MAX_PIXELS, jpeg.read_header)
    shrinks = most_side is not None and max(header.size) > most_side
    size = _shrunk(header.size, most_side) if most_side and shrinks else header.size
    _check_memory(header, size.turned(header.orientation), DECODER_MAX_PIXELS)
    image = _decode(data, header, at_least=size)
    grey_or_rgb = pixels.stored_mode(header, "jpeg", resized=False)
    image = pixels.to_mode(image, grey_or_rgb).convert("RGB")
    if shrinks and header.format != "tiff":
        return image.resize((size.width, size.height), Image.Resampling.LANCZOS)
    if most_side and shrinks:  # a TIFF that Pillow has turned
        image.thumbnail((most_side, most_side), Image.Resampling.LANCZOS)
    return image


def decode_pixels(data: bytes, max_pixels: int) -> tuple[Header, Image.Image]:
    """Check and decode an image file; only the pixels of a TIFF are turned upright."""
    header = _read(data, max_pixels)
    _check_memory(header, header.size.turned(header.orientation), max_pixels)
    return header, _decode(data, header, at_least=header.size)


def _check_memory(header: Header, size: ImageSize, max_pixels: int) -> None:
    """Raise RecordError if decoding an image and encoding it at `size` takes too much memory."""
    with naming(header.format.upper()):
        if header.format == "jpeg":
            jpeg.check_memory(header, size.turned(header.orientation), max_pixels)
        elif header.format == "png":  # others are decoded by now
            check_decoding(header.width * header.height * PIXEL_BYTES, max_pixels)


def _decode(data: bytes, header: Header, at_least: ImageSize) -> Image.Image:
    with naming(header.format.upper()):
        if header.format == "jpeg":
            return jpeg.decode(data, header, at_least)
        return other_formats.decode(data, header.format)


def size_in_file(data: bytes) -> ImageSize:
    """Return the size of an image before its orientation, without decoding JPEG and PNG pixels."""
    if len(data) >= _PNG_SIZE.stop and other_formats.sniff(data) == "png":
        sides = data[_PNG_SIZE]
        return ImageSize(int.from_bytes(sides[4:], "big"), int.from_bytes(sides[:4], "big"))
    return _read(data, DECODER_MAX_PIXELS, jpeg.read_header).size


def _read(
    data: bytes, max_pixels: int, read_jpeg: Callable[[bytes, int], Header] = jpeg.inspect
) -> Header:
    """Check an image, a JPEG with `read_jpeg`; its header is enough if it is decoded anyway."""
    if not data:
        raise RecordError(EMPTY, "the file has no bytes")
    image_format = other_formats.sniff(data)
    try:  # as `naming`, which takes longer
        if image_format == "jpeg":
            return read_jpeg(data, max_pixels)
        if image_format == "png":
            return png.inspect(data, max_pixels)
        return other_formats.inspect(data, image_format, max_pixels)
    except RecordError as error:
        raise RecordError(error.reason, f"{image_format.upper()}: {error.detail}") from error


def _stored_size(size: ImageSize, options: ImageOptions) -> ImageSize:
    if options.size is not None:
        return options.size
    if options.max_side is None or max(size) <= options.max_side:
        return size
    return _shrunk(size, options.max_side)


def _shrunk(size: ImageSize, most_side: int) -> ImageSize:
    scale = most_side / max(size)
    return ImageSize(*(max(1, round(side * scale)) for side in size))


def stored_format(header: Header, asked: str) -> str:
    """Return the stored format of an image, "jpeg", "png" or "bmp"; `asked` is one of FORMATS.

    Raises:
        RecordError: "unsupported image": BMP holds 8 bits a sample.
    """
    if asked == "keep":
        return "jpeg" if header.format == "jpeg" else "png"
    if asked == "bmp" and header.bits == 16:
        raise RecordError(
            UNSUPPORTED,
            f"{header.format.upper()}: 16 bits per sample, of which BMP holds 8; pass "
            "--image-format png, or jpeg, which keeps the high byte",
        )
    return asked


def bmp_bytes(height: int, width: int) -> int:
    """Bytes of a stored BMP: three bytes per pixel, rows padded to four bytes."""
    return _BMP_HEADER_BYTES + height * (-(-3 * width // 4) * 4)


def _conversions(header: Header, encoding: str, resized: bool) -> tuple[str, ...]:
    """List the reasons to encode again, then the losses."""
    reasons = []
    if header.orientation != 1:
        reasons.append("orientation")
    if header.animated:
        reasons.append("animated")
    if header.mode == "CMYK":
        reasons.append("cmyk")
    if header.format != encoding or encoding == "bmp":  # BMPs are of many kinds
        reasons.append(f"format {header.format}")
    if resized:
        reasons.append("resized")
    if reasons:
        mode = pixels.stored_mode(header, encoding, resized)
        if header.mode == "P" and mode != "P":
            reasons.append("palette")
        if (header.color_key or header.mode in ("LA", "RGBA")) and encoding != "png":
            reasons.append("alpha")
        if header.bits == 16 and mode != "I;16":
            reasons.append("16-bit")
    return tuple(reasons)


def check_imagehash() -> None:
    """Raise ConfigError if the library that hashes images is not installed."""
    extras.load("imagehash", "near-duplicates", "--near-duplicates hashes images")  # 0.4 s


def look_of(data: bytes, max_pixels: int) -> int | None:
    """Return the perceptual hash of an inspected image, by `imagehash.phash`.

    None for an image of one colour, or one that takes too much memory to decode.
    """
    import imagehash

    try:
        header, image = decode_pixels(data, max_pixels)
    except RecordError:
        return None
    grey = pixels.to_mode(image, "L")
    if header.format != "tiff":  # Pillow has turned a TIFF already
        grey = pixels.upright(grey, header.orientation)
    small = grey.resize((_LOOK_SIDE, _LOOK_SIDE), Image.Resampling.BOX)
    if np.asarray(small).std() < _LEAST_DEVIATION:
        return None
    bits: npt.NDArray[np.bool_] = imagehash.phash(small).hash
    return int.from_bytes(np.packbits(bits).tobytes(), "big")
