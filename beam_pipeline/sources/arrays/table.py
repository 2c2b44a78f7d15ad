"""Arrays as a table, whose rows are the first axis of all columns."""

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from beam_pipeline.files import storage
from beam_pipeline.records import Array, FileRef, Value
from beam_pipeline.sources.tables.names import LABELS, lowered
from beam_pipeline.sources.tables.table import BATCH_BYTES, BATCH_ROWS, Batch, Scratch, Table
from beam_pipeline.sources.unpacking import check_stored, unpack_array, with_ranges

# A reference takes as much; rows of less travel with their records.
_INLINE_BYTES = 256


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """An array whose first axis is the rows.

    Attributes:
        path: The .npy or .npz file.
        member: Its name in the .npz file; "" of a .npy file.
        dtype: NumPy's, little-endian: "<f4".
        shape: Sizes by axis.
        offset: Offset of its values in the file; None if they are compressed.
    """

    path: str
    member: str
    dtype: str
    shape: tuple[int, ...]
    offset: int | None

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize

    @property
    def is_inline(self) -> bool:
        """Whether the rows' values travel with the records."""
        return len(self.shape) == 1 or self.row_bytes <= _INLINE_BYTES


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArrayTable(Table):
    """Columns of one length.

    Attributes:
        columns: By name.
    """

    has_values = True
    sign = "#"

    columns: Mapping[str, Column]

    @property
    def name(self) -> str:
        """Prefix of the rows' keys: the file's path below the input."""
        return self.file.relative

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return next(iter(self.columns.values())).shape[0]

    def without(self, columns: Collection[str]) -> Table:
        """As `Table.without`."""
        kept = {name: column for name, column in self.columns.items() if name not in columns}
        return dataclasses.replace(self, columns=kept)

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """As `Table.rows`; what is compressed is unpacked into `scratch` once."""
        folder = scratch.folder if scratch else ""
        columns = {name: _stored(name, column, folder) for name, column in self.columns.items()}
        inline = sum(column.row_bytes for column in columns.values() if column.is_inline)
        step = max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, inline)))
        for start in range(0, self.num_rows, step):
            stop = min(start + step, self.num_rows)
            cells = {name: _cells(column, start, stop) for name, column in columns.items()}
            yield Batch(columns=cells, lines=range(start, stop))


def _stored(name: str, column: Column, scratch: str) -> Column:
    """Return a column as ranges of a file, unpacked if it is compressed."""
    path, offset, shape = column.path, column.offset, column.shape
    if offset is None:
        path, offset = unpack_array(path, column.member, scratch), 0
    else:
        check_stored(path, column.member)
        path = with_ranges(path, scratch)
    if lowered(name) in LABELS.of_rows and math.prod(shape[1:]) == 1:
        shape = shape[:1]  # [n, 1], as Keras's CIFAR and scikit-learn's columns are
    return dataclasses.replace(column, path=path, offset=offset, shape=shape)


def _cells(column: Column, start: int, stop: int) -> list[Value]:
    """The values of a column, row by row: numbers, texts, or arrays."""
    path, shape, size, dtype = column.path, column.shape[1:], column.row_bytes, column.dtype
    assert column.offset is not None  # it is unpacked
    begin, end = (column.offset + row * size for row in (start, stop))
    name, kind = np.dtype(dtype).name, np.dtype(dtype).kind
    if not column.is_inline:
        files = (FileRef(path=path, offset=at, length=size) for at in range(begin, end, size))
        return [Array(dtype=name, shape=shape, file=file) for file in files]
    data = storage.read_bytes(FileRef(path=path, offset=begin, length=end - begin))
    values = np.frombuffer(data, dtype).reshape(stop - start, *shape)
    if shape:
        return [Array(dtype=name, shape=shape, data=each.tobytes()) for each in values]
    if kind == "S":
        return [value.decode(errors="surrogateescape") for value in values.tolist()]
    cells: list[Value] = (values.view(np.uint8) if kind == "b" else values).tolist()
    return cells
