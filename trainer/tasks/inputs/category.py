"""Class labels, and texts with few distinct values, as inputs."""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.options.train import TrainConfig
from trainer.tasks.inputs.base import Input, not_compared
from trainer.tasks.statistics import MAX_CLASSES, Largest, Statistic, Strings

_EMBEDDING = 16
_MOST_VALUES = 1_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Category(Input):
    """A class label; models take int64 [1].

    0 means no label, number + 1 a class, `num_classes` + 1 any other number.
    """

    kind: ClassVar[str] = "category"
    shape: ClassVar[tuple[int | None, ...]] = (1,)
    dtype: ClassVar[str] = "int64"

    name: str
    num_classes: int = not_compared(0)

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return feature.kind == "class_label" and not feature.shape

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name, num_classes=len(feature.classes))

    def statistic(self) -> Statistic | None:
        if self.num_classes:
            return None
        remedy = "declare it a scalar"
        return Largest(self.name, "num_classes", least=-1, limit=MAX_CLASSES, remedy=remedy)

    def stored(self, value: Any, feature: Feature, folder: Path, source: str) -> list[Any]:
        if value in feature.classes:
            return [feature.classes.index(value) + feature.label_offset]
        return Input.stored(self, value, feature, folder, source)

    def prepare(self, values: Any) -> Any:
        return tf.clip_by_value(values + 1, 0, self.num_classes + 1)[:, tf.newaxis]

    def encode(self, x: Any) -> Any:
        return _embedded(x, self.num_classes + 2)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TextCategory(Input):
    """A text with few distinct values; models take int64 [1].

    0 means any other text, number + 1 a known value.
    """

    kind: ClassVar[str] = "text_category"
    shape: ClassVar[tuple[int | None, ...]] = (1,)
    group: ClassVar[str] = "category"
    dtype: ClassVar[str] = "int64"

    name: str
    vocabulary: tuple[str, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_string = feature.kind == "scalar" and feature.dtype == "string"
        return (feature.kind == "text" and not feature.shape) or is_string

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name)

    def statistic(self) -> Statistic:
        return Strings(self.name, "vocabulary", _MOST_VALUES)

    def host_step(self) -> keras.Layer:
        return keras.layers.StringLookup(vocabulary=list(self.vocabulary))

    def prepare(self, values: Any) -> Any:
        return values[:, tf.newaxis]

    def encode(self, x: Any) -> Any:
        return _embedded(x, len(self.vocabulary) + 1)


def _embedded(x: Any, num_values: int) -> Any:
    embedding = keras.layers.Embedding(num_values, _EMBEDDING)(x)  # [b, 1, 16]
    return keras.layers.Flatten()(embedding)
