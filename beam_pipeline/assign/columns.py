"""Inspected records as columns: what routing needs, then their values.

Duplicates, splits and shards are decided from the first columns; the values are read by the process
that encodes them. A table crosses a shuffle as one element, in Arrow's stream format.

No Beam here: worker processes import this module.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from beam_pipeline import batch
from beam_pipeline.batch import Examples
from beam_pipeline.inspect.inspect_batch import annotations

# Arrow's own allocators keep freed memory for later tables: 110 MB in a build of tiny images.
pa.set_memory_pool(pa.system_memory_pool())

# Digests do not compress: as short as 10^8 records and the digest of a shard allow.
_CONTENT_BYTES = 16
CONTENT = f"S{_CONTENT_BYTES}"
_DIGEST_BYTES = 8

# A table's columns; each row is a record:
#   content_digest  equal for records of equal content
#   annotation      digest of the record's annotation of its content
#   digest          digest of everything that determines the record's bytes and its index row
#   position        position in its split's order
#   source          origin of the record; may be empty
#   num_bytes       approximate size in a shard, in bytes
# Further columns have the other fields of records and their values (`beam_pipeline.batch`).
SCHEMA = pa.schema(
    [
        ("content_digest", pa.binary(_CONTENT_BYTES)),
        ("annotation", pa.binary(_DIGEST_BYTES)),
        ("digest", pa.binary(_DIGEST_BYTES)),
        ("key", pa.large_string()),
        ("split", pa.large_string()),
        ("position", pa.uint64()),
        ("source", pa.large_string()),
        ("num_bytes", pa.int64()),
    ]
)
# LZ4 leaves 1.15 times the bytes that Zstandard does, for a tenth of the CPU time of small tables.
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
# Reads only the routing columns, a small part of the bytes; columns of values come last.
READ_ROUTES = pa.ipc.IpcReadOptions(use_threads=False, included_fields=list(range(len(SCHEMA))))
_FIELDS = ("source_id", "notes", "example")


def table_of(examples: Examples, splits: Sequence[str], positions: Sequence[int]) -> pa.Table:
    """Return a table of inspected examples with these splits and positions."""
    keys, sources, ids = (examples.field(name) for name in ("key", "source", "source_id"))
    content_digests: Sequence[str] = examples.fields["content_digest"]
    annotation = list(map(_digest, annotations(examples)))
    identities = (
        f"{key!r} {source!r} {source_id!r} {content}"
        for key, source, source_id, content in zip(keys, sources, ids, content_digests, strict=True)
    )
    routes = {
        "content_digest": list(map(content_of, content_digests)),
        "annotation": annotation,
        "digest": list(map(_digest, identities, annotation)),
        "key": keys,
        "split": splits,
        "position": positions,
        "source": sources,
        "num_bytes": examples.fields["num_bytes"],
    }
    others = batch.field_columns({name: examples.field(name) for name in _FIELDS})
    others |= batch.value_columns({**examples.features, **_ranges_or_values(examples)})
    # Together, since a table of n columns costs n to make.
    return pa.Table.from_arrays(
        [
            *(
                pa.array(routes[name], dtype)
                for name, dtype in zip(SCHEMA.names, SCHEMA.types, strict=True)
            ),
            *others.values(),
        ],
        names=[*SCHEMA.names, *others],
    )


def _ranges_or_values(examples: Examples) -> dict[str, list[Any]]:
    """Return the columns with byte ranges; a row without a range has its value."""
    return {
        name: [
            value if deferred is None else deferred
            for deferred, value in zip(ranges, examples.features[name], strict=True)
        ]
        for name, ranges in examples.deferred.items()
    }


def _digest(text: str, more: bytes = b"") -> bytes:
    data = text.encode("utf-8", "surrogateescape") + more
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def content_of(content_digest: str) -> bytes:
    """Convert a record's content digest to the bytes of its column."""
    return bytes.fromhex(content_digest)[:_CONTENT_BYTES]


def source_ids(table: pa.Table, first_number: int | None) -> Sequence[str]:
    """Return the decimal numbers from `first_number` on; if it is None, the records' own ids."""
    if first_number is None:
        return batch.field(table, "source_id")
    return list(map(str, range(first_number, first_number + table.num_rows)))


