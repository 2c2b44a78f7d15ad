"""Maps of classes as PNG files with colors, and images with such a map on them."""

import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_dataset.image_size import ImageSize

_NUM_COLORS = 256
# Of the classes' colors over the image, on which they are drawn.
_OPACITY = 0.5
# Names of a first class that is what no other class is.
_BACKGROUND = frozenset({"background", "_background_", "unlabeled", "none", "other", "void"})


@functools.cache
def palette() -> Any:
    """The colors of PASCAL VOC's maps, by the bits of the class numbers: uint8 [256, 3].

    http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html, VOClabelcolormap.
    """
    numbers = np.arange(_NUM_COLORS)
    colors = np.zeros((_NUM_COLORS, 3), np.int64)
    for bit in range(8):
        for channel in range(3):
            colors[:, channel] |= ((numbers >> (3 * bit + channel)) & 1) << (7 - bit)
    return colors.astype(np.uint8)


def resized(classes: Any, size: ImageSize) -> Any:
    """A map [height, width] at another size, by the nearest pixel."""
    rows, columns = (
        np.minimum((np.arange(side) + 0.5) * old / side, old - 1).astype(np.int64)
        for side, old in zip(size, classes.shape, strict=True)
    )
    return classes[rows[:, None], columns]


def write_map(classes: Any, file: Path) -> None:
    """Writes a PNG whose pixels are the class numbers, shown in the colors of `palette`.

    Args:
        classes: uint8 [height, width].
        file: In a folder that exists.
    """
    from PIL import Image

    image = Image.fromarray(classes)
    image.putpalette(palette().tobytes())
    image.save(file, "PNG")


def draw_map(encoded: bytes, classes: Any, names: Sequence[str], file: Path) -> None:
    """Writes the encoded image with the colors of the classes over it, and their names.

    A first class named background, or so, is not colored.

    Args:
        encoded: The image.
        classes: uint8 [height, width], of the image's size.
        names: Of the classes.
        file: A PNG, in a folder that exists.
    """
    from PIL import Image, ImageDraw, ImageFont

    with Image.open(io.BytesIO(encoded)) as opened:
        pixels = np.asarray(opened.convert("RGB"), np.float32)
    is_shown = (classes > 0) | (names[0].lower() not in _BACKGROUND)
    opacity = _OPACITY * is_shown[..., None]
    colors = palette()[classes]
    image = Image.fromarray(np.round(pixels + opacity * (colors - pixels)).astype(np.uint8))
    canvas = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=max(10, round(min(image.size) / 35)))
    top = 0.0
    for number in np.unique(classes[is_shown]):
        place = canvas.textbbox((0, top), names[number], font=font)
        canvas.rectangle((0, top, place[2], place[3]), fill=tuple(palette()[number].tolist()))
        canvas.text((0, top), names[number], fill="white", font=font)
        top = place[3]
    image.save(file, "PNG")
