"""Images of a report, as data URIs."""

import io
from typing import Any

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.page import data_uri
from trainer.tasks.detection.drawing import with_boxes
from trainer.tasks.figures import Overlay
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


def small(pixels: Any, overlay: Overlay | None = None, side: int = _SIDE) -> Any:
    """A small image of Pillow, with what is drawn on it.

    Args:
        pixels: uint8 [height, width, 3].
        overlay: What is drawn; in the colors of the classes, of which the first and 255 have none.
        side: The longest, in pixels.
    """
    from PIL import Image

    overlay = overlay or Overlay()
    if overlay.classes is not None:
        pixels = _overlaid(pixels, overlay.classes)
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((side, side))  # before boxes, whose lines would grow thin
    scale = (image.width, image.height) * 2
    boxes = [
        {**each, "box": [at * by for at, by in zip(each["box"], scale, strict=True)]}
        for each in overlay.boxes
    ]
    return with_boxes(image, boxes)


def picture(pixels: Any, overlay: Overlay | None = None) -> str:
    """`small` as a JPEG in a data URI."""
    output = io.BytesIO()
    small(pixels, overlay).save(output, "JPEG", quality=_QUALITY, optimize=True)
    return data_uri("image/jpeg", output.getvalue())


def _overlaid(pixels: Any, classes: Any) -> Any:
    numbers = resized(classes, ImageSize(*pixels.shape[:2]))
    is_shown = (numbers > 0) & (numbers < 255)
    mixed = pixels + _OPACITY * is_shown[..., None] * (palette()[numbers] - pixels.astype(float))
    return np.round(mixed).astype(np.uint8)
