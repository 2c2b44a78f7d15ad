"""Tiny images and audio, made in memory, and their processing by the stages."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from file_bytes import exif_of, image_bytes, png_chunk, sound_bytes
from PIL import Image

from beam_pipeline.media.images import ImageOptions, InspectedImage, encode_image, inspect_image


def _pixels(size: tuple[int, int]) -> Image.Image:
    """Make a smooth image in all colours, which JPEG changes little."""
    colors = np.random.default_rng(7).integers(0, 256, (2, 3, 3), dtype=np.uint8)
    return Image.fromarray(colors).resize(size, Image.Resampling.BICUBIC)


def make_image(mode: str = "RGB", size: tuple[int, int] = (24, 16)) -> Image.Image:
    """Make an image in one of Pillow's modes."""
    image = _pixels(size)
    if mode in ("I;16", "I"):
        grey = np.asarray(image.convert("L"))
        return Image.fromarray(grey.astype(np.uint16 if mode == "I;16" else np.int32) * 257)
    image = image.convert(mode)
    if mode in ("LA", "RGBA"):
        image.putalpha(_pixels(size).convert("L"))
    return image


def encode(
    file_format: str,
    mode: str = "RGB",
    size: tuple[int, int] = (24, 16),
    orientation: int | None = None,
    animated: bool = False,
    **options: Any,
) -> bytes:
    """Encode an image, with options of `Image.save`."""
    image = make_image(mode, size)
    if orientation is not None:
        options["exif"] = exif_of(orientation)
    if animated:
        options["append_images"] = [image.transpose(Image.Transpose.ROTATE_180)]
        options["save_all"] = True
    return image_bytes(image, file_format, **options)


def store(data: bytes, options: ImageOptions | None = None) -> tuple[InspectedImage, bytes]:
    """Inspect and encode an image as the stages do, and check that TensorFlow can decode it."""
    options = options or ImageOptions()
    found = inspect_image(data, options)
    image, stored = found.image, encode_image(data, found.image, options)
    assert encode_image(data, image, options) == stored  # the same bytes each time
    size = (image.height, image.width)
    as_it_is = tf.io.decode_image(stored, expand_animations=False)
    assert as_it_is.shape == (*size, image.channels)
    decoders = {"jpeg": tf.io.decode_jpeg, "png": tf.io.decode_png, "bmp": tf.io.decode_bmp}
    assert decoders[image.format](stored, channels=3).shape == (*size, 3)
    return found, stored


def open_image(data: bytes) -> Image.Image:
    """Decode an image."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = (
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
    (0, 1, 1, 2),
)  # fmt: skip


def make_png(
    bits: int = 8,
    color_type: int = 2,
    size: tuple[int, int] = (11, 9),
    stated_size: tuple[int, int] | None = None,
    interlaced: bool = False,
    before: bytes = b"",
    end: bool = True,
    pixel_chunks: Callable[[bytes], bytes] = lambda data: png_chunk(b"IDAT", data),
) -> bytes:
    """Make a PNG of noise, perhaps with errors."""
    random = np.random.default_rng(3)
    rows = []
    for column, row, column_step, row_step in _ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns = -(-(size[0] - column) // column_step)
        if columns > 0:
            row_bytes = -(-columns * bits * _SAMPLES[color_type] // 8)
            rows += [b"\0" + random.bytes(row_bytes) for _ in range(row, size[1], row_step)]
    width, height = stated_size or size
    ihdr = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, interlaced)
    if color_type == 3:
        before += png_chunk(b"PLTE", random.bytes(3 * 2**bits))
    pixels = pixel_chunks(zlib.compress(b"".join(rows)))
    last = png_chunk(b"IEND", b"") if end else b""
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", ihdr) + before + pixels + last


def audio_file(container: str, encoding: str, channels: int = 1, num_samples: int = 2000) -> bytes:
    """Encode a tone per channel with some noise, at 8 kHz."""
    seconds = np.arange(num_samples)[:, None] / 8000
    tones = 0.4 * np.sin(2 * np.pi * (300 + 100 * np.arange(channels)) * seconds)
    noise = np.random.default_rng(0).normal(scale=0.01, size=tones.shape)
    return sound_bytes((tones + noise).astype(np.float32), container, subtype=encoding)
