"""Frames of reference in which boxes, points and outlines are stated and stored.

The frame of an annotation depends on the image size that it states:

- The upright image's size, no size, or fractions: the upright image, which annotation tools
  show.
- The size of the file before its EXIF orientation: the geometry is turned together with the
  image. (An orientation that keeps the size, or a square image, cannot be distinguished from an
  upright one.)
- Another size, in pixels: "size mismatch".

Resizing an image does not change its geometry, which is in fractions; areas in pixels are
scaled.
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
        orientation: EXIF orientation, 1 to 8, applied to the image or the stated numbers.
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
        """Return the frame of an annotation: pixels of an image of this size, or fractions.

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
        """Convert a stated point, or many coordinates, to fractions of the upright image."""
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
        """Convert stated boxes [n, 4] to fractions of the upright image."""
        one = np.stack(self.point(stated[:, 0], stated[:, 1]), axis=1)
        other = np.stack(self.point(stated[:, 2], stated[:, 3]), axis=1)
        return np.hstack((np.minimum(one, other), np.maximum(one, other)))

    def area(self, pixels: float) -> float:
        """Convert an area of the upright image to pixels as stored."""
        return float(pixels) * self.scale[0] * self.scale[1]


def rounded(x: float, y: float) -> tuple[float, float]:
    """Round a point to float32, so that storing it is lossless."""
    point: tuple[float, float] = _FLOAT32_POINT.unpack(_FLOAT32_POINT.pack(x, y))
    return point
