"""Numbers as the target."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from tfrecord_dataset.format.feature import STRINGS, Feature
from tfrecord_dataset.shown_text import number_text
from trainer.parsing import Tensors
from trainer.task_kinds import REGRESSION
from trainer.tasks.baselines import Baseline, Median
from trainer.tasks.figures import Accumulator, Arrays, NumberFigures, Overlay
from trainer.tasks.inputs.base import not_compared
from trainer.tasks.inputs.tabular import restore_unit
from trainer.tasks.statistics import MeanVariance, Statistic
from trainer.tasks.targets.target import PerExample, Row, Target
from trainer.tensors import finite

_SQUARED_UNTIL = 0.5  # deviations of the target


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NumberTarget(Target):
    """One number or vector per record; models return it in its own unit."""

    kind: ClassVar[str] = "numbers"
    learns: ClassVar[str] = REGRESSION
    metrics: ClassVar[Mapping[str, PerExample]] = MappingProxyType(
        {"mse": keras.losses.mean_squared_error, "mae": keras.losses.mean_absolute_error}
    )
    best_by: ClassVar[str] = "mae"
    is_averaged: ClassVar[bool] = True

    name: str
    size: int = 1
    mean: tuple[float, ...] = not_compared()
    variance: tuple[float, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        kinds = (("class_label", 0), ("scalar", 0), ("tensor", 1))
        return (feature.kind, len(feature.shape)) in kinds and feature.dtype not in STRINGS

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        return cls(name=feature.name, size=math.prod(size or 1 for size in feature.shape))

    @property
    def missing(self) -> str:
        return "NaN"

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.size,)

    def statistic(self) -> Statistic:
        return MeanVariance(self.name, self.size, remedy="name another target")

    def host_step(self) -> Callable[[Tensors], Any]:
        """Convert to float32 [b, size]."""
        return lambda columns: tf.reshape(
            tf.cast(finite(self.name, columns[self.name]), tf.float32), [-1, self.size]
        )

    def loss(self, target: Any, outputs: Any) -> Any:
        """Huber loss in units of the column's standard deviation, averaged over the columns.

        The square of errors up to half a deviation, linear above, so that records with rare large
        values do not dominate. Columns with different units have equal weight.
        """
        deviations = tf.constant([math.sqrt(each) for each in self.variance])
        error = tf.abs((target - outputs) / deviations)
        linear = 2 * _SQUARED_UNTIL * error - _SQUARED_UNTIL**2
        return tf.reduce_mean(tf.where(error < _SQUARED_UNTIL, error**2, linear), axis=-1)

    def head(self, x: Any) -> Any:
        """Apply a linear layer for mean 0 and variance 1, and scale to the target's unit."""
        x = keras.layers.Dense(self.size, dtype="float32", name="standardized")(x)
        return restore_unit(x, self.mean, self.variance)

    def averaged(self, outputs: Sequence[Any]) -> Any:
        return keras.layers.Average()(list(outputs))

    def predict(self, outputs: Any) -> dict[str, Any]:
        return {"values": outputs}

    def decode(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        return {"prediction": outputs[:, 0] if self.size == 1 else outputs}

    @property
    def columns(self) -> tuple[str, ...]:
        if self.size == 1:
            return (self.name,)
        return tuple(f"{self.name}_{column}" for column in range(self.size))

    def row(self, decoded: Arrays, image: bytes | None, least: float) -> Row:
        return {"prediction": decoded["prediction"].tolist()}

    def lines(self, row: Row) -> list[list[Any]]:
        prediction = row["prediction"]
        return [prediction if isinstance(prediction, list) else [prediction]]

    def shown(self, target: Any) -> tuple[str, Overlay]:
        return ", ".join(map(number_text, target)), Overlay()

    def accumulators(self) -> list[Accumulator]:
        return [NumberFigures(self.name, self.size)]

    def baseline(self) -> Baseline:
        return Median()
