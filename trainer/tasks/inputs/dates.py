"""Dates in a text, as days."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.options.train import TrainConfig
from trainer.tasks.inputs.category import TextCategory
from trainer.tasks.inputs.numbers import Numbers
from trainer.tasks.statistics import Moments, Statistic
from trainer.tasks.table_columns import DATE

# Where the parts of `2024-05-31 12:30` are.
_YEAR, _MONTH, _DAY, _HOUR, _MINUTE = (0, 4), (5, 2), (8, 2), (11, 2), (14, 2)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Date(Numbers):
    """A text `2024-05-31`, or with a time of day; models take float32 [1]: days since 2000.

    Any other text is a missing number.
    """

    kind: ClassVar[str] = "date"
    in_words: ClassVar[str] = "a date"

    size: int = 1

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return TextCategory.suits(feature)

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name)

    @property
    def group(self) -> str:
        return "numbers"

    def statistic(self) -> Statistic:
        return _DaysOfDates(self.name, 1, allow_missing=True)

    def host_step(self) -> Callable[[Any], Any]:
        return lambda texts: days(texts)[:, tf.newaxis]


def days(texts: Any) -> Any:
    """Days since 2000-01-01 of dates, `tf.string` [n]: float32 [n], NaN of any other text.

    The day's number follows Howard Hinnant's `days_from_civil`.
    """

    def number(place: tuple[int, int]) -> Any:
        return tf.strings.to_number(tf.strings.substr(padded, *place), tf.int32)

    is_date = tf.strings.regex_full_match(texts, DATE)
    date = tf.where(is_date, texts, "2000-01-01")
    padded = tf.strings.join([date, tf.where(tf.strings.length(date) > 10, "", " 00:00")])
    year, month, day = number(_YEAR), number(_MONTH), number(_DAY)
    year -= tf.cast(month <= 2, tf.int32)
    era, month = year // 400, (month + 9) % 12
    of_era = year - era * 400
    days_of_era = of_era * 365 + of_era // 4 - of_era // 100 + (153 * month + 2) // 5 + day - 1
    whole = tf.cast(era * 146_097 + days_of_era - 730_425, tf.float32)
    minutes = tf.cast(number(_HOUR) * 60 + number(_MINUTE), tf.float32)
    return tf.where(is_date, whole + minutes / (24 * 60), np.nan)


class _DaysOfDates(Moments):
    """The moments of dates."""

    def take(self, facts: Mapping[str, Any]) -> bool:
        """Take nothing: the stated facts are about texts, not days."""
        return False

    def add(self, values: Any) -> None:
        """Adds texts."""
        super().add(days(tf.constant(values, tf.string)).numpy())
