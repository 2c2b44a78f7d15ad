"""Bounding boxes as in detection datasets: one list per side, and additional lists."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import SIDES, ObjectColumn, object_columns
from tfrecord_dataset.image_size import ImageSize
from trainer.parsing.batch_readers import RowsReader
from trainer.parsing.images import decode_png
from trainer.parsing.reader import (
    STORED_DTYPES,
    Decoding,
    FeatureReader,
    Output,
    Tensors,
    check_lengths,
)
from trainer.tensors import Tensor
from trainer.views import WHOLE, View, Views, see_boxes, see_keypoints, whole_view
from trainer.views.pixels import see_image

# Padding by dtype, -1 for others.
_PADDING: Mapping[tf.DType, int | bytes] = {tf.string: b"", tf.uint8: 0}


class FlatBoxesReader(RowsReader):
    """Boxes as one list of their sides, without classes or attributes: float32 [n, 4]."""

    def see(self, feature: Feature, decoded: Tensors, decoding: Decoding, view: View) -> Tensors:
        seen, is_visible = see_boxes(decoding.drawn, view, decoded[feature.name])
        return {feature.name: tf.boolean_mask(seen, is_visible)}


class BoxesReader(FeatureReader):
    """Boxes of an image, with optional classes and attributes.

    Outputs of a feature `boxes`: `boxes`, float32 [n, 4] (xmin, ymin, xmax, ymax in 0..1);
    `box_labels`, int64 [n], from 0; `box_<attribute>` [n]; `keypoints`, float32 [n, points, 3]
    (x, y in 0..1, visibility 0, 1 or 2; -1 if a box has fewer); `masks`, uint8 [n, height, width]
    of 0 and 1, of the image's size; without views also `polygons` [n], JSON texts, and `rotated`,
    float32 [n, 5] (cx, cy, w, h, angle). A feature with another name has outputs `<name>`,
    `<name>_labels`, `<name>_masks` and so on.
    """

    reads_batches: ClassVar[bool] = False

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        return [_output(feature, column, decoding) for column in _columns(feature, decoding)]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        columns = _columns(feature, decoding)
        return {column.name: _values(feature, column, parsed, decoding) for column in columns}

    def see(self, feature: Feature, decoded: Tensors, decoding: Decoding, view: View) -> Tensors:
        """Select the boxes that are visible enough with all their columns, cut at the view."""
        assert decoding.image_size is not None
        shown, is_visible = see_boxes(decoding.drawn, view, decoded[feature.name])
        visible = {}
        for column in _columns(feature, decoding):
            values = shown if column.name == feature.name else decoded[column.name]
            if column.form == "points":
                values = see_keypoints(view, values, feature.keypoint_flips)
            values = tf.boolean_mask(values, is_visible)
            if column.form == "masks":
                values = decode_masks(feature, values, decoding.image_size, view, decoding.drawn)
            visible[column.name] = values
        return visible


def _columns(feature: Feature, decoding: Decoding) -> list[ObjectColumn]:
    return [
        column
        for column in object_columns(feature)
        if (decoding.masks or column.form != "masks") and (decoding.views is None or column.moves)
    ]


def _output(feature: Feature, column: ObjectColumn, decoding: Decoding) -> Output:
    dtype = STORED_DTYPES[next(iter(column.lists.values()))]
    shape: tuple[int | None, ...] = ()
    match column.form:
        case "numbers":
            shape = (len(column.lists),)
        case "points":
            dtype, shape = tf.float32, (feature.keypoints, 3)
        case "masks":
            dtype, shape = tf.uint8, decoding.image_size or (None, None)
    return Output(column.name, feature, dtype, (None, *shape), padding=_PADDING.get(dtype, -1))


def _values(feature: Feature, column: ObjectColumn, parsed: Tensors, decoding: Decoding) -> Tensor:
    """Decode the columns of all objects; for a view `see` decodes only the visible masks."""
    first, *others = (parsed[feature.subkey(part)] for part in column.lists)
    match column.form:
        case "numbers":
            return tf.stack([first, *others], axis=-1)
        case "classes":
            one_each = tf.size(first) == tf.size(parsed[feature.subkey(f"bbox/{SIDES[0]}")])
            message = f"{feature.key}/class/label of a record does not have one class per box, but:"
            with tf.control_dependencies([check_lengths(tf.size(first), one_each, message)]):
                return first - feature.label_offset
        case "points":
            *columns, number = first, *others
            points = tf.stack([tf.cast(each, tf.float32) for each in columns], axis=-1)
            of_each_box = tf.RaggedTensor.from_row_lengths(points, number)
            return of_each_box.to_tensor(-1.0, shape=(None, feature.keypoints, 3))
        case "masks" if decoding.views is None:
            return decode_masks(feature, first, decoding.image_size)
    return first


def decode_masks(
    feature: Feature,
    encoded: Tensor,
    size: ImageSize | None,
    view: View | None = None,
    views: Views = WHOLE,
) -> Tensor:
    """Decode masks of objects, uint8 [n, height, width] of 0 and 1.

    Args:
        feature: The boxes of the objects.
        encoded: PNG files of one size: `tf.string` [n].
        size: Size to scale to, by nearest pixels; None keeps their own, 0 × 0 if there are none.
        view: View of their image, at its decoded size; None for whole masks.
        views: Distribution of the view.
    """

    def decode(png: Tensor) -> Tensor:
        mask = decode_png(feature, png, 1)
        if size is not None:
            image = tf.shape(mask)[:2]
            part = whole_view(image) if view is None else view.on(image)
            mask = see_image(part, mask, size, views, fill=0, nearest=True)
        return mask[..., 0]

    def decode_all() -> Tensor:
        spec = tf.TensorSpec(size or [None, None], tf.uint8)
        return tf.map_fn(decode, encoded, fn_output_signature=spec)

    if size is not None:
        return decode_all()
    return tf.cond(tf.size(encoded) > 0, decode_all, lambda: tf.zeros([0, 0, 0], tf.uint8))
