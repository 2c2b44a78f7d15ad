"""TensorFlow's untyped values: a name for their type, checks in a graph, and AutoGraph.

Unchecked, wrong values would silently become NaN on a device. AutoGraph is restricted to users'
functions, which may have an `if` or a `for` over tensors: this package's own have none but the
loop over steps, and converting them took each process 5 CPU seconds.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

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


_Function = TypeVar("_Function", bound=Callable[..., Any])
_AT_FIRST = tf.__internal__.autograph.control_status_ctx()


def unconverted(function: _Function) -> _Function:
    """Exclude a function, and all it calls except `converted` functions, from AutoGraph."""
    return cast("_Function", tf.autograph.experimental.do_not_convert(function))


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a user's function that an `unconverted` function calls."""

    def call(*arguments: Any) -> Any:
        with _AT_FIRST:
            return tf.__internal__.autograph.tf_convert(function, _AT_FIRST)(*arguments)

    return call
