"""The points of a detector's feature maps: each predicts at most one box.

FCOS: Fully Convolutional One-Stage Object Detection, https://arxiv.org/abs/1904.01355.
"""

import dataclasses
import math

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.image_sizes import check_size

STRIDES = (8, 16, 32)
# A level predicts boxes whose farthest side is at most this many strides from the point; the
# last level all larger ones.
_REACH = 8.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The points of one feature map: every pair of y and x, row by row.

    Attributes:
        stride: Pixels between neighbours.
        least: The distance in pixels from a point to the farthest side of its box is more.
        largest: It is at most this.
        x: float32 [columns], in pixels of the model's input.
        y: float32 [rows], likewise.
    """

    stride: int
    least: float
    largest: float
    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """All points of all levels, in the order of the model's outputs; p of them.

    Attributes:
        levels: From the finest.
        centers: float32 [p, 2]: x, y in pixels of the model's input.
        strides: float32 [p]: pixels between neighbours of the same level.
        size: Of the model's input.
    """

    levels: tuple[Level, ...]
    centers: np.ndarray
    strides: np.ndarray
    size: ImageSize

    def __len__(self) -> int:
        return len(self.strides)

    @property
    def pixels(self) -> np.ndarray:
        """float32 [4]: what xmin, ymin, xmax, ymax in 0..1 are multiplied with."""
        return np.array([self.size.width, self.size.height] * 2, np.float32)


def points_of(size: ImageSize) -> Points:
    """The points for images of a size.

    Raises:
        ConfigError: It is no multiple of the largest stride.
    """
    check_size(size, STRIDES[-1])
    levels = tuple(_level(stride, size) for stride in STRIDES)
    centers = [np.stack(np.meshgrid(level.x, level.y), axis=-1).reshape(-1, 2) for level in levels]
    strides = [
        np.full(len(of_level), level.stride, np.float32)
        for level, of_level in zip(levels, centers, strict=True)
    ]
    return Points(
        levels=levels, centers=np.concatenate(centers), strides=np.concatenate(strides), size=size
    )


def _level(stride: int, size: ImageSize) -> Level:
    return Level(
        stride=stride,
        least=0.0 if stride == STRIDES[0] else _REACH * stride / 2,
        largest=math.inf if stride == STRIDES[-1] else _REACH * stride,
        x=(np.arange(size.width // stride, dtype=np.float32) + 0.5) * stride,
        y=(np.arange(size.height // stride, dtype=np.float32) + 0.5) * stride,
    )
