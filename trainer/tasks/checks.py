"""Checks of batches in the input pipeline: on a device, wrong values become NaN without a word."""

from typing import Any

import tensorflow as tf


def none_of(wrong: Any, message: str) -> Any:
    """The operation that fails with `message` where there are any of `wrong`."""
    return tf.debugging.Assert(tf.size(wrong) == 0, [f"{message} There is:", wrong])


def finite(name: str, values: Any, *, may_lack: bool = False) -> Any:
    """Fractions as float32, whole numbers as they are; fails where one is infinite, or NaN.

    Args:
        name: Of the feature.
        values: Numbers of any shape and dtype.
        may_lack: Whether NaN is let pass: a number that is missing.
    """
    if not values.dtype.is_floating:
        return values
    numbers = tf.cast(values, tf.float32)
    wrong = tf.math.is_inf(numbers) if may_lack else ~tf.math.is_finite(numbers)
    message = (
        f"{name} of a record is not finite in float32, which no model learns from; leave such "
        "records out of the dataset."
    )
    with tf.control_dependencies([none_of(tf.boolean_mask(numbers, wrong), message)]):
        return tf.identity(numbers)


def positive(name: str | None, weights: Any) -> Any:
    """Weights of records, float32; fails where one is negative, infinite or NaN."""
    right = tf.math.is_finite(weights) & (weights >= 0)
    message = f"{name} of a record is no weight; give 0 (no part in the loss) or more."
    with tf.control_dependencies([none_of(tf.boolean_mask(weights, ~right), message)]):
        return tf.identity(weights)
