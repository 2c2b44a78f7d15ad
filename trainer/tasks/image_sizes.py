"""Image sizes for models that locate objects or classes in an image."""

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError

_USUAL_SIDE, _LARGEST_SIDE = 320, 640
# Least pixels per side for 95 % of the boxes, and for images.
_LEAST_OF_BOX, _LEAST_SIDE = 20, 160
_SMALL_BOXES = 5  # percent


def default_size(stated: ImageSize | None, step: int) -> ImageSize:
    """Return the size of a model's input for images of a `stated` size, or None if it varies.

    Images are reduced to a longer side of at most 640. Both sides are multiples of `step`.
    """
    if stated is None:
        return ImageSize(_USUAL_SIDE, _USUAL_SIDE)
    scale = min(1.0, _LARGEST_SIDE / max(stated))
    return _near([side * scale for side in stated], step)


def size_for_boxes(stated: ImageSize | None, sides: Any, step: int) -> ImageSize:
    """Return `default_size`, or a smaller one that suffices to detect boxes of these sides.

    `sides`, float [n], are the geometric means of each box's sides relative to the image's.
    """
    if not len(sides):
        return default_size(stated, step)
    small = max(float(np.percentile(sides, _SMALL_BOXES)), 1e-6)
    shape = stated or (1, 1)
    longest = _LARGEST_SIDE if stated is None else min(max(stated), _LARGEST_SIDE)
    side = min(max(_LEAST_OF_BOX / small, _LEAST_SIDE), longest)
    scale = side / max(shape)
    return _near([each * scale for each in shape], step)


def check_size(size: ImageSize, step: int) -> None:
    """Raise ConfigError unless both sides are multiples of `step`."""
    if any(side % step for side in size):
        raise ConfigError(
            f"--image-size {size} is not a multiple of {step} on both sides, which the model "
            f"needs; give {_near(size, step)}"
        )


def size_of(encoded: bytes) -> ImageSize:
    """Read the size of an encoded image from its header."""
    from PIL import Image  # most commands do not need Pillow

    with Image.open(io.BytesIO(encoded)) as image:
        return ImageSize(image.height, image.width)


def _near(sides: Iterable[float], step: int) -> ImageSize:
    return ImageSize(*(max(step, round(side / step) * step) for side in sides))
