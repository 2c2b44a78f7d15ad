"""A small model from sequences of any length to one vector: masked convolutions over time.

Unlike a recurrent layer, convolutions run in parallel over time and
give equal results on every device. Padding does not change results: it is 0 before
each convolution, and the mean and the maximum over time ignore it.
"""

from typing import Any

import keras
from keras import ops

_WIDTH = 96
_WIDTH_OF_SERIES = 64
_KERNEL = 5
_DEPTH = 3
_EMBEDDING = 64


def encode(x: Any, mask: Any, *, is_series: bool = False) -> Any:
    """Encode each sequence as a vector of 192 numbers, or 128 for a series.

    Args:
        x: [b, time, size].
        mask: bool [b, time]; False for padding.
        is_series: Whether trends and waves over the whole sequence matter. If so, convolutions
            are dilated by 1, 2, 4 and 8, and see 61 steps and each step's relative position.
    """
    # Add a step of padding: the maximum over a batch of empty sequences needs one.
    x = ops.pad(x, [[0, 0], [0, 1], [0, 0]])
    weights = ops.expand_dims(ops.pad(ops.cast(mask, "float32"), [[0, 0], [0, 1]]), -1)
    x = keras.layers.Multiply()([x, weights])
    steps = ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0)  # 1 for empty sequences
    if is_series:
        place = weights * (2 * ops.cumsum(weights, axis=1) / steps - 1)
        x = keras.layers.Concatenate()([x, ops.cast(place, x.dtype)])
    width = _WIDTH_OF_SERIES if is_series else _WIDTH
    for number in range(_DEPTH + is_series):
        dilation = 2**number if is_series else 1
        y = keras.layers.Conv1D(
            width, _KERNEL, padding="same", dilation_rate=dilation, use_bias=False
        )(x)
        y = keras.layers.LayerNormalization()(y)  # per step, so padding does not matter
        y = keras.layers.ReLU()(y)
        y = keras.layers.Multiply()([y, weights])
        x = keras.layers.Add()([x, y]) if number else y
    x = ops.cast(x, "float32")
    mean = ops.sum(x, axis=1) / ops.squeeze(steps, -1)
    return keras.layers.Concatenate()([mean, ops.max(x, axis=1)])


def encode_tokens(tokens: Any, num_tokens: int) -> Any:
    """Encode sequences, int64 [b, time]: 0 is padding, all numbers are below `num_tokens`."""
    x = keras.layers.Embedding(num_tokens, _EMBEDDING)(tokens)
    return encode(x, ops.not_equal(tokens, 0))


def before_last_zeros(x: Any) -> Any:
    """Return the mask of [b, time, size]: bool [b, time], False for zeros at the end."""
    not_zero = ops.cast(ops.any(ops.not_equal(x, 0), axis=-1), "int32")
    return ops.greater(ops.flip(ops.cumsum(ops.flip(not_zero, axis=1), axis=1), axis=1), 0)
