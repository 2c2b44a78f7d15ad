"""Views: the part of an image that a model sees, chosen before the image is decoded.

A view is drawn from a seed and from the image's size and boxes, then applied alike to the image,
its mask, boxes and keypoints. The same seed gives the same view, on any machine.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tensors import Tensor

# Windows tried for a record with boxes, until one shows a box; then the whole image.
_TRIES = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """How views are drawn.

        >>> crops = trainer.Views(area=(0.3, 1.0), mirror=True)
        >>> batches = trainer.open("data/cells").batches("train", image_size=16, views=crops)

    Attributes:
        area: The least and largest share of the image's area in the window. Above 1 the window
            is larger than the image, which is then shown smaller, on grey.
        aspect: The least and largest change of the window's width to height.
        mirror: Whether half of the views are mirrored left to right.
        upside_down: Whether half of the views are mirrored top to bottom.
        least_box_area: The share of a box's area that has to be visible, or the box is left out.
        letterbox: Whether the image keeps its aspect: what is seen as a whole is then the least
            window around the image that has the result's aspect, with the image in the middle of
            grey; other windows are shares of that one.

    Raises:
        ConfigError: A range is empty, or not of positive numbers.
    """

    area: tuple[float, float] = (1.0, 1.0)
    aspect: tuple[float, float] = (1.0, 1.0)
    mirror: bool = False
    upside_down: bool = False
    least_box_area: float = 0.3
    letterbox: bool = False

    def __post_init__(self) -> None:
        for name in ("area", "aspect"):
            least, largest = getattr(self, name)
            if not 0 < least <= largest < float("inf"):
                raise ConfigError(
                    f"views with {name}={getattr(self, name)} cannot be drawn; give the least and "
                    "the largest, both positive"
                )
        if not 0 <= self.least_box_area <= 1:
            raise ConfigError(
                f"least_box_area={self.least_box_area} is not a share; give a number in 0..1"
            )

    @property
    def are_whole(self) -> bool:
        """Whether every window shows the whole image."""
        return self.area == (1.0, 1.0) and self.aspect == (1.0, 1.0)

    @property
    def reach_beyond(self) -> bool:
        """Whether windows may be larger than the image."""
        return self.letterbox or self.area[1] > 1


class View(NamedTuple):
    """One view of one image.

    Attributes:
        window: float32 [4]: top, left, height, width, in pixels of the image; it may reach beyond,
            and only there it may end within a pixel.
        image: int32 [2]: the image's height and width.
        flips: bool [2]: whether the view is mirrored left to right, and top to bottom.
    """

    window: Tensor
    image: Tensor
    flips: Tensor

    def on(self, image: Tensor) -> "View":
        """The same part of another image, of this height and width: int32 [2]."""
        scale = tf.cast(image, tf.float32) / tf.cast(self.image, tf.float32)
        window = tf.round(self.window * tf.tile(scale, [2]))
        is_as_large = tf.tile(tf.equal(image, self.image), [2])
        return View(tf.where(is_as_large, self.window, window), image, self.flips)

    @property
    def shares(self) -> Tensor:
        """The window's xmin, ymin, xmax, ymax in 0..1 of the image, or beyond: float32 [4]."""
        top, left, height, width = tf.unstack(self.window)
        rows, columns = tf.unstack(tf.cast(self.image, tf.float32))
        return tf.stack(
            [left / columns, top / rows, (left + width) / columns, (top + height) / rows]
        )


def whole(image: Tensor, size: ImageSize | None = None) -> View:
    """The view of a whole image.

    Args:
        image: int32 [2]: its height and width.
        size: Of the result, for a letterbox; None where the image is stretched.
    """
    pixels = tf.cast(image, tf.float32)
    window = tf.concat([[0.0, 0.0], pixels], axis=0) if size is None else _letterbox(pixels, size)
    return View(window, image, tf.constant([False, False]))


def _letterbox(pixels: Tensor, size: ImageSize) -> Tensor:
    """The window that shows an image, float32 [2], on whole pixels in the middle of a result."""
    sides = tf.constant(size, tf.float32)
    shown = tf.round(pixels * tf.reduce_min(sides / pixels))
    shown = tf.clip_by_value(shown, 1.0, sides)
    before = tf.floor((sides - shown) / 2)
    per_pixel = pixels / shown
    return tf.concat([-before * per_pixel, sides * per_pixel], axis=0)


