"""Encoded images."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import tensorflow as tf

from trainer.features import Feature
from trainer.parsing.reader import Decoding, Output, Tensors

# The operations are named after their feature, so that TensorFlow's errors name it.
DECODING = "decode_image"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]")


class Image:
    """An encoded image (JPEG, PNG, BMP, or the first frame of a GIF), decoded.

    Output: uint8 or float32 [height, width, channels]; three channels unless the shape
    declares another number.
    """

    reads_batches: ClassVar[bool] = False

    def spec(self, feature: Feature) -> Mapping[str, Any]:
        return {feature.key: tf.io.FixedLenFeature([], tf.string, feature.default)}

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        size = decoding.image_size or feature.shape[:2]
        return [
            Output(
                name=feature.name,
                feature=feature,
                dtype=tf.as_dtype(decoding.image_dtype),
                shape=(*size, feature.shape[2] or 3),
            )
        ]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        image = tf.io.decode_image(
            parsed[feature.key],
            channels=feature.shape[2] or 3,
            name=f"{DECODING}/{_NOT_IN_NAMES.sub('_', feature.name)}",
            expand_animations=False,
        )
        image = tf.ensure_shape(image, (*feature.shape[:2], feature.shape[2] or 3))
        if decoding.image_size is not None:
            image = tf.image.resize(image, decoding.image_size)
        if decoding.image_dtype == "uint8":
            image = image if image.dtype == tf.uint8 else tf.cast(tf.round(image), tf.uint8)
        else:
            image = tf.cast(image, tf.float32) / 255.0
        return {feature.name: image}
