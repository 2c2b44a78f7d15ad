"""From the inputs of a model to one vector: a branch for each, merged."""

from collections.abc import Mapping
from typing import Any

import keras

from trainer.tasks.inputs.base import Input
from trainer.tasks.inputs.numbers import Numbers, encode_together

_HIDDEN_UNITS = 128
# Groups whose branch has no layers of its own.
_PLAIN = ("numbers", "category")


def keras_inputs(inputs: Mapping[str, Input]) -> dict[str, Any]:
    """A Keras tensor for each input, by its name in the model."""
    return {
        name: keras.Input(each.shape, dtype=each.dtype, name=name) for name, each in inputs.items()
    }


def single_or_dict(tensors: Mapping[str, Any]) -> Any:
    """What a model takes: a single tensor, or several by name."""
    return tensors if len(tensors) > 1 else next(iter(tensors.values()))


def encode(inputs: Mapping[str, Input], tensors: Mapping[str, Any]) -> Any:
    """One vector per record, [b, units], from the tensors of `keras_inputs`."""
    numbers = {name: each for name, each in inputs.items() if isinstance(each, Numbers)}
    branches = [each.encode(tensors[name]) for name, each in inputs.items() if name not in numbers]
    if numbers:
        branches.append(encode_together([*numbers.values()], [tensors[name] for name in numbers]))
    x = branches[0] if len(branches) == 1 else keras.layers.Concatenate()(branches)
    if len(branches) > 1 or next(iter(inputs.values())).group in _PLAIN:
        for _ in range(2):
            x = keras.layers.Dense(_HIDDEN_UNITS, activation="relu")(x)
    return x
