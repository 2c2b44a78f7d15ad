"""Restricts AutoGraph to users' functions, which may have an `if` or a `for` over tensors.

This package's own functions have none but the loop over steps, so they are not converted:
converting them took each process 5 CPU seconds.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import tensorflow as tf

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
