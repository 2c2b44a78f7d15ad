"""Parquet and Arrow files, of Hugging Face and others: a column is a feature.

Files in a column (images, audio) are put into the scratch folder.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tables.arrow_types import features_of, form_of
from beam_pipeline.sources.tables.table import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    Scratch,
    Table,
    TableFile,
)
from tfrecord_dataset.format.inflation import (
    TOO_LARGE,
    check_inflation,
    check_rows,
    is_inflated,
)

_FILE_MAGIC = b"ARROW1"
_OLD_FEATHER = b"FEA1"
_LONG_ROW_BYTES = 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnarTable(Table):
    """One Parquet or Arrow file.

    Attributes:
        is_parquet: Which of them it is.
    """

    has_lines = False
    sign = "#"

    is_parquet: bool

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """As `Table.rows`."""
        names = [name for name, form in self.forms.items() if scratch or not form.media]
        number = 0
        with _opened(self.file.path) as handle:
            for rows in _batches(handle, names, is_parquet=self.is_parquet):
                columns = {name: self._values(name, rows, scratch) for name in self.forms}
                yield Batch(columns=columns, lines=range(number, number + len(rows)))
                number += len(rows)

    def _values(self, name: str, rows: pa.RecordBatch, scratch: Scratch | None) -> list[Any]:
        form = self.forms[name]
        if not form.media:
            with naming(f"column {name!r}"):
                return form.convert(rows[name])
        if not scratch:
            return [None] * len(rows)
        return files_of(rows[name].to_pylist(), scratch)


def files_of(values: Sequence[Any], scratch: Scratch) -> list[FileRef | str | None]:
    """Put the files of a column into the scratch folder; paths of others stay as they are."""
    places: list[FileRef | str | None] = []
    for value in values:
        path = value.get("path") if isinstance(value, dict) else value
        data = value.get("bytes") if isinstance(value, dict) else value
        places.append(scratch.put(data) if isinstance(data, bytes) else path or None)
    return places


def opened_columnar(file: TableFile, ignored: Sequence[str], *, is_parquet: bool) -> ColumnarTable:
    """Look into a file.

    Args:
        file: The file.
        ignored: Columns to leave out.
        is_parquet: Whether it is Parquet, not Arrow.

    Raises:
        RecordError: "damaged file": it cannot be read; "unsupported column": no feature can be
            made of one; "file too large": its content is far larger than the file.
    """
    try:
        with _opened(file.path) as handle, naming(name_of(file.path)):
            schema = _schema(handle, is_parquet=is_parquet)
            names = tuple(schema.names)
            if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise RecordError(
                    "unsupported column", f"two columns are called {twice[0]!r}; rename one"
                )
            features = features_of(schema)
            forms = {
                field.name: form_of(
                    field,
                    features.get(field.name),
                    functools.partial(_begin, handle, field.name, is_parquet),
                )
                for field in schema
                if field.name not in ignored
            }
    except DataError as error:
        raise RecordError("damaged file", str(error)) from error
    return ColumnarTable(file=file, header=names, forms=forms, is_parquet=is_parquet)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file that Arrow reads; raise DataError if it is damaged."""
    with storage.opened(path) as handle:
        try:
            yield handle
        except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # Arrow's own have none
                raise
            raise DataError(f"{path} cannot be read ({error}); fetch it again") from error


def _schema(handle: Any, *, is_parquet: bool) -> pa.Schema:
    handle.seek(0)
    if is_parquet:
        size = handle.seek(0, 2)
        with pq.ParquetFile(handle) as file:
            _check_content(size, file.metadata)
            return file.schema_arrow
    start = bytes(handle.read(len(_FILE_MAGIC)))
    handle.seek(0)
    if start.startswith(_OLD_FEATHER):
        raise pa.ArrowInvalid("it is Feather of version 1; write it anew with pyarrow")
    opened = pa.ipc.open_file if start == _FILE_MAGIC else pa.ipc.open_stream
    with opened(handle) as reader:
        return reader.schema


def _check_content(size: int, metadata: Any) -> None:
    """Raise RecordError if a Parquet file states far more bytes or rows than it can hold."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    check_inflation("it", size, sum(group.total_byte_size for group in groups))
    check_rows("it", size, metadata.num_rows)


def _batches(handle: Any, names: Sequence[str], *, is_parquet: bool) -> Iterator[pa.RecordBatch]:
    """Yield rows with these columns, some at a time."""
    read = _parquet_batches if is_parquet else _arrow_batches
    size, long_bytes = handle.seek(0, 2), 0
    for rows in read(handle, names):
        rows.validate(full=True)
        num_bytes = sum(map(_unpacked_bytes, rows.columns))
        # Short texts are repeated in good faith.
        long_bytes += max(0, num_bytes - _LONG_ROW_BYTES * len(rows))
        if is_inflated(size, long_bytes):
            raise RecordError(
                TOO_LARGE,
                f"{len(rows):,} rows unpack to {num_bytes:,} bytes; save the file without "
                "compression and dictionaries",
            )
        step = max(1, min(BATCH_ROWS, BATCH_BYTES * len(rows) // max(1, num_bytes)))
        for start in range(0, len(rows), step):
            yield rows.slice(start, step)


def _unpacked_bytes(values: pa.Array) -> int:
    """Return the bytes of values, where several may share one of a dictionary or of a view."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        entries = values.dictionary
        if _has_length(entries.type):
            lengths = pc.binary_length(entries).take(values.indices)
            return int(pc.sum(lengths).as_py() or 0)
        return _unpacked_bytes(entries) * len(values) // max(1, len(entries))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)
        return int(views[values.offset : values.offset + len(values), 0].sum(dtype=np.int64))
    if pa.types.is_struct(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = values.flatten()
        return sum(map(_unpacked_bytes, inner if isinstance(inner, list) else [inner]))
    return int(values.nbytes)


def _has_length(kind: pa.DataType) -> bool:
    types = pa.types
    return any(
        fits(kind)
        for fits in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _parquet_batches(handle: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(handle) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            for index in range(group.num_columns):
                column = group.column(index)
                packed, content = column.total_compressed_size, column.total_uncompressed_size
                if is_inflated(packed, content):
                    raise pa.ArrowInvalid(
                        f"column {column.path_in_schema!r} of row group {number} states "
                        f"{content:,} bytes, made of {packed:,}"
                    )
            row_bytes = group.total_byte_size // max(1, group.num_rows)
            step = max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, row_bytes)))
            yield from file.iter_batches(step, [number], [*names], use_threads=False)


def _arrow_batches(handle: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = _schema(handle, is_parquet=False)
    handle.seek(0)
    is_file = handle.read(len(_FILE_MAGIC)) == _FILE_MAGIC
    handle.seek(0)
    fields = [schema.get_field_index(name) for name in names]
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    if not is_file:
        with pa.ipc.open_stream(handle, options=options) as reader:
            yield from reader
        return
    with pa.ipc.open_file(handle, options=options) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _begin(handle: Any, column: str, is_parquet: bool) -> bytes:
    """Return the first bytes of the first value that a column of files has."""
    for rows in _batches(handle, [column], is_parquet=is_parquet):
        for value in rows[column].to_pylist():
            data = value.get("bytes") if isinstance(value, dict) else value
            if data is not None:
                return bytes(data[:64])
    return b""