def draw(
    views: Views,
    seed: Tensor,
    image: Tensor,
    boxes: Tensor | None = None,
    size: ImageSize | None = None,
) -> View:
    """A view of an image.

    Args:
        views: How it is drawn.
        seed: int64 [2], of this record in this epoch.
        image: int32 [2]: the image's height and width.
        boxes: float32 [n, 4] in 0..1, of which at least one should be seen.
        size: (height, width) of the result, which decides a letterbox.
    """
    frame = whole(image, size if views.letterbox else None)
    tries = 1 if boxes is None else _TRIES
    numbers = tf.random.stateless_uniform([tries * 4 + 2], seed)
    flips = (numbers[:2] < 0.5) & tf.constant([views.mirror, views.upside_down])
    if views.are_whole:
        return frame._replace(flips=flips)
    windows = _windows(views, tf.reshape(numbers[2:], [tries, 4]), frame)
    if boxes is None:
        return View(windows[0], image, flips)
    candidates = View(windows[:, None, None], image, flips)
    _, visible = see_boxes(views, candidates, boxes)  # bool [tries, n]
    sees = tf.reduce_any(visible, axis=-1) | (tf.shape(boxes)[0] == 0)
    chosen = tf.concat([windows, frame.window[None]], axis=0)[
        tf.argmax(tf.concat([sees, [True]], axis=0))
    ]
    return View(chosen, image, flips)


def _windows(views: Views, numbers: Tensor, frame: View) -> Tensor:
    """Windows float32 [n, 4], from random numbers [n, 4] and the window of all of the image."""
    area, aspect = (
        [math.log(least), math.log(largest / least)]
        for least, largest in (views.area, views.aspect)
    )
    # Of the image's sides; the area and the aspect are uniform on a logarithmic scale.
    logarithms = (
        numbers[:, :1] * tf.constant([area[1], area[1]])
        + numbers[:, 1:2] * tf.constant([-aspect[1], aspect[1]])
        + tf.constant([area[0] - aspect[0], area[0] + aspect[0]])
    )
    sides = tf.exp(logarithms / 2)
    start, pixels = frame.window[:2], frame.window[2:]
    grid = _grid(tf.cast(frame.image, tf.float32))
    size = tf.maximum(tf.round(sides * pixels / grid), 1.0) * grid
    if views.reach_beyond:
        corner = tf.round((start + numbers[:, 2:] * (pixels - size)) / grid) * grid
    else:
        size = tf.minimum(size, pixels)
        corner = tf.floor(numbers[:, 2:] * (tf.floor((pixels - size) / grid) + 1.0)) * grid
    return tf.concat([corner, size], axis=-1)


def _grid(pixels: Tensor) -> Tensor:
    """Windows start at multiples of this, so that a scaled decode cuts where the window does."""
    steps = tf.cast(tf.minimum(tf.reduce_min(pixels) / 32, 8.0), tf.int32)
    return tf.gather(tf.constant([1, 1, 2, 2, 4, 4, 4, 4, 8], tf.float32), steps)


def see_boxes(views: Views, view: View, boxes: Tensor) -> tuple[Tensor, Tensor]:
    """The boxes of a view, cut at its sides, and which of them are visible enough.

    Args:
        views: States how much of a box has to be visible.
        view: Of the image.
        boxes: float32 [n, 4]: xmin, ymin, xmax, ymax in 0..1 of the image.

    Returns:
        float32 [n, 4] in 0..1 of the view, and bool [n]: all, where views are of whole images.
    """
    corners = _see(view, tf.reshape(boxes, [-1, 2, 2]))  # [n, 2 corners, 2]
    least, most = tf.reduce_min(corners, axis=-2), tf.reduce_max(corners, axis=-2)
    seen = tf.clip_by_value(tf.concat([least, most], axis=-1), 0.0, 1.0)
    if views.are_whole:
        return seen, tf.ones_like(seen[..., 0], tf.bool)
    area = tf.reduce_prod(most - least, axis=-1)
    visible = tf.reduce_prod(seen[..., 2:] - seen[..., :2], axis=-1)
    return seen, (visible > 0) & (visible >= views.least_box_area * area)


def see_keypoints(view: View, points: Tensor, flips: Sequence[int] = ()) -> Tensor:
    """Keypoints of a view: float32 [n, k, 3] of x, y in 0..1 of the image, and visibility.

    A point outside of the view has visibility 0; one without a place (-1) stays as it is.

    Args:
        view: Of the image.
        points: Of the image's objects.
        flips: For each point the number of the one that it is in a mirror: where the view is
            mirrored, a left eye is a right one. Without, points stay what they are.
    """
    places = _see(view, points[..., :2])
    inside = tf.reduce_all((places >= 0) & (places <= 1), axis=-1)
    visibility = tf.where(inside, points[..., 2], 0.0)
    seen = tf.concat([places, visibility[..., None]], axis=-1)
    seen = tf.where(points[..., 2:] < 0, points, seen)
    if not flips:
        return seen
    is_mirrored = view.flips[0] != view.flips[1]  # both together are half a turn
    order = tf.where(is_mirrored, tf.constant(flips), tf.range(len(flips)))
    return tf.gather(seen, order, axis=-2)


def _see(view: View, places: Tensor) -> Tensor:
    """Places [..., 2] (x, y) in 0..1 of the image, as places in 0..1 of the view."""
    # Shares of the image, so that a whole one leaves places as they are, whatever its size.
    shares = view.window / tf.cast(tf.tile(view.image, [2]), tf.float32)
    corner, size = shares[..., 1::-1], shares[..., :1:-1]  # x first
    seen = (places - corner) / size
    return tf.where(view.flips, 1.0 - seen, seen)
