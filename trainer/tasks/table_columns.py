"""Kinds of a split's scalars, texts and class labels, from a sample of its records."""

import dataclasses
import enum
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np

from tfrecord_dataset.format import example
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.records.reader import RecordReader
from trainer.dataset import Dataset

_MOST_RECORDS, _MOST_BYTES = 2_000, 32 << 20
# Texts with fewer distinct values are classes, however many words they have.
_FEW_VALUES = 50
_MANY_WORDS = 3
# `user_id`, `PassengerId`, `index`, and pandas' name of a column without a name.
_NAME_OF_ID = re.compile(r"(?:^|[_ .-])(?:id|ids|uuid|guid|index|key)$|[a-z]I[dD]$|^unnamed", re.I)
DATE = r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}.*)?"


class ColumnKind(enum.Enum):
    """Use of a column for a model."""

    NUMBER = ""
    CATEGORY = "category"
    DATE = "date"
    ID = "looks like an id"
    TEXT = "a text of many words"
    EMPTY = "has no value"

    @property
    def reason(self) -> str:
        """Why models learn nothing from it, for messages; "" if they do."""
        return self.value if self in (self.ID, self.TEXT, self.EMPTY) else ""


@dataclasses.dataclass(frozen=True, slots=True)
class SampledColumn:
    """A column of a table, with its stored values in sampled records: numbers, bytes or None."""

    kind: ColumnKind
    values: Sequence[Any] = ()

    @classmethod
    def unknown(cls, feature: Feature) -> Self:
        """Make a column without values, before any record is read."""
        is_text = feature.dtype == "string" and feature.kind != "class_label"
        return cls(ColumnKind.TEXT if is_text else ColumnKind.NUMBER)

    @classmethod
    def of(cls, feature: Feature, values: Sequence[Any], num_records: int) -> Self:
        """Make the column of a feature from sampled values of a split with `num_records`."""
        known = [value for value in values if value is not None]
        if not known:
            return cls(ColumnKind.EMPTY, values)
        if feature.kind == "class_label":
            return cls(ColumnKind.CATEGORY, values)
        if not isinstance(known[0], bytes):
            is_id = feature.dtype == "int64" and _is_id(feature.name, known, num_records)
            return cls(ColumnKind.ID if is_id else ColumnKind.NUMBER, values)
        texts = [value.decode(errors="replace") for value in known]
        return cls(_kind_of_texts(feature.name, texts), values)


def _is_id(name: str, numbers: Sequence[int], num_records: int) -> bool:
    """Whether whole numbers enumerate the records, or have the name of an id."""
    distinct = set(numbers)
    if len(distinct) <= _FEW_VALUES:
        return False
    counts = len(distinct) == len(numbers) and max(distinct) - min(distinct) < 1.1 * num_records
    return counts or _NAME_OF_ID.search(name) is not None


def _kind_of_texts(name: str, texts: Sequence[str]) -> ColumnKind:
    filled = [text for text in texts if text.strip()]
    if not filled:
        return ColumnKind.EMPTY
    distinct, repeats = len(set(filled)), 2 * len(set(filled)) <= len(filled)
    if all(re.fullmatch(DATE, text, re.ASCII) for text in filled):
        return ColumnKind.DATE
    if distinct <= _FEW_VALUES and repeats:
        return ColumnKind.CATEGORY
    if sum(len(text.split()) for text in filled) >= _MANY_WORDS * len(filled):
        return ColumnKind.TEXT
    return ColumnKind.CATEGORY if repeats and not _NAME_OF_ID.search(name) else ColumnKind.ID


def sample_columns(
    dataset: Dataset, split: str, names: Collection[str] | None = None
) -> Mapping[str, SampledColumn]:
    """Sample a split's columns, all or `names`, from up to 2,000 evenly spread records."""
    features = [
        feature
        for feature in dataset.features.values()
        if feature.kind in ("scalar", "text", "class_label") and not feature.shape
        if names is None or feature.name in names
    ]
    index, num_records = dataset.index(split), dataset.num_records(split)
    most = _MOST_BYTES * index.num_records // max(1, index.num_bytes)
    count = min(_MOST_RECORDS, max(1, most), num_records)
    numbers = np.arange(count) * num_records // count
    if split in dataset.parts:
        numbers = dataset.parts[split][numbers]
    keys = {feature.key for feature in features}
    rows = [example.lists(record, keys) for record in RecordReader(index).read(numbers)]
    return {
        feature.name: SampledColumn.of(
            feature, [_value(row, feature.key) for row in rows], num_records
        )
        for feature in features
    }


def _value(row: Mapping[str, tuple[str, Sequence[Any]]], key: str) -> Any:
    """Return the single value of a feature; None if it is missing."""
    _, values = row.get(key, ("", ()))
    return values[0] if len(values) and values[0] == values[0] else None
