"""A shard's index, held against the records of the shard: rows in Parquet, and DALI's spans.

No Beam here: worker processes import this module.
"""

import contextlib
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

from beam_pipeline.dataset.verification.stated_files import FileProblemError
from beam_pipeline.describe import index
from beam_pipeline.kinds.stored_values import summary
from beam_pipeline.records import Inspected
from tfrecord_dataset.feature import Feature

_BATCH_ROWS = 256
_SPANS = ("offset", "length")
# A record without bytes has no hash of them; an Example has empty ones then.
_NO_BYTES = hashlib.sha256().hexdigest()


class Stored(NamedTuple):
    """A record of a shard.

    Attributes:
        offset: Where its frame starts, in bytes of the uncompressed stream.
        length: Bytes of the frame.
        record: What it holds; None where it is damaged.
    """

    offset: int
    length: int
    record: Inspected | None


def rows_cause(
    data: bytes, schema: Sequence[Feature], columns: Sequence[str], records: Iterator[Stored]
) -> str:
    """How the rows of an index differ first from the records; "" where they do not.

    Args:
        data: The Parquet file.
        schema: The dataset's features.
        columns: Those that follow from the records.
        records: All of the shard; they are taken as far as the rows reach.

    Raises:
        FileProblemError: They cannot be read.
    """
    with _unreadable():
        # Not `read_table`: its thread pool, still busy at the exit, aborts one process in sixty.
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        if lacking := [name for name in columns if name not in file.schema_arrow.names]:
            return f"it lacks the column {lacking[0]}"
        batches = file.iter_batches(_BATCH_ROWS, columns=list(columns), use_threads=False)
    first = 0
    while True:
        with _unreadable():
            batch = next(batches, None)
        if batch is None:
            return f"it has {first} rows, the shard more records" if next(records, None) else ""
        stored = list(itertools.islice(records, batch.num_rows))
        if len(stored) < batch.num_rows:
            return f"it has more rows than the shard's {first + len(stored)} records"
        if cause := _batch_cause(batch, schema, stored, first):
            return cause
        first += batch.num_rows


def _batch_cause(
    batch: pyarrow.RecordBatch, schema: Sequence[Feature], stored: Sequence[Stored], first: int
) -> str:
    expected = {name: [getattr(each, name) for each in stored] for name in _SPANS}
    whole = [number for number, each in enumerate(stored) if each.record]
    rows = index.Rows(schema)
    for each in stored:
        if each.record:
            rows.add(each.record)
    table = rows.table()
    for name in batch.schema.names:
        found = batch.column(name)
        if name in expected:
            numbers, wanted = (
                list(range(len(stored))),
                pyarrow.array(expected[name], pyarrow.int64()),
            )
        else:
            numbers, wanted = whole, table.column(name).combine_chunks()
            found = (
                found
                if len(whole) == len(stored)
                else found.take(pyarrow.array(whole, pyarrow.int64()))
            )
        if found.type != wanted.type:
            return f"its column {name} is of the type {found.type}, not {wanted.type}"
        if found.equals(wanted):
            continue
        with _unreadable():  # text may not be UTF-8
            pairs = zip(numbers, found.to_pylist(), wanted.to_pylist(), strict=True)
        for number, one, other in pairs:
            if not _is_same(one, other):
                return (
                    f"record {first + number}: its {name} is {_shown(one)}, the shard's record has "
                    f"{_shown(other)}"
                )
    return ""


@contextlib.contextmanager
def _unreadable() -> Iterator[None]:
    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FileProblemError(f"it cannot be read: {reason}") from error


def _is_same(found: Any, wanted: Any) -> bool:
    if found is None:
        return wanted in (None, "", _NO_BYTES) or _is_left_out(wanted)
    return bool(found == wanted) or (found != found and wanted != wanted)  # both NaN


def _is_left_out(value: Any) -> bool:
    """Whether the index of existing Examples has no such text."""
    return isinstance(value, str) and not isinstance(summary("bytes", [value.encode()]), str)


def spans_cause(data: bytes, spans: Sequence[tuple[int, int]]) -> str:
    """What is wrong first with the offsets and lengths in a file for DALI; "" for nothing."""
    wanted = [b"%d %d" % span for span in spans]
    *found, end = data.split(b"\n")
    for number, (line, other) in enumerate(zip(found, wanted, strict=False)):
        if line != other:
            return (
                f"record {number}: it states {_shown(line)}, the shard's record has {_shown(other)}"
            )
    if len(found) != len(wanted):
        return f"it has {len(found)} lines, the shard {len(wanted)} records"
    return f"it ends with {_shown(end)}, where a line should end" if end else ""


def _shown(value: Any) -> str:
    text = repr(value.decode(errors="replace") if isinstance(value, bytes) else value)
    return text if len(text) <= 80 else f"{text[:77]}…"
