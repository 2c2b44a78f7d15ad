"""From tensors by name to a batch: a dict, or a tuple for Keras and training loops."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from trainer.errors import ConfigError, UnknownNameError
from trainer.parsing import Output, Tensors

_WEIGHT_DTYPES = (tf.int64, tf.float32)


def arranger(
    outputs: Sequence[Output],
    target: str | Sequence[str] | None,
    sample_weight: str | None,
) -> Callable[[Tensors], Any]:
    """The function from outputs by name to what `Dataset.batches` yields.

    Raises:
        UnknownNameError: No such output.
        ConfigError: No input is left, the weight is not one number per record, or there is a
            weight without a target.
    """
    if target is None:
        if sample_weight is not None:
            raise ConfigError(
                f"sample_weight={sample_weight!r} needs a target to weigh; name it by target="
            )
        return lambda by_name: by_name
    names = [output.name for output in outputs]
    targets = [target] if isinstance(target, str) else list(target)
    for name in targets:
        if name not in names:
            raise UnknownNameError("output for the target", name, names)
    if sample_weight is not None:
        _check_weight(sample_weight, targets, outputs)
    inputs = [name for name in names if name not in (*targets, sample_weight)]
    if not inputs:
        raise ConfigError(f"target={target!r} leaves no input; choose more features")

    def arrange(by_name: Tensors) -> Any:
        chosen = {name: by_name[name] for name in inputs}
        targets_by_name = (
            by_name[target]
            if isinstance(target, str)
            else {name: by_name[name] for name in targets}
        )
        pair = (chosen[inputs[0]] if len(inputs) == 1 else chosen, targets_by_name)
        if sample_weight is None:
            return pair
        return (*pair, tf.cast(by_name[sample_weight], tf.float32))

    return arrange


def _check_weight(name: str, targets: Sequence[str], outputs: Sequence[Output]) -> None:
    numbers = [
        output.name
        for output in outputs
        if output.shape == () and output.dtype in _WEIGHT_DTYPES and output.name not in targets
    ]
    if name not in numbers:
        raise UnknownNameError("number per record for sample_weight", name, numbers)
