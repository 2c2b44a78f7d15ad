"""Scalars, vectors, dates and arrays as numbers near 0.

Columns of vectors and arrays are standardized to mean 0 and variance 1. A scalar, whose outliers
would squeeze all other numbers together, is scaled by median and quartiles, clipped softly at 3,
and, in tables of up to 128 columns, also encoded by its position in 16 bins between quantiles.

A missing number (NaN) becomes 0; if numbers are missing in the train split, an additional column
of 0 and 1 marks the records without them.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import STRINGS, Feature
from trainer.options.train_options import TrainConfig
from trainer.tasks.inputs.base import Input, not_compared
from trainer.tasks.statistics import (
    EPSILON,
    MAX_CLASSES,
    NUM_BINS,
    Largest,
    MeanVariance,
    Quantiles,
    Statistic,
    Strings,
)
from trainer.tasks.table_columns import DATE
from trainer.tensors import finite

# The smallest divisor of a column: its inverse must be finite in float32.
_LEAST = 2.0**-120
# Distance between the quartiles of a normal distribution, in its deviations.
_QUARTILES_OF_NORMAL = 1.349
_SOFT_LIMIT = 3.0  # of scaled numbers, in deviations
_MOST_BINNED = 128
_PERIODS_OF_DATES = (1.0, 7.0, 365.2425)


class Measured(Input):
    """Numbers whose columns, along the last axis of `shape`, are standardized.

    Subclasses have the fields `mean` and `variance` of the train split by column.

    Attributes:
        allow_missing: Whether NaN is a missing number rather than an error.
    """

    __slots__ = ()

    is_numeric: ClassVar[bool] = True
    allow_missing: ClassVar[bool] = False

    def statistic(self) -> Statistic:
        columns = self.shape[-1]
        assert columns is not None
        return MeanVariance(self.name, columns, allow_missing=self.allow_missing)

    def host_step(self) -> Callable[[Any], Any]:
        return lambda values: finite(self.name, values, allow_missing=self.allow_missing)

    def prepare(self, values: Any) -> Any:
        return tf.reshape(tf.cast(values, tf.float32), [-1, *self.shape])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Numbers(Measured):
    """A scalar, or a tensor with one axis; models take float32 [size].

    Attributes:
        size: Numbers per record; 1 for a scalar.
        mean: Mean of each column in the train split.
        variance: Variance of each column.
        missing: Number of train records without the number, by column.
        quantiles: Quantiles of a scalar in the train split, from its smallest to its largest
            number; empty for vectors.
    """

    kind: ClassVar[str] = "numbers"
    allow_missing: ClassVar[bool] = True

    name: str
    size: int
    mean: tuple[float, ...] = not_compared()
    variance: tuple[float, ...] = not_compared()
    missing: tuple[int, ...] = not_compared()
    quantiles: tuple[float, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_vector = feature.kind == "tensor" and len(feature.shape) == 1
        return (is_vector or feature.kind == "scalar") and feature.dtype not in STRINGS

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name, size=math.prod(size or 1 for size in feature.shape))

    def statistic(self) -> Statistic:
        return Quantiles(self.name) if self.size == 1 else Measured.statistic(self)

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.size,)

    @property
    def scale(self) -> tuple[Sequence[float], Sequence[float]]:
        """Centers and variances of the columns: of a scalar, from its median and quartiles."""
        if not self.quantiles:
            return self.mean, self.variance
        quarter = NUM_BINS // 4
        least, low, median, high, most = self.quantiles[::quarter]
        deviation = (high - low) / _QUARTILES_OF_NORMAL or (most - least) / 2 or 1.0
        return [median], [deviation**2]

    def encode(self, x: Any) -> Any:
        return encode_together([self], [x])


def encode_together(inputs: Sequence[Numbers], tensors: Sequence[Any]) -> Any:
    """Encode all numbers as one vector, instead of with a branch per column of a table."""
    x = keras.layers.Concatenate(dtype="float32")(tensors) if len(tensors) > 1 else tensors[0]
    center = [number for each in inputs for number in each.scale[0]]
    variance = [number for each in inputs for number in each.scale[1]]
    missing = [count for each in inputs for count in each.missing or [0] * each.size]
    is_missing = keras.ops.isnan(x)
    scaled = keras.ops.where(is_missing, 0.0, standardize(x, center, variance))
    if any(each.quantiles for each in inputs):
        scaled = scaled / keras.ops.sqrt(1.0 + keras.ops.square(scaled / _SOFT_LIMIT))
    parts = [scaled]
    if any(missing):
        missing_columns = [column for column, count in enumerate(missing) if count]
        marks = keras.ops.take(is_missing, missing_columns, axis=-1)
        parts.append(keras.ops.cast(marks, "float32"))
    if len(center) <= _MOST_BINNED and (bins := [*_bins(inputs)]):
        columns, starts, ends = zip(*bins, strict=True)
        widths = [end - start for start, end in zip(starts, ends, strict=True)]
        of_bins = keras.ops.take(x, columns, axis=-1)
        shares = standardize(of_bins, starts, [width**2 for width in widths])
        shares = keras.ops.clip(shares, 0.0, 1.0)
        parts.append(keras.ops.where(keras.ops.isnan(of_bins), 0.0, shares))
    if dates := [each.name for each in inputs if isinstance(each, Date)]:
        names = [each.name for each in inputs for _ in range(each.size)]
        parts += _periods(keras.ops.take(x, [*map(names.index, dates)], axis=-1))
    return keras.layers.Concatenate()(parts) if len(parts) > 1 else scaled


def _periods(days: Any) -> Iterator[Any]:
    """Yield the places of days since 2000 in the day, week and year, on circles of radius 1."""
    for period in _PERIODS_OF_DATES:
        angle = keras.ops.mod(days, period) * (2.0 * math.pi / period)
        for part in (keras.ops.sin(angle), keras.ops.cos(angle)):
            yield keras.ops.where(keras.ops.isnan(days), 0.0, part)


def _bins(inputs: Sequence[Numbers]) -> Iterator[tuple[int, float, float]]:
    """Yield the column, start and end of each bin between different quantiles of a scalar.

    A number is encoded as 1 for bins below it, 0 for bins above it, and a share for its own: the
    piecewise linear encoding of Gorishniy et al., https://arxiv.org/abs/2203.05556.
    """
    column = 0
    for each in inputs:
        edges = sorted({*each.quantiles})
        yield from ((column, start, end) for start, end in itertools.pairwise(edges))
        column += each.size


def standardize(x: Any, mean: Sequence[float], variance: Sequence[float]) -> Any:
    """Scale `x` to mean 0 and variance 1 along the last axis.

    Computes in float32 under any policy: bfloat16 cannot distinguish 2020 from 2023. Numbers that
    float32 cannot distinguish (times in nanoseconds) stay near 0. `keras.layers.Normalization`
    would limit deviations to at least 1e-7, and their squares to the range of float32.
    """
    deviations = [
        max(math.sqrt(square), EPSILON * abs(about), _LEAST)
        for about, square in zip(mean, variance, strict=True)
    ]
    x = keras.layers.Rescaling(1.0, offset=[-each for each in mean], dtype="float32")(x)
    return keras.layers.Rescaling([1 / deviation for deviation in deviations], dtype="float32")(x)


def restore_unit(x: Any, mean: Sequence[float], variance: Sequence[float]) -> Any:
    """Invert `standardize`."""
    scale = [math.sqrt(each) for each in variance]
    return keras.layers.Rescaling(scale, offset=list(mean), dtype="float32")(x)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Date(Numbers):
    """A text `2024-05-31`, perhaps with a time; models take days since 2000, float32 [1].

    They are encoded as a number, and by their places in the day, week and year. Any other text is a
    missing number.
    """

    kind: ClassVar[str] = "date"
    group: ClassVar[str] = "numbers"

    size: int = 1

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return TextCategory.suits(feature)

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name)

    def statistic(self) -> Statistic:
        return _DaysOfDates(self.name)

    def host_step(self) -> Callable[[Any], Any]:
        return lambda texts: days(texts)[:, tf.newaxis]


def days(texts: Any) -> Any:
    """Convert dates, `tf.string` [n], to days since 2000-01-01: float32 [n], NaN for other texts.

    Uses Howard Hinnant's `days_from_civil`.
    """
    is_date = tf.strings.regex_full_match(texts, DATE)
    date = tf.where(is_date, texts, "2000-01-01")
    padded = tf.strings.join([date, tf.where(tf.strings.length(date) > 10, "", " 00:00")])
    year, month, day, hour, minute = (  # as in `2024-05-31 12:30`
        tf.strings.to_number(tf.strings.substr(padded, start, size), tf.int32)
        for start, size in ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2))
    )
    year -= tf.cast(month <= 2, tf.int32)
    era, month = year // 400, (month + 9) % 12
    of_era = year - era * 400
    days_of_era = of_era * 365 + of_era // 4 - of_era // 100 + (153 * month + 2) // 5 + day - 1
    whole = tf.cast(era * 146_097 + days_of_era - 730_425, tf.float32)
    minutes = tf.cast(hour * 60 + minute, tf.float32)
    return tf.where(is_date, whole + minutes / (24 * 60), np.nan)


class _DaysOfDates(Quantiles):
    def add(self, values: Any) -> None:
        super().add(days(tf.constant(values, tf.string)).numpy())


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
