"""Maps laid over their image: a colour for each class, a scale of colours for depths."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.maps import IGNORED, read_numbers

_SHARE = 0.5  # of the colour
# Nothing is laid over what is no object.
_BACKGROUNDS = frozenset({"background", "_background_", "other", "unlabeled", "void"})
_NEAR, _FAR = np.array([255, 200, 0]), np.array([40, 0, 160])


class Shading(NamedTuple):
    """A map.

    Attributes:
        data: As stored.
        classes: Their names in order; none of a depth map.
        colors: Of each class.
    """

    data: bytes
    classes: Sequence[str]
    colors: Sequence[tuple[int, int, int]]


class Named(NamedTuple):
    """A class that a map shows: its name and colour, and a pixel of it, as fractions."""

    name: str
    color: tuple[int, int, int]
    x: float
    y: float


def shaded(image: Image.Image, shading: Shading) -> tuple[Image.Image, list[Named]]:
    """An image of RGB with a map over it, and where the names of classes belong.

    Raises:
        RecordError: The map cannot be decoded.
    """
    numbers = read_numbers(shading.data, DECODER_MAX_PIXELS)
    if numbers.dtype == np.uint8:
        number_of = [
            each
            for each in np.unique(numbers).tolist()
            if each != IGNORED and _name(shading, each) not in _BACKGROUNDS
        ]
        named = [_named(numbers, each, shading) for each in number_of]
        colors = np.zeros((256, 3))
        colors[number_of] = [each.color for each in named] or 0
        over, covers = colors[numbers], np.isin(numbers, number_of)
    else:
        named, covers = [], numbers > 0
        over = _of_depths(numbers, covers)
    size = (image.width, image.height)
    layer = Image.fromarray(over.astype(np.uint8)).resize(size, Image.Resampling.NEAREST)
    mask = Image.fromarray(np.where(covers, round(255 * _SHARE), 0).astype(np.uint8))
    image = image.copy()
    image.paste(layer, (0, 0), mask.resize(size, Image.Resampling.NEAREST))
    return image, named


def _name(shading: Shading, number: int) -> str:
    return shading.classes[number] if number < len(shading.classes) else str(number)


def _named(numbers: npt.NDArray[np.integer], number: int, shading: Shading) -> Named:
    """The pixel of a class that is nearest to the middle of all of them."""
    pixels = np.argwhere(numbers == number)
    row, column = pixels[np.square(pixels - pixels.mean(axis=0)).sum(axis=-1).argmin()]
    height, width = numbers.shape
    color = shading.colors[number % len(shading.colors)]
    return Named(_name(shading, number), color, column / width, row / height)


def _of_depths(
    numbers: npt.NDArray[np.integer], known: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Colours from the nearest to the farthest."""
    least, most = (int(numbers[known].min()), int(numbers[known].max())) if known.any() else (0, 1)
    share = ((numbers - float(least)) / max(1, most - least))[..., None].clip(0, 1)
    colors: npt.NDArray[np.float64] = _NEAR + (_FAR - _NEAR) * share
    return colors
