"""Arrays with two or three axes, treated as images of any numbers."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Self

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.options.train import TrainConfig
from trainer.tasks import image_models
from trainer.tasks.inputs.base import STRINGS, Input, statistic_field
from trainer.tasks.inputs.numbers import standardize
from trainer.tasks.statistics import Moments, Statistic
from trainer.tensors import finite


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Array(Input):
    """A tensor [height, width] or [height, width, channels]; models take it with channels.

    Attributes:
        sizes: (height, width, channels); one channel if the tensor has two axes.
        mean: By channel, over the train split.
        variance: By channel.
    """

    kind: ClassVar[str] = "array"

    name: str
    sizes: tuple[int, ...]
    mean: tuple[float, ...] = statistic_field()
    variance: tuple[float, ...] = statistic_field()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_array = feature.kind == "tensor" and len(feature.shape) in (2, 3)
        return is_array and feature.dtype not in STRINGS

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        sizes = tuple(size or 1 for size in feature.shape)
        return cls(name=feature.name, sizes=sizes if len(sizes) == 3 else (*sizes, 1))

    @property
    def in_words(self) -> str:
        return f"an array of {' x '.join(map(str, self.sizes))}"

    @property
    def shape(self) -> tuple[int | None, ...]:
        return self.sizes

    def statistic(self) -> Statistic:
        return Moments(self.name, self.sizes[-1])

    def host_step(self) -> Callable[[Any], Any]:
        return lambda values: finite(self.name, values)

    def prepare(self, values: Any) -> Any:
        return tf.reshape(tf.cast(values, tf.float32), [-1, *self.sizes])

    def encode(self, x: Any) -> Any:
        return image_models.convolutions(standardize(x, self.mean, self.variance))
