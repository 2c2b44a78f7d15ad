"""Which functions AutoGraph makes graphs of: the user's, with an `if` or a `for` over tensors.

This package's own have none but the loop over steps, so they are traced as they are: converting
them took each process 5 CPU seconds.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import tensorflow as tf

_Function = TypeVar("_Function", bound=Callable[..., Any])
_AT_FIRST = tf.__internal__.autograph.control_status_ctx()


def unconverted(function: _Function) -> _Function:
    """A function of this package; nor is what it calls, but for what is `converted`."""
    return cast("_Function", tf.autograph.experimental.do_not_convert(function))


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function, for where an `unconverted` one calls it."""

    def call(*arguments: Any) -> Any:
        with _AT_FIRST:
            return tf.__internal__.autograph.tf_convert(function, _AT_FIRST)(*arguments)

    return call
