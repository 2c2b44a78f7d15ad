"""Numbers: scalars and vectors, each column brought to mean 0 and variance 1."""

import dataclasses
import math
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from trainer.features import Feature
from trainer.tasks.inputs.input import Input, Settings, learned
from trainer.tasks.learners import Learner, Moments


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Numbers(Input):
    """A scalar, or a tensor of one axis; models take float32 [size].

    Attributes:
        name: The feature's.
        size: Numbers a record; 1 for a scalar.
        mean: By column, over the train split.
        variance: By column.
    """

    kind: ClassVar[str] = "numbers"

    name: str
    size: int
    mean: tuple[float, ...] = learned()
    variance: tuple[float, ...] = learned()

    @classmethod
    def from_feature(cls, feature: Feature, settings: Settings) -> Self:
        return cls(name=feature.name, size=math.prod(size or 1 for size in feature.shape))

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.size,)

    def learner(self) -> Learner[Self]:
        moments = Moments(self.name, self.size)
        return Learner(
            moments,
            lambda: dataclasses.replace(self, mean=moments.mean, variance=moments.variance),
        )

    def prepare(self, values: Any) -> Any:
        return tf.reshape(tf.cast(values, tf.float32), [-1, self.size])

    def encode(self, x: Any) -> Any:
        return normalization(self.mean, self.variance)(x)


def normalization(
    mean: tuple[float, ...], variance: tuple[float, ...], *, invert: bool = False
) -> keras.layers.Normalization:
    """Of the last axis; in float32 under any policy: bfloat16 takes 2020 and 2023 for one."""
    return keras.layers.Normalization(
        axis=-1, mean=list(mean), variance=list(variance), invert=invert, dtype="float32"
    )
