"""Numbers: scalars and vectors, each column brought to mean 0 and variance 1.

A number that is missing (NaN) becomes the mean; where the train split misses some, a column of
0 and 1 beside tells the model of which records.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from trainer.features import Feature
from trainer.tasks.checks import finite
from trainer.tasks.inputs.input import Input, Settings, learned
from trainer.tasks.learners import EPSILON, Learner, Moments

# The least that a column is divided by: the inverse must be a number of float32.
_LEAST = 2.0**-120


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Numbers(Input):
    """A scalar, or a tensor of one axis; models take float32 [size].

    Attributes:
        name: The feature's.
        size: Numbers a record; 1 for a scalar.
        mean: By column, over the train split.
        variance: By column.
        missing: Records of the train split without the number, by column.
        is_blurred: Whether float32 cannot tell the numbers of a column apart.
    """

    kind: ClassVar[str] = "numbers"

    name: str
    size: int
    mean: tuple[float, ...] = learned()
    variance: tuple[float, ...] = learned()
    missing: tuple[int, ...] = learned()
    is_blurred: bool = learned(False)

    @classmethod
    def from_feature(cls, feature: Feature, settings: Settings) -> Self:
        return cls(name=feature.name, size=math.prod(size or 1 for size in feature.shape))

    @property
    def in_words(self) -> str:
        return f"{self.size} number(s) a record"

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.size,)

    def learner(self) -> Learner[Self]:
        moments = Moments(self.name, self.size, may_lack=True)
        return Learner(
            moments,
            lambda: dataclasses.replace(
                self,
                mean=moments.mean,
                variance=moments.variance,
                missing=moments.missing,
                is_blurred=moments.are_blurred,
            ),
        )

    def remarks(self, *, own_model: bool) -> Iterator[str]:
        if any(self.missing):
            records = f"{max(self.missing):,} records" + (" or less" if self.size > 1 else "")
            what = (
                "which the model of --model-fn has to make something of"
                if own_model
                else "where the mean stands for it, and the model is told so"
            )
            yield f"{self.name} is missing (NaN) in {records}, {what}"
        if self.is_blurred:
            yield (
                f"{self.name} holds numbers so large and so alike that float32 cannot tell them "
                "apart; store how far they are from a start nearby, or leave it out by --inputs"
            )

    def host_step(self) -> Callable[[Any], Any]:
        return lambda values: finite(self.name, values, may_lack=True)

    def prepare(self, values: Any) -> Any:
        return tf.reshape(tf.cast(values, tf.float32), [-1, self.size])

    def encode(self, x: Any) -> Any:
        return encode_together([self], [x])


def encode_together(inputs: Sequence[Numbers], tensors: Sequence[Any]) -> Any:
    """One vector of all: a table of 784 columns would else be 784 branches to make and to run."""
    x = keras.layers.Concatenate(dtype="float32")(tensors) if len(tensors) > 1 else tensors[0]
    mean = [number for each in inputs for number in each.mean]
    variance = [number for each in inputs for number in each.variance]
    missing = [count for each in inputs for count in each.missing or [0] * each.size]
    is_missing = keras.ops.isnan(x)
    x = keras.ops.where(is_missing, 0.0, standardized(x, mean, variance))
    if not any(missing):
        return x
    lacking = [column for column, count in enumerate(missing) if count]
    told = keras.ops.cast(keras.ops.take(is_missing, lacking, axis=-1), "float32")
    return keras.layers.Concatenate()([x, told])


def standardized(x: Any, mean: Sequence[float], variance: Sequence[float]) -> Any:
    """The last axis brought to mean 0 and variance 1.

    In float32 under any policy: bfloat16 takes 2020 and 2023 for one. What float32 cannot tell
    apart (times in nanoseconds) stays about 0. Not by `keras.layers.Normalization`, which takes
    every deviation for at least 1e-7, and none whose square is beyond float32.
    """
    deviations = [
        max(math.sqrt(square), EPSILON * abs(about), _LEAST)
        for about, square in zip(mean, variance, strict=True)
    ]
    x = keras.layers.Rescaling(1.0, offset=[-each for each in mean], dtype="float32")(x)
    return keras.layers.Rescaling([1 / each for each in deviations], dtype="float32")(x)


def in_own_unit(x: Any, mean: Sequence[float], variance: Sequence[float]) -> Any:
    """What `standardized` makes `x` of."""
    scale = [math.sqrt(each) for each in variance]
    return keras.layers.Rescaling(scale, offset=list(mean), dtype="float32")(x)
