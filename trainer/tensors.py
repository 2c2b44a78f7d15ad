"""A type name for TensorFlow's values, which are untyped, and checks of values in a graph.

Unchecked, wrong values would silently become NaN on a device.
"""

from typing import Any, TypeAlias

import tensorflow as tf

# A tf.Tensor, or a Keras tensor while a model is built.
Tensor: TypeAlias = Any


def check(holds: Tensor, *parts: Any) -> Any:
    """Return an operation that fails with `parts` in its message unless `holds`.

    `tf.debugging.Assert` adds a branch, for which deterministic runs make maps of `tf.data`
    sequential, and TensorFlow logs one line each.
    """
    return tf.raw_ops.Assert(condition=holds, data=[tf.convert_to_tensor(part) for part in parts])


def checked(values: Tensor, wrong: Tensor, message: str) -> Tensor:
    """Return `values`, but fail with `message` unless `wrong`, the invalid ones, is empty."""
    with tf.control_dependencies([check(tf.size(wrong) == 0, f"{message} Found:", wrong)]):
        return tf.identity(values)


def finite(name: str, values: Any, *, allow_missing: bool = False) -> Any:
    """Cast fractions to float32, keep whole numbers; fail if one is infinite or NaN."""
    if not values.dtype.is_floating:
        return values
    numbers = tf.cast(values, tf.float32)
    wrong = tf.math.is_inf(numbers) if allow_missing else ~tf.math.is_finite(numbers)
    message = (
        f"{name} of a record is not finite in float32, so models cannot learn from it; leave such "
        "records out of the dataset."
    )
    return checked(numbers, tf.boolean_mask(numbers, wrong), message)


def positive(name: str | None, weights: Any) -> Any:
    """Return the records' weights, float32; fail if one is negative, infinite or NaN."""
    right = tf.math.is_finite(weights) & (weights >= 0)
    message = f"{name} of a record is not a weight; give 0 (ignored in the loss) or more."
    return checked(weights, tf.boolean_mask(weights, ~right), message)
