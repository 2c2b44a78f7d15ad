"""The kinds of inputs, and the kind for each feature."""

from collections.abc import Mapping
from types import MappingProxyType

from tfrecord_dataset.format.feature import Feature
from trainer.tasks.inputs.array import Array
from trainer.tasks.inputs.audio import Audio
from trainer.tasks.inputs.category import Category
from trainer.tasks.inputs.image import Image
from trainer.tasks.inputs.input import Input
from trainer.tasks.inputs.merging import encode, keras_inputs, single_or_dict
from trainer.tasks.inputs.numbers import Numbers
from trainer.tasks.inputs.sequences import Ids, Series
from trainer.tasks.inputs.words import Words

__all__ = [
    "INPUTS",
    "Audio",
    "Image",
    "Input",
    "encode",
    "input_type",
    "keras_inputs",
    "single_or_dict",
]

# A new kind of input needs a line here.
INPUTS: Mapping[str, type[Input]] = MappingProxyType(
    {each.kind: each for each in (Array, Audio, Category, Ids, Image, Numbers, Series, Words)}
)


def input_type(feature: Feature) -> type[Input] | None:
    """The kind of input for a feature; None if models cannot take it."""
    return next((each for each in INPUTS.values() if each.suits(feature)), None)
