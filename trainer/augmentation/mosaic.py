"""Mosaics: four records of a batch side by side, of which each shows a part in the size of one.

As in YOLOv4, https://arxiv.org/abs/2004.10934. Records are taken in fours, as the order has mixed
them; each is the first in its own mosaic, and in another corner of the three others. What is drawn
depends on the seed, the step and the place in the batch alone. So the mosaics are the same for any
number of replicas and of workers.
"""

from typing import NamedTuple

import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tensors import Tensor
from trainer.views import Views, draw, see_boxes
from trainer.views.pixels import see_image

TILES = 4
# Instead of a pass, in the seeds of a batch; mixtures have another.
_NO_PASS = -2
# Of the four: from the area of one, which is then seen in its own size, to all of them.
_WINDOWS = Views(area=(1 / TILES, 1.0))
# Where each begins: x, y in 0..1 of the four.
_CORNERS = ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5))


class Mosaics(NamedTuple):
    """What is drawn for records.

    Attributes:
        is_one: bool [b]: whether a mosaic takes the record's place.
        seed: int64 [b, 2]: of the part that is seen.
    """

    is_one: Tensor
    seed: Tensor


class Placed(NamedTuple):
    """The boxes of a batch in its mosaics; m is the most of a record.

    Attributes:
        boxes: float32 [b, m, 4] in 0..1 of what is seen, cut at its sides; padded with -1.
        origin: int32 [b, m]: which box of the batch it was, of [b * n]; -1 for padding.
    """

    boxes: Tensor
    origin: Tensor

    def of(self, values: Tensor, padding: int | bool) -> Tensor:
        """What the batch's boxes have, [b, n], for these: [b, m]."""
        found = tf.gather(tf.reshape(values, [-1]), tf.maximum(self.origin, 0))
        return tf.where(self.origin >= 0, found, tf.constant(padding, values.dtype))


def draw_mosaics(share: float, seed: int, step: Tensor, batch_size: int) -> Mosaics:
    """The mosaics of the global batch of a step.

    Args:
        share: Of the records.
        seed: Of the run.
        step: A scalar integer.
        batch_size: Of the global batch.
    """
    fold_in = tf.random.experimental.stateless_fold_in
    of_step = fold_in(tf.constant([seed, _NO_PASS], tf.int64), tf.cast(step, tf.int64))
    seeds = tf.random.stateless_uniform(
        [batch_size, 2], fold_in(of_step, 1), minval=None, maxval=None, dtype=tf.int64
    )
    return Mosaics(tf.random.stateless_uniform([batch_size], of_step) < share, seeds)


def put_together(
    mosaics: Mosaics, images: Tensor, boxes: Tensor, is_box: Tensor, most: int | None = None
) -> tuple[Tensor, Placed]:
    """Mosaics in the place of the records for which they are drawn.

    Args:
        mosaics: Of these records.
        images: uint8 or uint16 [b, height, width, channels]; whole fours.
        boxes: float32 [b, n, 4]: xmin, ymin, xmax, ymax in 0..1.
        is_box: bool [b, n]: False for padding.
        most: Boxes to which records are padded or cut; None for the most in the batch.

    Returns:
        The images as they were given, and the boxes of which enough is seen.
    """
    size = ImageSize(*images.shape[1:3])
    numbers = tf.reshape(tf.range(tf.size(is_box)), tf.shape(is_box))

    def of_four(place: Tensor, seed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        tiles = place - place % TILES + (place + tf.range(TILES)) % TILES
        first, second, third, fourth = tf.unstack(tf.gather(images, tiles), num=TILES)
        rows = [tf.concat(row, axis=1) for row in ((first, second), (third, fourth))]
        placed = tf.gather(boxes, tiles) / 2 + tf.tile(tf.constant(_CORNERS), [1, 2])[:, None]
        known = tf.gather(is_box, tiles)
        placed, origin = (tf.boolean_mask(of, known) for of in (placed, tf.gather(numbers, tiles)))
        sides = tf.constant([2 * size.height, 2 * size.width])
        view = draw(_WINDOWS, seed, sides, placed)
        seen, is_visible = see_boxes(_WINDOWS, view, placed)
        image = see_image(view, tf.concat(rows, axis=0), size, _WINDOWS)
        return image, tf.boolean_mask(seen, is_visible), tf.boolean_mask(origin, is_visible)

    def record(place: Tensor, is_one: Tensor, seed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        own = is_box[place]
        image, placed, origin = tf.cond(
            is_one,
            lambda: of_four(place, seed),
            lambda: (
                images[place],
                tf.boolean_mask(boxes[place], own),
                tf.boolean_mask(numbers[place], own),
            ),
        )
        return image, placed, origin

    spec = (
        tf.TensorSpec(images.shape[1:], images.dtype),
        tf.RaggedTensorSpec([None, 4], tf.float32, ragged_rank=0),
        tf.RaggedTensorSpec([None], tf.int32, ragged_rank=0),
    )
    places = tf.range(tf.shape(images)[0])
    images, placed, origin = tf.map_fn(
        lambda each: record(*each), (places, *mosaics), fn_output_signature=spec
    )
    return images, Placed(
        placed.to_tensor(-1.0, shape=[None, most, 4]), origin.to_tensor(-1, shape=[None, most])
    )
