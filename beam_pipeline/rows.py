"""Rows of tables as columns: `Record`s without files, and without an object per record.

A value column is named after the type of its values and its feature; it is null if a row lacks the
feature. The same columns pass from the reader of a table through every shuffle to the encoder of
Examples.

No Beam here: worker processes import this module.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from beam_pipeline.records import ClassLabel, Record, Value

# Prefix of a value column's name, and its Arrow type, by the type of its values.
_TYPES: dict[type, tuple[str, pa.DataType]] = {
    int: ("int64:", pa.int64()),
    float: ("float64:", pa.float64()),
    str: ("text:", pa.large_string()),
    ClassLabel: ("class:", pa.large_string()),
}
_PREFIXES = tuple(prefix for prefix, _ in _TYPES.values())
_CLASS = _TYPES[ClassLabel][0]
_TEXT = pa.large_string()


@dataclasses.dataclass(frozen=True)
class Rows:
    """Records with the same features, whose values are single numbers, texts or classes.

    The table has the columns "key", "source" and "split" (null if not stated), and values.
    """

    table: pa.Table

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    def records(self) -> Iterator[Record]:
        """Return a record for each row."""
        keys, sources, splits = (
            self.table.column(name).to_pylist() for name in ("key", "source", "split")
        )
        for key, source, split, features in zip(
            keys, sources, splits, features_by_row(self.table), strict=True
        ):
            yield Record(key=key, source=source, split=split, features=features)


def rows_of(
    keys: Sequence[str],
    sources: Sequence[str],
    splits: Sequence[str | None],
    features: Mapping[str, Sequence[Any]],
) -> Rows | None:
    """Return records as rows; None if a feature has other values, or rows differ in features."""
    columns: dict[str, pa.Array] = {}
    try:
        columns["key"], columns["source"] = pa.array(keys, _TEXT), pa.array(sources, _TEXT)
        columns["split"] = pa.array(splits, _TEXT)
        for name, values in features.items():
            types = set(map(type, values))
            if len(types) != 1 or not types <= _TYPES.keys():
                return None
            prefix, dtype = _TYPES[types.pop()]
            if prefix == _CLASS:
                values = [value.name for value in values]
            columns[f"{prefix}{name}"] = pa.array(values, dtype)
    except (UnicodeEncodeError, OverflowError):  # Inspect rejects such a row
        return None
    return Rows(pa.table(columns))


def value_columns(table: pa.Table) -> list[str]:
    """Return the names of the columns of values."""
    return [name for name in table.column_names if name.startswith(_PREFIXES)]


def values_by_feature(table: pa.Table) -> dict[str, list[Value | None]]:
    """Return the values of each feature, one per row; None if a row has none."""
    columns: dict[str, list[Value | None]] = {}
    for name in value_columns(table):
        prefix, _, feature = name.partition(":")
        values = _values(table.column(name), is_class=f"{prefix}:" == _CLASS)
        if (others := columns.get(feature)) is not None:  # rows of another table have another type
            values = [
                other if value is None else value
                for value, other in zip(values, others, strict=True)
            ]
        columns[feature] = values
    return columns


def features_by_row(table: pa.Table) -> Iterator[dict[str, Value]]:
    """Return the features of each row."""
    return by_row(values_by_feature(table), table.num_rows)


def by_row(columns: Mapping[str, Sequence[Any]], num_rows: int) -> Iterator[dict[str, Value]]:
    """Return the values of each row by name, without those that are None."""
    if not columns:
        return iter([{} for _ in range(num_rows)])
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True)
    if not any(None in values for values in columns.values()):
        return (dict(zip(names, row, strict=True)) for row in rows)
    return (
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in rows
    )


def _values(column: pa.ChunkedArray, *, is_class: bool) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if not is_class:
        return values
    labels: dict[str | None, ClassLabel | None] = {None: None}
    labels |= {name: ClassLabel(name) for name in dict.fromkeys(values) if name is not None}
    return [labels[name] for name in values]
