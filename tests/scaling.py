"""Images at another size, as TensorFlow's own operations make them."""

from typing import Any

import tensorflow as tf


def scaled(image: Any, size: tuple[int, int]) -> Any:
    """Float [*size, channels] of an image that becomes smaller, or larger, along both axes."""
    shrinks = image.shape[0] > size[0]
    return tf.image.resize(image, size, method="area" if shrinks else "bilinear")
