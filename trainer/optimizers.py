"""Keras's optimizers, with clipping after the sum over replicas, as data parallelism needs."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from trainer.errors import ConfigError, UnknownNameError

OPTIMIZERS: Mapping[str, type[keras.optimizers.Optimizer]] = {
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.AdamW,
    "sgd": keras.optimizers.SGD,
}


class SumThenClip:
    """A mixin for optimizers: sums gradients over the replicas, then clips their global norm.

    Keras's own `clipnorm` and `global_clipnorm` silently clip each replica's part before the
    sum, so training depends on the number of replicas (weights differ by 1e-2).
    """

    max_norm: float

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> list[tuple[Any, Any]]:
        summed = super()._all_reduce_sum_gradients(grads_and_vars)  # type: ignore[misc]
        gradients, variables = zip(*summed, strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, self.max_norm)
        return list(zip(clipped, variables, strict=True))


def create_optimizer(
    name: str, learning_rate: float, clip_norm: float | None = None
) -> keras.optimizers.Optimizer:
    """The optimizer `name`: adam, adamw or sgd (with momentum 0.9).

    Args:
        name: A key of `OPTIMIZERS`.
        learning_rate: Constant.
        clip_norm: The largest global norm of the summed gradients; None for no limit.

    Raises:
        UnknownNameError: No such optimizer.
        ConfigError: `clip_norm` is not positive.
    """
    if name not in OPTIMIZERS:
        raise UnknownNameError("optimizer", name, OPTIMIZERS)
    base = OPTIMIZERS[name]
    settings = {"momentum": 0.9} if name == "sgd" else {}
    if clip_norm is None:
        return base(learning_rate=learning_rate, **settings)
    if clip_norm <= 0:
        raise ConfigError(f"--clip-norm {clip_norm} is not positive; give a norm such as 1.0")
    clipping = type(base.__name__, (SumThenClip, base), {"max_norm": clip_norm})
    return clipping(learning_rate=learning_rate, **settings)
