"""Bounding boxes as detection datasets store them: one list per side, and further lists."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import tensorflow as tf

from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import ROTATED, ROTATED_PARTS, SIDES
from tfrecord_dataset.image_size import ImageSize
from trainer.parsing.columns import Rows
from trainer.parsing.reader import (
    STORED_DTYPES,
    Decoding,
    Output,
    Reader,
    Tensors,
    check_lengths,
)
from trainer.tensors import Tensor
from trainer.views import View, Views, see_boxes, see_keypoints, whole
from trainer.views.pixels import see_image

# By dtype, where it is not -1.
_PADDING: Mapping[tf.DType, int | bytes] = {tf.string: b"", tf.uint8: 0}

# Its dtype, the shape for one box, and what makes it of what is parsed.
_Column = tuple[tf.DType, tuple[int | None, ...], Callable[[Tensors], Tensor]]


class FlatBoxes(Rows):
    """Boxes as one list of their sides, without classes or attributes: float32 [n, 4]."""

    def see(self, feature: Feature, decoded: Tensors, decoding: Decoding, view: View) -> Tensors:
        assert decoding.views is not None
        seen, is_visible = see_boxes(decoding.views, view, decoded[feature.name])
        return {feature.name: tf.boolean_mask(seen, is_visible)}


class Boxes(Reader):
    """The boxes of an image, with their classes and attributes, if any.

    Outputs of a feature `boxes`: `boxes`, float32 [n, 4] (xmin, ymin, xmax, ymax in 0..1);
    `box_labels`, int64 [n], from 0; `box_<attribute>` [n]; `keypoints`, float32 [n, points, 3]
    (x, y in 0..1, visibility 0, 1 or 2; -1 if a box has fewer); `masks`, uint8 [n, height, width]
    of 0 and 1, of the image's size; where no view moves them `polygons` [n], JSON texts, and
    `rotated`, float32 [n, 5] (cx, cy, w, h, angle). A
    feature with another name has outputs `<name>`, `<name>_labels`, `<name>_masks` and so on.
    """

    reads_batches: ClassVar[bool] = False

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        return [
            Output(
                name=name,
                feature=feature,
                dtype=dtype,
                shape=(None, *shape),
                padding=_PADDING.get(dtype, -1),
            )
            for name, (dtype, shape, _) in _columns(feature, decoding).items()
        ]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        columns = _columns(feature, decoding).items()
        return {name: read(parsed) for name, (_, _, read) in columns}

    def see(self, feature: Feature, decoded: Tensors, decoding: Decoding, view: View) -> Tensors:
        """The boxes that are visible enough, cut at the view's sides, with all that they have."""
        assert decoding.views is not None
        assert decoding.image_size is not None
        seen, is_visible = see_boxes(decoding.views, view, decoded[feature.name])
        shown = decoded | {feature.name: seen}
        if feature.keypoints:
            points = _beside(feature, "keypoints")
            shown[points] = see_keypoints(view, decoded[points], feature.keypoint_flips)
        names = [each.name for each in self.outputs(feature, decoding)]
        visible = {name: tf.boolean_mask(shown[name], is_visible) for name in names}
        if _has_masks(feature, decoding):
            masks = _beside(feature, "masks")
            size, views = decoding.image_size, decoding.views
            visible[masks] = decode_masks(visible[masks], size, view, views)
        return visible


