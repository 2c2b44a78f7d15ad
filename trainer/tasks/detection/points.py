"""The points of a detector's feature maps: each predicts at most one box.

FCOS: Fully Convolutional One-Stage Object Detection, https://arxiv.org/abs/1904.01355.
"""

import dataclasses
import math

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError

STRIDES = (8, 16, 32)
# A level predicts boxes whose farthest side is at most this many strides from the point; the
# last level all larger ones.
_REACH = 8.0
_USUAL_SIDE, _LARGEST_SIDE = 320, 640


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """All points of all levels, in the order of the model's outputs; p of them.

    Attributes:
        centers: float32 [p, 2]: x, y in pixels of the model's input.
        strides: float32 [p]: pixels between neighbours of the same level.
        reach: float32 [p, 2]: the least (exclusive) and largest distance in pixels from a point
            to the farthest side of its box.
        size: Of the model's input.
    """

    centers: np.ndarray
    strides: np.ndarray
    reach: np.ndarray
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
    step = STRIDES[-1]
    if any(side % step for side in size):
        near = ImageSize(*(max(step, round(side / step) * step) for side in size))
        raise ConfigError(
            f"--image-size {size} is not a multiple of {step} on both sides, which the detector "
            f"needs; give {near}"
        )
    centers, strides, reaches = [], [], []
    for stride in STRIDES:
        y, x = np.mgrid[: size.height // stride, : size.width // stride]
        level = (np.stack([x, y], axis=-1).reshape(-1, 2) + 0.5) * stride
        least = 0.0 if stride == STRIDES[0] else _REACH * stride / 2
        largest = math.inf if stride == STRIDES[-1] else _REACH * stride
        centers.append(level)
        strides.append(np.full(len(level), stride))
        reaches.append(np.tile([least, largest], (len(level), 1)))
    return Points(
        centers=np.concatenate(centers).astype(np.float32),
        strides=np.concatenate(strides).astype(np.float32),
        reach=np.concatenate(reaches).astype(np.float32),
        size=size,
    )


def default_size(stated: ImageSize | None) -> ImageSize:
    """The size of the model's input for images of a size, or of different sizes.

    Larger images are shown smaller, with a longer side of 640.
    """
    if stated is None:
        return ImageSize(_USUAL_SIDE, _USUAL_SIDE)
    scale = min(1.0, _LARGEST_SIDE / max(stated))
    step = STRIDES[-1]
    return ImageSize(*(max(step, round(side * scale / step) * step) for side in stated))
