"""Long values stay in the manifest: a record refers to its row, and is small in memory."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from beam_pipeline.records import Deferred, FileRef, Value
from beam_pipeline.sources.columns.long_values import is_long, is_long_range
from beam_pipeline.sources.manifest.lines import is_compressed
from beam_pipeline.sources.manifest.table import Batch

Convert = Callable[[Sequence[Any]], list[Value | None]]


def row_files(path: str, batch: Batch) -> list[FileRef | None]:
    """The bytes of each row that is long and can be read by itself, else None."""
    if is_compressed(path):
        return [None] * len(batch)
    return [
        FileRef(path=path, offset=offset, length=length) if is_long_range(length) else None
        for offset, length in zip(batch.offsets, batch.lengths, strict=True)
    ]


def deferred(
    values: Iterable[Value | None],
    files: Iterable[FileRef | None],
    cell: Callable[[bytes], Any],
    convert: Convert,
) -> list[Value | None]:
    """The values of a column, those that are long as references to their rows.

    Args:
        values: What `convert` made of the column.
        files: As `row_files` gives them.
        cell: Reads what the column holds from the bytes of a row.
        convert: Makes values of what a column holds.
    """
    read = functools.partial(_read, cell=cell, convert=convert)
    return [
        Deferred(file=file, read=read) if file and is_long(value) else value
        for value, file in zip(values, files, strict=True)
    ]


def _read(data: bytes, cell: Callable[[bytes], Any], convert: Convert) -> Value:
    (value,) = convert([cell(data)])
    assert value is not None  # it was long
    return value
