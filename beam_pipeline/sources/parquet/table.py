"""Parquet as a table: its positions are the numbers of row groups.

Images, audio and long texts of a row group are compressed with others of their column, and are no
ranges of the file: they are unpacked once, into the build's scratch folder, where records refer to
them. Format: https://parquet.apache.org/docs/file-format/
"""

import contextlib
import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.sources.columns.long_values import is_long
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES
from beam_pipeline.sources.manifest.table import BATCH_ROWS, RANGE_BYTES, Batch, Range, Table
from beam_pipeline.sources.parquet.forms import Form, features_of, form_of
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.unpacking import place_of
from tfrecord_dataset.inflation import is_inflated

# Rows with files, of which a few may be megabytes each, that are in memory at once.
_ROWS_WITH_FILES = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParquetTable(Table):
    """One Parquet file.

    Attributes:
        forms: How each column is read.
        scratch: The folder for what is unpacked; "" where files are not asked for.
    """

    has_sources: ClassVar[bool] = False

    forms: Mapping[str, Form]
    scratch: str = ""

    @property
    def media(self) -> dict[str, str]:
        """The kind of the files in columns of files."""
        return {name: form.media for name, form in self.forms.items() if form.media}

    def row(self, line: int) -> str:
        """As `Table.row`; rows are counted from 0."""
        return f"{self.manifest.relative}#{line - 1}"

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """As `Table.ranges`: a row group each."""
        with opened(self.manifest.path) as file:
            count = file.metadata.num_row_groups
        table = dataclasses.replace(self, scratch=scratch)
        return [Range(table, group, group + 1) for group in range(count)]

    def bare(self) -> Table:
        """As `Table.bare`."""
        return dataclasses.replace(self, scratch="")

    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """As `Table.batches`."""
        with opened(self.manifest.path) as file:
            first = 0
            for group in range(start, min(end, file.metadata.num_row_groups)):
                num_rows = file.metadata.row_group(group).num_rows
                for batch in self._rows_of(file, group):
                    yield dataclasses.replace(
                        batch,
                        lines=range(first, first + len(batch)),
                        next_line=first + len(batch),
                        next_offset=group + 1,
                    )
                    first += len(batch)
                if not num_rows:
                    yield Batch(
                        columns={}, lines=(), offsets=(), lengths=(),
                        next_line=first, next_offset=group + 1,
                    )  # fmt: skip

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """As `Table.skim`."""
        with opened(self.manifest.path) as file:
            end = min(end, file.metadata.num_row_groups)
            groups = map(file.metadata.row_group, range(start, end))
            return sum(group.num_rows for group in groups), end

    def cell(self, column: str) -> Callable[[bytes], Any]:
        """As `Table.cell`."""
        return functools.partial(_long_value, column=column)

    def _rows_of(self, file: pq.ParquetFile, group: int) -> Iterator[Batch]:
        """The rows of a row group; what is unpacked of them lies there before they are given."""
        files = [name for name, form in self.forms.items() if form.media and self.scratch]
        names = [name for name, form in self.forms.items() if not form.media]
        read = file.iter_batches(
            _ROWS_WITH_FILES if files else BATCH_ROWS, [group], [*names, *files], use_threads=False
        )
        if not self.scratch:
            yield from (self._batch(rows, {}) for rows in read)
            return
        unpacked = _Unpacked(place_of(self.manifest.path, str(group), self.scratch))
        with unpacked.writing():
            batches = [
                self._batch(rows, {name: unpacked.files(rows[name]) for name in files})
                for rows in read
            ]
            batches = [unpacked.long_values(batch, names) for batch in batches]
        yield from batches

    def _batch(self, rows: pa.RecordBatch, files: Mapping[str, list[Any]]) -> Batch:
        columns = {}
        for name, form in self.forms.items():
            if form.media:
                columns[name] = files.get(name) or [None] * len(rows)
            else:
                with naming(f"column {name!r}"):
                    columns[name] = form.convert(rows[name])
        self.cells.prepare(columns, None)
        nowhere = [0] * len(rows)
        return Batch(columns=columns, lines=range(len(rows)), offsets=nowhere, lengths=nowhere)