def to_bytes(table: pa.Table, *, compressed: bool = True) -> bytes:
    """Serialize a table as one element of a shuffle, or for a pipe."""
    return bytes(batch.to_stream(table, _COMPRESSED if compressed else batch.PLAIN))


def from_bytes(batches: Iterable[bytes], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Join tables from `to_bytes` into one, with the columns of `schema` and of values."""
    return concatenated([schema.empty_table(), *map(batch.from_stream, batches)])


def concatenated(tables: Iterable[pa.Table]) -> pa.Table:
    """Concatenate tables; a column that a table lacks is null in its rows."""
    first, *others = tables
    table = pa.concat_tables([first, *others], promote_options="default") if others else first
    return table.combine_chunks()


def parts(
    batches: Iterable[bytes], max_rows: int, options: pa.ipc.IpcReadOptions = batch.READ
) -> Iterator[pa.Table]:
    """Yield tables from `to_bytes`, joined so that all but the last have `max_rows` or more.

    None is empty.
    """
    waiting: list[pa.Table] = []
    num_rows = 0
    for data in batches:
        table = pa.ipc.open_stream(data, options=options).read_all()
        waiting.append(table)
        num_rows += table.num_rows
        if num_rows >= max_rows:
            yield concatenated(waiting)
            waiting, num_rows = [], 0
    if num_rows:
        yield concatenated(waiting)


def numbers(table: pa.Table, column: str) -> npt.NDArray[Any]:
    """Return a column of numbers: uint64 or int64 [n]."""
    values: npt.NDArray[Any] = table.column(column).to_numpy()
    return values


def binaries(table: pa.Table, column: str) -> npt.NDArray[np.bytes_]:
    """Return a column of equally long digests, for comparing and sorting."""
    values = table.column(column).combine_chunks()
    width = SCHEMA.field(column).type.byte_width
    return np.frombuffer(values.buffers()[1], f"S{width}", len(values), values.offset * width)


def repeated(parts: Iterable[pa.Table], column: str) -> pa.Array:
    """Return the values that occur in several rows of a column."""
    known = distinct = pa.array([], SCHEMA.field(column).type)
    for part in parts:
        counted = pc.value_counts(part.column(column).combine_chunks())
        values = counted.field("values")
        is_known = pc.is_in(values, known)
        again = values.filter(pc.or_(is_known, pc.greater(counted.field("counts"), 1)))
        distinct = pc.unique(pa.concat_arrays([distinct, again]))
        known = pa.concat_arrays([known, values.filter(pc.invert(is_known))])
    return distinct


def rows_by_split(table: pa.Table) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Yield (split, row numbers) for each split in a table."""
    splits = table.column("split").combine_chunks().dictionary_encode()
    codes = splits.indices.to_numpy()
    for code, split in enumerate(splits.dictionary.to_pylist()):
        yield split, np.flatnonzero(codes == code)


def divide(table: pa.Table, keys: npt.NDArray[np.int64]) -> Iterator[tuple[int, pa.Table]]:
    """Yield (key, its rows) in ascending order; `keys`, int64 [n], has the key of each row."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    if not len(keys) or ordered[0] == ordered[-1]:
        yield from [(int(ordered[0]), table)] if len(keys) else []
        return
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    table = table.take(order)
    for start, end in zip(starts, [*starts[1:], len(keys)], strict=True):
        yield int(ordered[start]), table.slice(start, end - start)


def in_order(table: pa.Table) -> pa.Table:
    """Sort rows by position, the order within a shard."""
    return table.sort_by([("position", "ascending"), ("key", "ascending")]).combine_chunks()


def chunks(table: pa.Table, max_bytes: int, max_records: int) -> Iterator[pa.Table]:
    """Yield the rows in order, in tables within both limits; a larger record gets its own table."""
    ends = np.cumsum(numbers(table, "num_bytes"))
    start, count = 0, len(ends)
    while start < count:
        before = ends[start - 1] if start else 0
        end = int(np.searchsorted(ends, before + max_bytes, side="right"))
        end = min(max(end, start + 1), start + max_records, count)
        yield table.slice(start, end - start)
        start = end


def digest_of(parts: Iterable[pa.Table], *others: object) -> str:
    """Return the hex digest of everything that determines a shard's bytes: rows and `others`."""
    digest = hashlib.sha256(repr(others).encode())
    for part in parts:
        digest.update(binaries(part, "digest").tobytes())
    return digest.hexdigest()
