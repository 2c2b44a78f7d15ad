"""The kinds of inputs, the choice of a kind for a feature, and merging of several inputs."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import keras

from tfrecord_dataset.format.feature import Feature
from trainer.tasks.inputs.base import Input
from trainer.tasks.inputs.image import ArrayInput, ImageInput
from trainer.tasks.inputs.sequences import AudioInput, Ids, Series, Words
from trainer.tasks.inputs.tabular import Category, Date, Numbers, TextCategory, encode_together

__all__ = [
    "COLUMNS",
    "INPUTS",
    "LEADERS",
    "AudioInput",
    "ImageInput",
    "Input",
    "encode_inputs",
    "input_type",
    "is_table",
    "keras_inputs",
    "single_or_dict",
]

# Add new kinds of inputs here.
_KINDS = (
    ArrayInput,
    AudioInput,
    Category,
    Ids,
    ImageInput,
    Numbers,
    Series,
    Words,
    TextCategory,
    Date,
)
INPUTS: Mapping[str, type[Input]] = MappingProxyType({kind.kind: kind for kind in _KINDS})


def input_type(feature: Feature) -> type[Input] | None:
    """Return the kind of input for a feature (for a text, its words); None if unsupported."""
    kinds = INPUTS.values() if 0 not in feature.shape else ()
    return next((each for each in kinds if each.suits(feature)), None)


# Groups of inputs from which a task learns by default, the first in a dataset; else from a table.
LEADERS = ("image", "audio", "sequence", "text", "array")
# Groups of columns of a table, whose branches have no layers of their own.
COLUMNS = ("numbers", "category")
_HIDDEN_UNITS = 128
# First layers of a table's model, of at most so many weights together.
_MOST_FIRST_LAYERS, _MOST_WEIGHTS = 8, 1 << 20


def is_table(inputs: Mapping[str, Input]) -> bool:
    """Whether all inputs are columns of a table: numbers, dates and categories."""
    return all(each.group in COLUMNS for each in inputs.values())


def keras_inputs(inputs: Mapping[str, Input]) -> dict[str, Any]:
    """Return a Keras tensor for each input, by its name in the model."""
    return {
        name: keras.Input(each.shape, dtype=each.dtype, name=name) for name, each in inputs.items()
    }


def single_or_dict(tensors: Mapping[str, Any]) -> Any:
    """Return a model's inputs: the tensor itself if there is one, else a dict."""
    return tensors if len(tensors) > 1 else next(iter(tensors.values()))


def encode_inputs(
    inputs: Mapping[str, Input],
    tensors: Mapping[str, Any],
    of_image: Callable[[Any], Any] | None = None,
) -> Any:
    """Encode the tensors of `keras_inputs` as one vector per record, [b, units].

    `of_image` encodes images; None for their own `Input.encode`.
    """
    numbers = {name: each for name, each in inputs.items() if isinstance(each, Numbers)}
    branches = [
        of_image(tensors[name])
        if of_image and isinstance(each, ImageInput)
        else each.encode(tensors[name])
        for name, each in inputs.items()
        if name not in numbers
    ]
    if numbers:
        branches.append(encode_together([*numbers.values()], [tensors[name] for name in numbers]))
    x = branches[0] if len(branches) == 1 else keras.layers.Concatenate()(branches)
    if is_table(inputs):
        return _encode_table(x)
    if len(branches) > 1:
        for _ in range(2):
            x = keras.layers.Dense(_HIDDEN_UNITS, activation="relu")(x)
    return x


def _encode_table(x: Any) -> Any:
    """Encode a table's row by several first layers, a second layer that they share, and a mean.

    It generalises better than one first layer of as many units. The idea of models that share
    layers is that of Gorishniy et al., https://arxiv.org/abs/2410.24210.
    """
    most = _MOST_WEIGHTS // (_HIDDEN_UNITS * x.shape[-1])
    count = min(_MOST_FIRST_LAYERS, max(1, most))
    x = keras.layers.Dense(count * _HIDDEN_UNITS, activation="relu")(x)
    x = keras.layers.Reshape((count, _HIDDEN_UNITS))(x)
    x = keras.layers.Dense(_HIDDEN_UNITS, activation="relu")(x)
    return keras.layers.GlobalAveragePooling1D()(x)
