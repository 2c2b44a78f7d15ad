"""Sequences of ids or numbers as inputs."""

import dataclasses
import math
from typing import Any, ClassVar, Self

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.options.train import TrainConfig
from trainer.tasks import sequence_models
from trainer.tasks.inputs.base import STRINGS, VaryingInput, not_compared
from trainer.tasks.inputs.numbers import Measured, standardize
from trainer.tasks.statistics import Largest, Statistic

_MAX_IDS = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ids(VaryingInput):
    """A sequence of ids, integers from 0; the train split's are below `num_ids`.

    Models take int64 [length]: 0 is padding, id + 1 a known id, `num_ids` + 1 any other id.
    """

    kind: ClassVar[str] = "ids"
    group: ClassVar[str] = "sequence"
    dtype: ClassVar[str] = "int64"
    padding: ClassVar[int] = -1

    name: str
    length: int | None = None
    num_ids: int = not_compared(0)

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_list = feature.kind == "sequence" and len(feature.shape) == 1
        return is_list and feature.dtype == "int64"

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name, length=options.pad.get(feature.name))

    @property
    def num_tokens(self) -> int:
        """Number of tokens: padding, the ids, and any other id."""
        return self.num_ids + 2

    def statistic(self) -> Statistic:
        remedy = "number the ids again without gaps"
        return Largest(self.name, "num_ids", limit=_MAX_IDS, remedy=remedy)

    def prepare(self, values: Any) -> Any:
        return tf.clip_by_value(tf.cast(values, tf.int64), -1, self.num_ids) + 1

    def encode(self, x: Any) -> Any:
        return sequence_models.encode_tokens(x, self.num_tokens)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Series(VaryingInput, Measured):
    """A sequence of numbers, or of rows of `size` numbers; models take float32 [length, size].

    Zeros at the end count as padding. `mean` and `variance` are those of the train split by column.
    """

    kind: ClassVar[str] = "series"
    group: ClassVar[str] = "sequence"
    padding: ClassVar[int] = 0

    name: str
    size: int
    length: int | None = None
    mean: tuple[float, ...] = not_compared()
    variance: tuple[float, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        are_numbers = feature.kind == "sequence" and feature.dtype not in STRINGS
        return are_numbers and not Ids.suits(feature)

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(
            name=feature.name,
            size=math.prod(size or 1 for size in feature.shape[1:]),
            length=options.pad.get(feature.name),
        )

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.length, self.size)

    def prepare(self, values: Any) -> Any:
        batch, length = tf.shape(values)[0], tf.shape(values)[1]
        return tf.reshape(tf.cast(values, tf.float32), [batch, length, self.size])

    def encode(self, x: Any) -> Any:
        mask = sequence_models.before_last_zeros(x)
        return sequence_models.encode(
            standardize(x, self.mean, self.variance), mask, is_series=True
        )
