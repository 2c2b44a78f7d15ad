"""Frames of reference in which boxes, points and outlines are stated and stored.

The frame of an annotation:

- It states an image size that the upright image has, or none, or it is in fractions: the
  upright image, which is what annotation tools show.
- It states the size that only the file has, before the EXIF orientation: its geometry is turned
  together with the image. (An orientation that keeps the size, or a square image, cannot be
  distinguished from an upright one.)
- It states another size, in pixels: "size mismatch".

An image that is resized needs no other geometry, since fractions stay what they are; areas in
pixels are scaled.
"""

import dataclasses
import struct
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from tfrecord_dataset.image_size import ImageSize

# Reasons of `Rejected`.
SIZE_MISMATCH = "size mismatch"
IMPOSSIBLE_BOX = "impossible box"
MALFORMED = "malformed annotation"

_FLOAT32_POINT = struct.Struct("2f")

_Number = TypeVar("_Number", float, npt.NDArray[np.float64])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Turns and scales geometry into fractions of the upright image.

    Attributes:
        size: Unit of the stated numbers: the size of the image in its file, before the
            orientation; 1 by 1 for fractions.
        orientation: EXIF's, 1 to 8, by which the image or what is stated is turned.
        scale: Pixels as stored per pixel of the upright image, across and down.
    """

    size: ImageSize
    orientation: int = 1
    scale: tuple[float, float] = (1.0, 1.0)

    @property
    def upright_size(self) -> ImageSize:
        """Size after the orientation is applied."""
        return self.size.turned(self.orientation)

    @property
    def stored_size(self) -> ImageSize:
        """Size of the image as stored."""
        height, width = self.upright_size
        return ImageSize(round(height * self.scale[1]), round(width * self.scale[0]))

    def of_annotation(self, stated_size: ImageSize | None, *, relative: bool) -> "Frame":
        """The frame of an annotation's numbers: pixels of an image of that size, or fractions.

        Raises:
            RecordError: "size mismatch".
        """
        if relative:
            return Frame(size=ImageSize(1, 1), scale=self.scale)
        if stated_size in (None, self.upright_size):
            if self.orientation == 1:
                return self
            return Frame(size=self.upright_size, scale=self.scale)
        if stated_size == self.size:
            return self
        raise RecordError(
            SIZE_MISMATCH,
            f"the annotation is for an image of {stated_size} pixels, but the file has {self.size} "
            f"(EXIF orientation {self.orientation}); "
            "correct the annotation's size, or restore the image that was annotated",
        )

    def point(self, x: _Number, y: _Number) -> tuple[_Number, _Number]:
        """A stated point, or the coordinates of many, in fractions of the upright image."""
        x, y = x / self.size.width, y / self.size.height
        orientation = self.orientation
        if orientation >= 5:
            x, y = y, x
        if orientation in (2, 3, 6, 7):
            x = 1 - x
        if orientation in (3, 4, 7, 8):
            y = 1 - y
        return x, y

    def boxes(self, stated: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Stated boxes [n, 4], in fractions of the upright image."""
        one = np.stack(self.point(stated[:, 0], stated[:, 1]), axis=1)
        other = np.stack(self.point(stated[:, 2], stated[:, 3]), axis=1)
        return np.hstack((np.minimum(one, other), np.maximum(one, other)))

    def area(self, pixels: float) -> float:
        """An area of the upright image, in pixels as stored."""
        return float(pixels) * self.scale[0] * self.scale[1]


def rounded(x: float, y: float) -> tuple[float, float]:
    """A point as float32 has it, so that storing it loses nothing."""
    point: tuple[float, float] = _FLOAT32_POINT.unpack(_FLOAT32_POINT.pack(x, y))
    return point
