"""Bounding boxes as detection datasets store them: one list per side, and further lists."""

from collections.abc import Sequence
from typing import Any, ClassVar

import tensorflow as tf

from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import SIDES
from trainer.parsing.columns import Rows
from trainer.parsing.reader import (
    STORED_DTYPES,
    Decoding,
    Output,
    Reader,
    Tensors,
    check_lengths,
)
from trainer.views import View, Views, see_boxes, see_keypoints


class FlatBoxes(Rows):
    """Boxes as one list of their sides, without classes or attributes: float32 [n, 4]."""

    def see(self, feature: Feature, decoded: Tensors, views: Views, view: View) -> Tensors:
        seen, is_visible = see_boxes(views, view, decoded[feature.name])
        return {feature.name: tf.boolean_mask(seen, is_visible)}


class Boxes(Reader):
    """The boxes of an image, with their classes and attributes, if any.

    Outputs of a feature `boxes`: `boxes`, float32 [n, 4] (xmin, ymin, xmax, ymax in 0..1);
    `box_labels`, int64 [n], from 0; `box_<attribute>` [n]; `box_keypoints`, float32
    [n, points, 3] (x, y in 0..1, visibility 0, 1 or 2; -1 if a box has fewer). A feature
    with another name has outputs `<name>`, `<name>_labels` and so on.
    """

    reads_batches: ClassVar[bool] = False

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        prefix = _prefix(feature)
        columns: dict[str, tuple[tf.DType, tuple[int, ...]]] = {feature.name: (tf.float32, (4,))}
        if feature.classes:
            columns[f"{prefix}_labels"] = (tf.int64, ())
        for name, dtype in feature.attributes.items():
            columns[f"{prefix}_{name}"] = (STORED_DTYPES[dtype], ())
        if feature.keypoints:
            columns[f"{prefix}_keypoints"] = (tf.float32, (feature.keypoints, 3))
        return [
            Output(
                name=name,
                feature=feature,
                dtype=dtype,
                shape=(None, *shape),
                padding=b"" if dtype == tf.string else -1,
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
            outputs[f"{prefix}_keypoints"] = _keypoints(feature, parsed)
        return outputs

    def see(self, feature: Feature, decoded: Tensors, views: Views, view: View) -> Tensors:
        """The boxes that are visible enough, cut at the view's sides, with all that they have."""
        seen, is_visible = see_boxes(views, view, decoded[feature.name])
        shown = decoded | {feature.name: seen}
        points = f"{_prefix(feature)}_keypoints"
        if feature.keypoints:
            shown[points] = see_keypoints(view, decoded[points])
        names = [each.name for each in self.outputs(feature, Decoding())]
        return {name: tf.boolean_mask(shown[name], is_visible) for name in names}


def _prefix(feature: Feature) -> str:
    return "box" if feature.name == "boxes" else feature.name


def _keypoints(feature: Feature, parsed: Tensors) -> Any:
    columns = [parsed[feature.key_beside(f"keypoint/{name}")] for name in ("x", "y", "visibility")]
    points = tf.stack([tf.cast(column, tf.float32) for column in columns], axis=-1)
    of_each_box = tf.RaggedTensor.from_row_lengths(
        points, parsed[feature.key_beside("keypoint/num")]
    )
    return of_each_box.to_tensor(-1.0, shape=(None, feature.keypoints, 3))
