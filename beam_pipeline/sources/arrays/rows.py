"""From the columns of a table to its records: plain functions, no Beam."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Array, FileRef, Record, Rejected, Value
from beam_pipeline.sources.arrays.files import Column, Table
from beam_pipeline.sources.columns.choice import lowered
from beam_pipeline.sources.columns.class_values import WholeNumbers, class_label
from beam_pipeline.sources.columns.column import LABELS
from beam_pipeline.sources.columns.fitting import fit, no_path
from beam_pipeline.sources.unpacking import check_stored, unpack_array
from tfrecord_dataset.feature import Feature

_ROWS_A_PIECE = 16_384
# A reference takes as much; rows of less travel with their records.
_INLINE_BYTES = 256
_BLOCK_BYTES = 8 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The values of a column, as they can be read.

    Attributes:
        path: The file.
        offset: Where the first row begins.
        dtype: NumPy's, little-endian: "<f4".
        shape: Of one row.
    """

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def is_inline(self) -> bool:
        """Whether the rows' values travel with the records."""
        return not self.shape or self.row_bytes <= _INLINE_BYTES


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some rows of a table.

    Attributes:
        table: The table's name.
        split: Its split.
        start, stop: The rows.
        columns: By name.
    """

    table: str
    split: str | None
    start: int
    stop: int
    columns: Mapping[str, Rows]


def pieces_of(table: Table | Rejected, scratch: str) -> Iterator[Piece | Rejected]:
    """A table's rows in pieces, its columns unpacked where that is needed."""
    if isinstance(table, Rejected):
        yield table
        return
    try:
        columns = {name: _rows(name, each, scratch) for name, each in table.columns.items()}
    except RecordError as error:
        yield Rejected.of(table.name, error)
        return
    for start in range(0, table.num_rows, _ROWS_A_PIECE):
        stop = min(start + _ROWS_A_PIECE, table.num_rows)
        yield Piece(table=table.name, split=table.split, start=start, stop=stop, columns=columns)


def _rows(name: str, column: Column, scratch: str) -> Rows:
    path, offset = column.path, column.offset
    if offset is None:
        path, offset = unpack_array(path, column.member, scratch), 0
    else:
        check_stored(path, column.member)
    shape = column.shape[1:]
    if lowered(name) in LABELS.of_rows and math.prod(shape) == 1:
        shape = ()  # [n, 1], as Keras's CIFAR and scikit-learn's columns are
    return Rows(path=path, offset=offset, dtype=column.dtype, shape=shape)


def read_values(rows: Rows, start: int, stop: int) -> np.ndarray[Any, Any]:
    """The values of rows that travel with their records."""
    size = rows.row_bytes
    data = storage.read_bytes(
        FileRef(path=rows.path, offset=rows.offset + start * size, length=(stop - start) * size)
    )
    return np.frombuffer(data, rows.dtype).reshape(stop - start, *rows.shape)


def read_rows(
    piece: Piece | Rejected,
    numbers: Mapping[str, WholeNumbers],
    labels: Mapping[str, str],
    classes: Sequence[str] = (),
    declared: Sequence[tuple[Feature, str]] = (),
) -> Iterator[Record | Rejected]:
    """The records of a piece.

    Args:
        piece: Rows, or what is passed on.
        numbers: What columns that may be classes hold; one of measures is none.
        labels: Feature by column, of columns that may be classes.
        classes: Names of classes that are written as numbers.
        declared: Feature and column, where a user declared what is read.
    """
    if isinstance(piece, Rejected):
        yield piece
        return
    labels = {
        name: feature
        for name, feature in labels.items()
        if name not in numbers or not numbers[name].are_measures
    }
    kept = {column for _, column in declared} or {*piece.columns}
    columns = {name: rows for name, rows in piece.columns.items() if name in kept}
    inline = sum(rows.row_bytes for rows in columns.values() if rows.is_inline)
    step = max(1, _BLOCK_BYTES // max(1, inline))
    for start in range(piece.start, piece.stop, step):
        stop = min(start + step, piece.stop)
        cells = {name: _cells(rows, start, stop) for name, rows in columns.items()}
        for row, values in enumerate(zip(*cells.values(), strict=True), start=start):
            key = f"{piece.table}#{row}"
            by_column = dict(zip(cells, values, strict=True))
            try:
                if declared:
                    features = {
                        each.name: _fit(each, name, by_column[name]) for each, name in declared
                    }
                else:
                    features = _found(by_column, labels, classes)
            except RecordError as error:
                yield Rejected.of(key, error)
            else:
                yield Record(key=key, features=features, split=piece.split)


def _cells(rows: Rows, start: int, stop: int) -> Iterator[Value]:
    """The values of a column, row by row: numbers, texts, or arrays."""
    size, dtype = rows.row_bytes, np.dtype(rows.dtype)
    if not rows.is_inline:
        for row in range(start, stop):
            file = FileRef(path=rows.path, offset=rows.offset + row * size, length=size)
            yield Array(dtype=dtype.name, shape=rows.shape, file=file)
        return
    values = read_values(rows, start, stop)
    if rows.shape:
        for value in values:
            yield Array(dtype=dtype.name, shape=rows.shape, data=value.tobytes())
    elif dtype.kind == "S":
        yield from (value.decode(errors="surrogateescape") for value in values.tolist())
    else:
        yield from (values.view(np.uint8) if dtype.kind == "b" else values).tolist()


def _found(
    cells: Mapping[str, Value], labels: Mapping[str, str], classes: Sequence[str]
) -> dict[str, Value]:
    return {
        labels.get(name, name): (
            class_label(value, name, None, classes) if name in labels else value
        )
        for name, value in cells.items()
    }


def _fit(feature: Feature, column: str, value: Value) -> Value:
    """A cell as `feature` declares it; what holds of all of an array's values is Inspect's."""
    if isinstance(value, Array) and feature.kind in ("tensor", "sequence"):
        return value
    return fit(feature, column, value, no_path)
