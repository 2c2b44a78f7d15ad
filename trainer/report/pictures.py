"""Images of a report, as data URIs."""

import io
from typing import Any

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.page import data_uri
from trainer.tasks.segmentation.drawing import palette, resized

_SIDE = 320  # pixels
_QUALITY = 75
_OPACITY = 0.5


def opened(encoded: bytes) -> Any:
    """An encoded image of any kind, as uint8 [height, width, 3]."""
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(encoded)) as file:
        image: Image.Image = file
        if image.mode.startswith("I"):  # 16 bits
            values = np.asarray(image, np.float64)
            image = Image.fromarray((values / max(1.0, values.max()) * 255).astype(np.uint8))
        return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))


def of_pixels(pixels: Any) -> Any:
    """What the model takes of an image [height, width, channels], uint8, in three channels."""
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = ((pixels - low) / max(high - low, 1e-9) * 255).astype(np.uint8)
    return np.repeat(pixels[..., :1], 3, axis=-1) if pixels.shape[-1] < 3 else pixels[..., :3]


def picture(pixels: Any) -> str:
    """A small JPEG as a data URI, of uint8 [height, width, 3]."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((_SIDE, _SIDE))
    output = io.BytesIO()
    image.save(output, "JPEG", quality=_QUALITY, optimize=True)
    return data_uri("image/jpeg", output.getvalue())


def overlaid(pixels: Any, classes: Any) -> Any:
    """An image with the colors of its classes over it; the first class and 255 stay as they are.

    Args:
        pixels: uint8 [height, width, 3].
        classes: uint8, of any size.
    """
    size = ImageSize(*pixels.shape[:2])
    numbers = resized(classes, size)
    is_shown = (numbers > 0) & (numbers < 255)
    mixed = pixels + _OPACITY * is_shown[..., None] * (palette()[numbers] - pixels.astype(float))
    return np.round(mixed).astype(np.uint8)
