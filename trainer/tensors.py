"""Names for TensorFlow's values, which have no types of their own, and checks of them."""

from typing import Any, TypeAlias

import tensorflow as tf

# A tf.Tensor, or a tensor of Keras while a model is made.
Tensor: TypeAlias = Any


def check(holds: Tensor, *parts: Any) -> Any:
    """The operation that fails with `parts` in its message unless `holds`.

    `tf.debugging.Assert` is a branch around it: for that a deterministic run makes maps of
    `tf.data` sequential, and TensorFlow logs a line for each.
    """
    return tf.raw_ops.Assert(condition=holds, data=[tf.convert_to_tensor(each) for each in parts])
