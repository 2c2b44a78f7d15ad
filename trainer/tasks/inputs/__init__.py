"""The kinds of inputs, and the kind for each feature."""

from collections.abc import Mapping
from types import MappingProxyType

from tfrecord_dataset.format.feature import Feature
from trainer.tasks.inputs.array import Array
from trainer.tasks.inputs.audio import Audio
from trainer.tasks.inputs.base import Input
from trainer.tasks.inputs.category import Category, TextCategory
from trainer.tasks.inputs.image import Image
from trainer.tasks.inputs.merging import encode, keras_inputs, single_or_dict
from trainer.tasks.inputs.numbers import Date, Numbers
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
_KINDS = (Array, Audio, Category, Ids, Image, Numbers, Series, Words, TextCategory, Date)
INPUTS: Mapping[str, type[Input]] = MappingProxyType({each.kind: each for each in _KINDS})


def input_type(feature: Feature) -> type[Input] | None:
    """The kind of input for a feature, of a text its words; None if models cannot take it."""
    return next((each for each in INPUTS.values() if each.suits(feature)), None)