def _columns(feature: Feature, decoding: Decoding) -> dict[str, _Column]:
    """Of each output, by name."""
    prefix, read = "box" if feature.name == "boxes" else feature.name, functools.partial
    sides = [f"bbox/{side}" for side in SIDES]
    columns: dict[str, _Column] = {
        feature.name: (tf.float32, (4,), read(_stacked, feature, sides)),
    }
    if feature.classes:
        columns[f"{prefix}_labels"] = tf.int64, (), read(_labels, feature)
    for name, dtype in feature.attributes.items():
        columns[f"{prefix}_{name}"] = STORED_DTYPES[dtype], (), read(_list, feature, name)
    if feature.keypoints:
        shape = (feature.keypoints, 3)
        columns[_beside(feature, "keypoints")] = tf.float32, shape, read(_keypoints, feature)
    if _has_masks(feature, decoding):
        size = decoding.image_size or (None, None)
        columns[_beside(feature, "masks")] = tf.uint8, size, read(_masks, feature, decoding)
    if decoding.views is None and "polygon" in feature.geometry:
        columns[_beside(feature, "polygons")] = tf.string, (), read(_list, feature, "polygon")
    if decoding.views is None and ROTATED in feature.geometry:
        parts = [f"{ROTATED}/{part}" for part in ROTATED_PARTS]
        five = (len(parts),)
        columns[_beside(feature, ROTATED)] = tf.float32, five, read(_stacked, feature, parts)
    return columns


def _beside(feature: Feature, what: str) -> str:
    return what if feature.name == "boxes" else f"{feature.name}_{what}"


def _has_masks(feature: Feature, decoding: Decoding) -> bool:
    return decoding.masks and "mask" in feature.geometry


def _list(feature: Feature, name: str, parsed: Tensors) -> Tensor:
    return parsed[feature.key_beside(name)]


def _stacked(feature: Feature, names: Sequence[str], parsed: Tensors) -> Tensor:
    return tf.stack([parsed[feature.key_beside(name)] for name in names], axis=-1)


def _labels(feature: Feature, parsed: Tensors) -> Tensor:
    values = parsed[feature.key_beside("class/label")]
    message = f"{feature.key}/class/label of a record does not have one class per box, but:"
    one_each = tf.size(values) == tf.size(parsed[feature.key_beside(f"bbox/{SIDES[0]}")])
    with tf.control_dependencies([check_lengths(tf.size(values), one_each, message)]):
        return values - feature.label_offset


def _keypoints(feature: Feature, parsed: Tensors) -> Tensor:
    columns = [parsed[feature.key_beside(f"keypoint/{name}")] for name in ("x", "y", "visibility")]
    points = tf.stack([tf.cast(column, tf.float32) for column in columns], axis=-1)
    of_each_box = tf.RaggedTensor.from_row_lengths(
        points, parsed[feature.key_beside("keypoint/num")]
    )
    return of_each_box.to_tensor(-1.0, shape=(None, feature.keypoints, 3))


def _masks(feature: Feature, decoding: Decoding, parsed: Tensors) -> Tensor:
    """Whole masks; in a view they are still encoded, for `see` decodes those of visible boxes."""
    encoded = parsed[feature.key_beside("mask")]
    return encoded if decoding.views is not None else decode_masks(encoded, decoding.image_size)


def decode_masks(
    encoded: Tensor, size: ImageSize | None, view: View | None = None, views: Views | None = None
) -> Tensor:
    """Masks of objects, uint8 [n, height, width] of 0 and 1.

    Args:
        encoded: PNG files, all of one size: `tf.string` [n].
        size: To which they are scaled, to the nearest pixels; None keeps their own, which is 0 by 0
            where there are none.
        view: Of their image, at the size at which it was decoded: its part of them is shown; None
            for all of them.
        views: What the view was drawn from.
    """

    def decode(png: Tensor) -> Tensor:
        mask = tf.io.decode_png(png, channels=1)
        if size is not None:
            image = tf.shape(mask)[:2]
            part = whole(image) if view is None else view.on(image)
            mask = see_image(part, mask, size, views, fill=0, nearest=True)
        return mask[..., 0]

    def decode_all() -> Tensor:
        spec = tf.TensorSpec(size or [None, None], tf.uint8)
        return tf.map_fn(decode, encoded, fn_output_signature=spec)

    if size is not None:
        return decode_all()
    return tf.cond(tf.size(encoded) > 0, decode_all, lambda: tf.zeros([0, 0, 0], tf.uint8))
