"""Bounding boxes as detection datasets store them: one list per side, and further lists."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import tensorflow as tf

from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import ROTATED, ROTATED_PARTS, SIDES
from trainer.parsing.columns import Rows
from trainer.parsing.object_masks import decode_masks, see_masks
from trainer.parsing.reader import (
    STORED_DTYPES,
    Decoding,
    Output,
    Reader,
    Tensors,
    check_lengths,
)
from trainer.views import View, see_boxes, see_keypoints

# By dtype, where it is not -1.
_PADDING: Mapping[tf.DType, int | bytes] = {tf.string: b"", tf.uint8: 0}


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
        prefix = _prefix(feature)
        columns: dict[str, tuple[tf.DType, tuple[int | None, ...]]] = {
            feature.name: (tf.float32, (4,))
        }
        if feature.classes:
            columns[f"{prefix}_labels"] = (tf.int64, ())
        for name, dtype in feature.attributes.items():
            columns[f"{prefix}_{name}"] = (STORED_DTYPES[dtype], ())
        if feature.keypoints:
            columns[_beside(feature, "keypoints")] = (tf.float32, (feature.keypoints, 3))
        if _has_masks(feature, decoding):
            size = decoding.image_size or (None, None)
            columns[_beside(feature, "masks")] = (tf.uint8, size)
        if _has_polygons(feature, decoding):
            columns[_beside(feature, "polygons")] = (tf.string, ())
        if _has_rotated(feature, decoding):
            columns[_beside(feature, ROTATED)] = (tf.float32, (len(ROTATED_PARTS),))
        return [
            Output(
                name=name,
                feature=feature,
                dtype=dtype,
                shape=(None, *shape),
                padding=_PADDING.get(dtype, -1),
            )
            for name, (dtype, shape) in columns.items()
        ]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        prefix = _prefix(feature)
        sides = [parsed[feature.key_beside(f"bbox/{side}")] for side in SIDES]
        outputs = {feature.name: tf.stack(sides, axis=-1)}
        if feature.classes:
            values = parsed[feature.key_beside("class/label")]
            message = f"{feature.key}/class/label of a record does not have one class per box, but:"
            one_each = tf.size(values) == tf.size(sides[0])
            with tf.control_dependencies([check_lengths(tf.size(values), one_each, message)]):
                outputs[f"{prefix}_labels"] = values - feature.label_offset
        for attribute in feature.attributes:
            outputs[f"{prefix}_{attribute}"] = parsed[feature.key_beside(attribute)]
        if feature.keypoints:
            outputs[_beside(feature, "keypoints")] = _keypoints(feature, parsed)
        if _has_masks(feature, decoding):
            encoded = parsed[feature.key_beside("mask")]
            seen_later = decoding.views is not None  # by `see`, of the boxes that are visible
            masks = encoded if seen_later else decode_masks(encoded, decoding.image_size)
            outputs[_beside(feature, "masks")] = masks
        if _has_polygons(feature, decoding):
            outputs[_beside(feature, "polygons")] = parsed[feature.key_beside("polygon")]
        if _has_rotated(feature, decoding):
            keys = [feature.key_beside(f"{ROTATED}/{part}") for part in ROTATED_PARTS]
            outputs[_beside(feature, ROTATED)] = tf.stack([parsed[key] for key in keys], axis=-1)
        return outputs

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
            visible[masks] = see_masks(view, visible[masks], decoding.image_size, decoding.views)
        return visible


def _prefix(feature: Feature) -> str:
    return "box" if feature.name == "boxes" else feature.name


def _beside(feature: Feature, what: str) -> str:
    return what if feature.name == "boxes" else f"{feature.name}_{what}"


def _has_masks(feature: Feature, decoding: Decoding) -> bool:
    return decoding.masks and "mask" in feature.geometry


def _has_polygons(feature: Feature, decoding: Decoding) -> bool:
    return decoding.views is None and "polygon" in feature.geometry


def _has_rotated(feature: Feature, decoding: Decoding) -> bool:
    return decoding.views is None and ROTATED in feature.geometry


def _keypoints(feature: Feature, parsed: Tensors) -> Any:
    columns = [parsed[feature.key_beside(f"keypoint/{name}")] for name in ("x", "y", "visibility")]
    points = tf.stack([tf.cast(column, tf.float32) for column in columns], axis=-1)
    of_each_box = tf.RaggedTensor.from_row_lengths(
        points, parsed[feature.key_beside("keypoint/num")]
    )
    return of_each_box.to_tensor(-1.0, shape=(None, feature.keypoints, 3))
