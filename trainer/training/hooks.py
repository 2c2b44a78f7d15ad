"""Keras's callbacks: which hooks they override.

Hooks of batches that no callback overrides are not called, so that steps need not wait for them.
"""

from collections.abc import Sequence

import keras

TRAINING = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
EVALUATION = ("on_test_batch_begin", "on_test_batch_end")


def overrides(callbacks: Sequence[keras.callbacks.Callback], hooks: Sequence[str]) -> bool:
    """Whether a callback has one of the hooks, by its class or set on the object."""
    return any(
        getattr(hook, "__func__", hook) is not getattr(keras.callbacks.Callback, name)
        for callback in callbacks
        for name in hooks
        for hook in (getattr(callback, name),)
    )
