"""Tiny images, made in memory."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from file_bytes import exif_of, image_bytes, png_chunk, sound_bytes
from PIL import Image

from beam_pipeline.media.image_options import ImageOptions
from beam_pipeline.media.images import InspectedImage, encode_image, inspect_image


def _pixels(size: tuple[int, int]) -> Image.Image:
    """A smooth image in all colours, so that JPEG changes little."""
    colors = np.random.default_rng(7).integers(0, 256, (2, 3, 3), dtype=np.uint8)
    return Image.fromarray(colors).resize(size, Image.Resampling.BICUBIC)


@pytest.fixture(scope="session")
def make_image() -> Callable[..., Image.Image]:
    """make_image(mode, size) -> an image in one of Pillow's modes."""

    def make(mode: str = "RGB", size: tuple[int, int] = (24, 16)) -> Image.Image:
        image = _pixels(size)
        if mode == "I;16":
            return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
        if mode == "I":
            return Image.fromarray(np.asarray(image.convert("L")).astype(np.int32) * 257)
        if mode in ("LA", "RGBA"):
            image = image.convert(mode)
            image.putalpha(_pixels(size).convert("L"))
            return image
        return image.convert(mode)

    return make


@pytest.fixture(scope="session")
def encode(make_image: Callable[..., Image.Image]) -> Callable[..., bytes]:
    """encode(format, mode, size, orientation=, **options of Image.save) -> the file's bytes."""

    def save(
        file_format: str,
        mode: str = "RGB",
        size: tuple[int, int] = (24, 16),
        orientation: int | None = None,
        animated: bool = False,
        **options: Any,
    ) -> bytes:
        image = make_image(mode, size)
        if orientation is not None:
            options["exif"] = exif_of(orientation)
        if animated:
            options["append_images"] = [image.transpose(Image.Transpose.ROTATE_180)]
            options["save_all"] = True
        return image_bytes(image, file_format, **options)

    return save


@pytest.fixture(scope="session")
def store() -> Callable[..., tuple[InspectedImage, bytes]]:
    """What the stages do to an image: inspect it, and later encode it, as TensorFlow decodes it."""

    def run(data: bytes, options: ImageOptions | None = None) -> tuple[InspectedImage, bytes]:
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

    return run


@pytest.fixture(scope="session")
def open_image() -> Callable[[bytes], Image.Image]:
    """The image in a file's bytes."""

    def load(data: bytes) -> Image.Image:
        image = Image.open(io.BytesIO(data))
        image.load()
        return image

    return load


_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = (
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
    (0, 1, 1, 2),
)  # fmt: skip


@pytest.fixture(scope="session")
def make_png() -> Callable[..., bytes]:
    """make_png(bits, color_type, …) -> a PNG of noise, with whatever is to be wrong about it."""

    def make(
        bits: int = 8,
        color_type: int = 2,
        size: tuple[int, int] = (11, 9),
        stated_size: tuple[int, int] | None = None,
        interlaced: bool = False,
        before: bytes = b"",
        row_filter: int = 0,
        end: bool = True,
        pixel_chunks: Callable[[bytes], bytes] = lambda data: png_chunk(b"IDAT", data),
    ) -> bytes:
        random = np.random.default_rng(3)
        rows = []
        for column, row, column_step, row_step in _ADAM7 if interlaced else ((0, 0, 1, 1),):
            columns = -(-(size[0] - column) // column_step)
            if columns > 0:
                row_bytes = -(-columns * bits * _SAMPLES[color_type] // 8)
                for _ in range(row, size[1], row_step):
                    rows.append(bytes([row_filter]) + random.bytes(row_bytes))
        width, height = stated_size or size
        ihdr = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, interlaced)
        if color_type == 3:
            before += png_chunk(b"PLTE", random.bytes(3 * 2**bits))
        return (
            b"\x89PNG\r\n\x1a\n"
            + png_chunk(b"IHDR", ihdr)
            + before
            + pixel_chunks(zlib.compress(b"".join(rows)))
            + (png_chunk(b"IEND", b"") if end else b"")
        )

    return make


def _samples(num_samples: int, channels: int, seed: int = 0) -> np.ndarray:
    """A tone a channel, with some noise: float32 [num_samples, channels]."""
    seconds = np.arange(num_samples)[:, None] / 8000
    tones = 0.4 * np.sin(2 * np.pi * (300 + 100 * np.arange(channels)) * seconds)
    noise = np.random.default_rng(seed).normal(scale=0.01, size=tones.shape)
    return (tones + noise).astype(np.float32)


@pytest.fixture(scope="session")
def audio_samples() -> Callable[..., np.ndarray]:
    """audio_samples(num_samples, channels) -> samples of 8 kHz."""
    return _samples


@pytest.fixture(scope="session")
def audio_file() -> Callable[..., bytes]:
    """audio_file(container, encoding, channels=, num_samples=) -> the file's bytes."""

    def save(
        container: str, encoding: str, channels: int = 1, num_samples: int = 2000, seed: int = 0
    ) -> bytes:

        samples = _samples(num_samples, channels, seed)
        return sound_bytes(samples, container, subtype=encoding)

    return save
