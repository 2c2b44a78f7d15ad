"""Arranges tensors by name as a batch: a dict, or a tuple for Keras and training loops."""

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
    """Make the function from outputs by name to the elements of `Dataset.batches`.

    Raises:
        UnknownNameError: An output does not exist.
        ConfigError: No input is left, the weight is not one number per record, or a weight has no
            target.
    """
    if target is None:
        if sample_weight is not None:
            raise ConfigError(f"{sample_weight=} needs a target to weight; add target=")
        return lambda by_name: by_name
    features = {output.name: output.feature.name for output in outputs}
    targets = [target] if isinstance(target, str) else list(target)
    for name in targets:
        if name not in features:
            raise UnknownNameError("output for the target", name, features)
    if sample_weight is not None:
        _check_weight(sample_weight, targets, outputs)
    predicted = {features[name] for name in targets}
    inputs = [
        name
        for name, feature in features.items()
        if feature not in predicted and name != sample_weight
    ]
    if not inputs:
        raise ConfigError(f"{target=} leaves no input; choose more features")
    renamed = {name: name for name in targets}
    if isinstance(target, str):
        parts = [name for name, feature in features.items() if feature == target]
        renamed = _short_names(target, parts) if len(parts) > 1 else {}

    def arrange(by_name: Tensors) -> Any:
        chosen = {name: by_name[name] for name in inputs}
        elements = {short: by_name[name] for name, short in renamed.items()}
        pair = (chosen[inputs[0]] if len(inputs) == 1 else chosen, elements or by_name[targets[0]])
        if sample_weight is None:
            return pair
        return (*pair, tf.cast(by_name[sample_weight], tf.float32))

    return arrange


def _short_names(feature: str, outputs: Sequence[str]) -> dict[str, str]:
    """Name the parts of a target: `boxes` and `box_labels` become "boxes" and "labels"."""
    prefix = "box_" if feature == "boxes" else f"{feature}_"
    short = {name: name.removeprefix(prefix) for name in outputs}
    return {**short, feature: "boxes"} if feature in short else short


def _check_weight(name: str, targets: Sequence[str], outputs: Sequence[Output]) -> None:
    numbers = [
        output.name
        for output in outputs
        if output.shape == () and output.dtype in _WEIGHT_DTYPES and output.name not in targets
    ]
    if name not in numbers:
        raise UnknownNameError("number per record for sample_weight", name, numbers)
