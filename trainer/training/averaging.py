"""The moving average of the weights (EMA) in their place."""

import contextlib
from collections.abc import Iterator

import keras

from trainer.training.optimizers import inner_optimizer


@contextlib.contextmanager
def averaged(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """The optimizer's model with the averaged weights, if it keeps some; afterwards as before."""
    optimizer = inner_optimizer(optimizer)
    if not optimizer.use_ema:
        yield
        return
    variables = optimizer._trainable_variables  # all, also while some of the model are frozen
    weights = [variable.numpy() for variable in variables]
    optimizer._overwrite_model_variables_with_average_value(variables)
    try:
        yield
    finally:
        for variable, value in zip(variables, weights, strict=True):
            variable.assign(value)
