"""Views: random crops and flips, chosen before the image is decoded.

A view is drawn from a seed and the image's size and boxes, then applied to the image and its
mask, boxes and keypoints. The same seed gives the same view on any machine.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tensors import Tensor

# Windows to try for a record with boxes until one shows a box; then the whole image is used.
_TRIES = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """Distribution of random views.

        >>> crops = trainer.Views(area=(0.3, 1.0), mirror=True)
        >>> batches = trainer.open("data/cells").batches("train", image_size=16, views=crops)

    Attributes:
        area: Least and largest share of the image's area in the window. Above 1 the window
            is larger than the image, which is then shown smaller, on grey.
        aspect: Least and largest change of the window's aspect ratio.
        mirror: Whether to mirror half of the views left to right.
        upside_down: Whether to mirror half of the views top to bottom.
        least_box_area: Share of a box's area that must be visible to keep the box.
        letterbox: Whether to keep the image's aspect. The whole view is then the smallest window
            with the result's aspect that contains the image at its centre, on grey; other windows
            are shares of that one.

    Raises:
        ConfigError: A range is empty, or not positive.
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
        """Whether windows may exceed the image."""
        return self.letterbox or self.area[1] > 1


WHOLE = Views()  # whole images, stretched


class View(NamedTuple):
    """A view of an image.

    Attributes:
        window: float32 [4]: top, left, height, width, in pixels of the image; it may exceed the
            image; edges inside the image are between whole pixels.
        image: int32 [2]: the image's height and width.
        flips: bool [2]: whether to mirror left to right, and top to bottom.
    """

    window: Tensor
    image: Tensor
    flips: Tensor

    def on(self, image: Tensor) -> "View":
        """Return the same part of another image of size int32 [2]."""
        scale = tf.cast(image, tf.float32) / tf.cast(self.image, tf.float32)
        window = tf.round(self.window * tf.tile(scale, [2]))
        is_as_large = tf.tile(tf.equal(image, self.image), [2])
        return View(tf.where(is_as_large, self.window, window), image, self.flips)

    @property
    def shares(self) -> Tensor:
        """Return the window's xmin, ymin, xmax, ymax as shares of the image: float32 [4]."""
        top, left, height, width = tf.unstack(self.window)
        rows, columns = tf.unstack(tf.cast(self.image, tf.float32))
        return tf.stack(
            [left / columns, top / rows, (left + width) / columns, (top + height) / rows]
        )


def whole_view(image: Tensor, size: ImageSize | None = None) -> View:
    """Return the view of a whole image of size int32 [2], stretched or in a letterbox of `size`."""
    pixels = tf.cast(image, tf.float32)
    window = tf.concat([[0.0, 0.0], pixels], axis=0) if size is None else _letterbox(pixels, size)
    return View(window, image, tf.constant([False, False]))


def _letterbox(pixels: Tensor, size: ImageSize) -> Tensor:
    """Return the window that centres an image, float32 [2], on whole pixels in a result."""
    sides = tf.constant(size, tf.float32)
    shown = tf.round(pixels * tf.reduce_min(sides / pixels))
    shown = tf.clip_by_value(shown, 1.0, sides)
    before = tf.floor((sides - shown) / 2)
    per_pixel = pixels / shown
    return tf.concat([-before * per_pixel, sides * per_pixel], axis=0)


def draw_view(
    views: Views,
    seed: Tensor,
    image: Tensor,
    boxes: Tensor | None = None,
    size: ImageSize | None = None,
) -> View:
    """Draw a view of an image.

    Args:
        views: Distribution of the views.
        seed: int64 [2], for this record in this epoch.
        image: int32 [2]: the image's height and width.
        boxes: float32 [n, 4] in 0..1; the view should show at least one.
        size: (height, width) of the result, for a letterbox.
    """
    frame = whole_view(image, size if views.letterbox else None)
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
    """Make windows float32 [n, 4] from random numbers [n, 4] and the whole image's window."""
    area, aspect = (
        [math.log(least), math.log(largest / least)]
        for least, largest in (views.area, views.aspect)
    )
    # Sides as shares of the image's; area and aspect are uniform on a logarithmic scale.
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
    """Round windows to multiples of this, so that a scaled decode cuts at the same place."""
    steps = tf.cast(tf.minimum(tf.reduce_min(pixels) / 32, 8.0), tf.int32)
    return tf.gather(tf.constant([1, 1, 2, 2, 4, 4, 4, 4, 8], tf.float32), steps)


def see_boxes(views: Views, view: View, boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Move boxes to a view, cut them at its sides, and return which are visible enough.

    Returns:
        From float32 [n, 4] (xmin, ymin, xmax, ymax in 0..1 of the image): float32 [n, 4] in 0..1 of
        the view, and bool [n], all true for views of whole images.
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
    """Move keypoints to a view: float32 [n, k, 3] of x, y in 0..1, and visibility.

    Points outside the view get visibility 0; missing ones (-1) are unchanged. `flips` has each
    point's counterpart in a mirrored view, such as the right eye for the left one.
    """
    places = _see(view, points[..., :2])
    inside = tf.reduce_all((places >= 0) & (places <= 1), axis=-1)
    visibility = tf.where(inside, points[..., 2], 0.0)
    seen = tf.concat([places, visibility[..., None]], axis=-1)
    seen = tf.where(points[..., 2:] < 0, points, seen)
    if not flips:
        return seen
    is_mirrored = view.flips[0] != view.flips[1]  # both together are a rotation by 180 degrees
    order = tf.where(is_mirrored, tf.constant(flips), tf.range(len(flips)))
    return tf.gather(seen, order, axis=-2)


def _see(view: View, places: Tensor) -> Tensor:
    """Map points [..., 2] (x, y) in 0..1 of the image to 0..1 of the view."""
    # Relative to the image, so that a whole view is exact for any size.
    shares = view.window / tf.cast(tf.tile(view.image, [2]), tf.float32)
    corner, size = shares[..., 1::-1], shares[..., :1:-1]  # x first
    seen = (places - corner) / size
    return tf.where(view.flips, 1.0 - seen, seen)