class _Unpacked:
    """What is unpacked of a row group, in one file; made once."""

    def __init__(self, path: str):
        self.path = path
        self._end = 0
        self._handle: Any = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While the contents come, in the same order each time; they are written if need be."""
        if storage.exists(self.path):
            yield
            return
        with storage.writing(self.path) as self._handle:
            yield

    def files(self, column: Any) -> list[FileRef | str | None]:
        """Where the files of a column lie: here, at a path, or nowhere."""
        paths = [None] * len(column)
        if pa.types.is_struct(column.type):
            names = [column.type.field(number).name for number in range(column.type.num_fields)]
            paths = pc.struct_field(column, "path").to_pylist() if "path" in names else paths
            column = pc.struct_field(column, "bytes")
        places: list[FileRef | str | None] = []
        for value, path in zip(column, paths, strict=True):
            data = value.as_buffer() if value.is_valid else None
            places.append(path or None if data is None else self._put(data))
        return places

    def long_values(self, batch: Batch, names: Sequence[str]) -> Batch:
        """The rows with references to those of their values that are long."""
        lengths, offsets = [], []
        for values in zip(*(batch.columns[name] for name in names), strict=True):
            long = {
                name: value for name, value in zip(names, values, strict=True) if is_long(value)
            }
            place = self._put(json.dumps(long).encode()) if long else FileRef(path="", length=0)
            offsets.append(place.offset)
            lengths.append(place.length or 0)
        if not any(lengths):
            return batch
        return dataclasses.replace(batch, offsets=offsets, lengths=lengths, path=self.path)

    def _put(self, data: Any) -> FileRef:
        place = FileRef(path=self.path, offset=self._end, length=len(data))
        if self._handle:
            self._handle.write(data)
        self._end += len(data)
        return place


def _long_value(data: bytes, column: str) -> Any:
    return json.loads(data)[column]


class Opened(NamedTuple):
    """What the footer of a file and its first values say."""

    names: tuple[str, ...]
    forms: dict[str, Form]


def look_into(path: str, ignored: Sequence[str]) -> Opened:
    """The columns of a file.

    Raises:
        RecordError: "damaged file": it cannot be read; "unsupported column": no feature can be
            made of one.
    """
    try:
        with opened(path) as file, naming(name_of(path)):
            features = features_of(file.schema_arrow)
            forms = {
                field.name: form_of(
                    field, features.get(field.name), functools.partial(_begin, file, field.name)
                )
                for field in file.schema_arrow
                if field.name not in ignored
            }
            return Opened(tuple(file.schema_arrow.names), forms)
    except DataError as error:
        raise RecordError("damaged file", str(error)) from error


@contextlib.contextmanager
def opened(path: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file to read.

    Raises:
        DataError: It is none, is damaged, or states sizes that it cannot have.
    """
    with storage.opened(path) as handle:
        try:
            with pq.ParquetFile(handle) as file:
                _check_sizes(file.metadata)
                yield file
        except (
            pa.ArrowException,
            ValueError,
            OverflowError,
            OSError,
        ) as error:  # Arrow's own have no number
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise DataError(
                f"{path} is no Parquet file that can be read ({error}); fetch it again"
            ) from error


def _check_sizes(metadata: pq.FileMetaData) -> None:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            packed, content = column.total_compressed_size, column.total_uncompressed_size
            if is_inflated(packed, content):
                raise pa.ArrowInvalid(
                    f"column {column.path_in_schema!r} of row group {number} states {content:,} "
                    f"bytes, made of {packed:,}"
                )


def _begin(file: pq.ParquetFile, column: str) -> bytes:
    """The first bytes of the first value that a column of files has."""
    for rows in file.iter_batches(_ROWS_WITH_FILES, columns=[column], use_threads=False):
        values = rows[column]
        if pa.types.is_struct(values.type):
            values = pc.struct_field(values, "bytes")
        for value in values.drop_null():
            return bytes(value.as_buffer()[:64])
    return b""
