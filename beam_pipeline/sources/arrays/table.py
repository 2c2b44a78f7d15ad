"""Arrays as a table: rows are the first axis, which all columns have in common."""

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from beam_pipeline.files import storage
from beam_pipeline.records import Array, FileRef, Value
from beam_pipeline.sources.columns.choice import lowered
from beam_pipeline.sources.columns.column import LABELS, Columns
from beam_pipeline.sources.columns.fitting import no_path
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.manifest.feature_columns import FeatureColumn
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES
from beam_pipeline.sources.manifest.table import RANGE_BYTES, Batch, Range, Table
from beam_pipeline.sources.unpacking import check_stored, unpack_array, with_ranges

_ROWS_A_RANGE = 16_384
# A reference takes as much; rows of less travel with their records.
_INLINE_BYTES = 256
_BLOCK_BYTES = 8 << 20


class ArrayFile(Manifest):
    """A file of arrays, whose values name no files."""

    def path_of(self, name: str) -> str:
        """Raises ValueError."""
        return no_path(name)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """An array whose first axis is the rows.

    Attributes:
        path: The .npy or .npz file.
        member: Its name in the .npz file; "" of a .npy file.
        dtype: NumPy's, little-endian: "<f4".
        shape: Sizes by axis.
        offset: Where in the file its values begin; None where they are compressed.
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
    """Columns of one length; positions are the numbers of rows.

    Attributes:
        columns: By name.
    """

    has_sources = False

    columns: Mapping[str, Column]
    numbering: tuple[str, int] = ("#", 0)

    @property
    def name(self) -> str:
        """What the rows' keys begin with: a file's path below the input."""
        return self.manifest.relative

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return next(iter(self.columns.values())).shape[0]

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """As `Table.ranges`, of so many rows each; raises RecordError where one is damaged."""
        columns = {name: _stored(name, each, scratch) for name, each in self.columns.items()}
        table = dataclasses.replace(self, columns=columns)
        starts = range(0, self.num_rows, _ROWS_A_RANGE)
        return [Range(table, start, start + _ROWS_A_RANGE) for start in starts]

    def bare(self, only: Collection[str] = ()) -> Table:
        """As `Table.bare`."""
        columns = {name: each for name, each in self.columns.items() if not only or name in only}
        return dataclasses.replace(self, columns=columns)

    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """As `Table.batches`."""
        inline = sum(each.row_bytes for each in self.columns.values() if each.is_inline)
        step = max(1, _BLOCK_BYTES // max(1, inline))
        end = min(end, self.num_rows)
        for first in range(start, end, step):
            stop = min(first + step, end)
            yield Batch(
                columns={name: _cells(each, first, stop) for name, each in self.columns.items()},
                lines=range(first - start, stop - start),
                next_line=stop - start,
                next_offset=stop,
            )

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """As `Table.skim`."""
        end = min(end, self.num_rows)
        return end - start, end

    def other_columns(
        self, columns: Columns, kinds: Mapping[str, Kind | None]
    ) -> list[FeatureColumn]:
        """As `Table.other_columns`: values that have their type."""
        others = () if columns.declared else self.columns
        return [FeatureColumn(name, name, list) for name in others if name not in columns.taken]


def _stored(name: str, column: Column, scratch: str) -> Column:
    """A column as ranges of a file, unpacked where that is needed."""
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
