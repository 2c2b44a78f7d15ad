"""Numbers: scalars and vectors, each column brought to mean 0 and variance 1."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from trainer.features import Feature
from trainer.tasks.inputs.input import Input, Settings, learned
from trainer.tasks.learners import Learner, Moments

_EPSILON = 2.0**-23  # float32's


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
        return standardized(x, self.mean, self.variance)


def encode_together(inputs: Sequence[Numbers], tensors: Sequence[Any]) -> Any:
    """One vector of all: a table of 784 columns would else be 784 branches to make and to run."""
    x = keras.layers.Concatenate()(tensors) if len(tensors) > 1 else tensors[0]
    mean = [number for each in inputs for number in each.mean]
    return standardized(x, mean, [number for each in inputs for number in each.variance])


def standardized(x: Any, mean: Sequence[float], variance: Sequence[float]) -> Any:
    """The last axis brought to mean 0 and variance 1.

    In float32 under any policy: bfloat16 takes 2020 and 2023 for one. What float32 cannot tell
    apart (times in nanoseconds) stays about 0. Not by `keras.layers.Normalization`, which takes
    every deviation for at least 1e-7, and none whose square is beyond float32.
    """
    deviations = [
        max(math.sqrt(square), _EPSILON * abs(about))
        for about, square in zip(mean, variance, strict=True)
    ]
    x = keras.layers.Rescaling(1.0, offset=[-each for each in mean], dtype="float32")(x)
    return keras.layers.Rescaling([1 / each for each in deviations], dtype="float32")(x)


def in_own_unit(x: Any, mean: Sequence[float], variance: Sequence[float]) -> Any:
    """What `standardized` makes `x` of."""
    scale = [math.sqrt(each) for each in variance]
    return keras.layers.Rescaling(scale, offset=list(mean), dtype="float32")(x)
