"""Index of a shard: one row per record in Parquet, and offsets and lengths for DALI.

Workers make the rows where they encode the records, chunk by chunk; the writer of the shard
concatenates them. No Beam here: worker processes import this module.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from beam_pipeline import kinds
from beam_pipeline.batch import Examples
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile
from beam_pipeline.records import ListSummary, Value
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import index_file
from tfrecord_dataset.format.metadata import rows_file as rows_file

_STRING, _INT64 = pyarrow.string(), pyarrow.int64()
_TYPES = {"int64": _INT64, "float32": pyarrow.float32(), "string": _STRING}

_ALWAYS = {"key": _STRING, "source": _STRING, "offset": _INT64, "length": _INT64}
# Known only after the records are written.
_SPANS = ("offset", "length")
# Types with values that are stored unchanged in a column of the dtype.
_PLAIN = {"int64": ({int},), "float32": ({float},), "string": ({str},)}
# Longer texts are not copied into the index: they would make it as large as the shard.
MAX_CHARACTERS = 1024
# The columns for a list in existing Examples.
_NO_LIST = {"length": 0}
# Size in memory of one row group of the Parquet file.
_GROUP_BYTES = 8 << 20
_RESERVED = frozenset({*_ALWAYS, "sha256", "width", "height", "labels"})


def files(shard: str, compressed: bool = False) -> tuple[str, ...]:
    """Paths of a shard's index; without DALI's if the shard is compressed and not seekable."""
    return (rows_file(shard),) if compressed else (rows_file(shard), index_file(shard))


def column(data: bytes, name: str) -> Iterator[Any]:
    """Read one column of a shard's index; ArrowException if it cannot be read."""
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data), page_checksum_verification=True)
    batches = file.iter_batches(columns=[name], use_threads=False)
    return (value for batch in batches for value in batch.column(0).to_pylist())


def rows(schema: Sequence[Feature], examples: Examples) -> pyarrow.Table:
    """Return index rows without offset and length, in the order of the shard's records.

    Columns: key, source (strings); offset, length (int64, bytes: start and size of the record's
    frame in the uncompressed stream); then by feature: sha256 of its input (a file, or the
    record's own values and bytes), width and height of an image, sample_rate, num_samples and
    channels of audio, length of a sequence, each prefixed with the feature's name unless it is an
    image called "image"; every scalar and text column under its own name, with an underscore
    appended if that name is taken; labels (list of strings): the class names of the record and its
    boxes. A long text is null. For existing Examples, sha256 is that of the stored image or audio.
    """
    columns = {"key": examples.fields["key"], "source": examples.sources}
    labels: list[Sequence[str]] = [()] * len(examples)
    columns_of = own_columns(schema)
    for feature in schema:
        kind = kinds.named(feature)
        values = _values(feature, examples)
        if column := columns_of.get(feature.name):
            columns[column] = _own_values(feature, values)
        elif facts := kind.fact_types(feature):
            for fact in facts:
                columns[fact_column(feature, fact)] = _facts(fact, values)
        else:
            named = [kind.class_names(value, feature) for value in values]
            labels = [
                (*one, *more) if one else more for one, more in zip(labels, named, strict=True)
            ]
    columns["labels"] = labels
    fields = [field for field in arrow_schema(schema) if field.name not in _SPANS]
    return pyarrow.Table.from_pydict(columns, schema=pyarrow.schema(fields))


def _values(feature: Feature, examples: Examples) -> Sequence[Value | None]:
    """Return the values of a feature, which existing Examples may have under its key."""
    names = dict.fromkeys((feature.name, feature.key))
    by_name = [examples.features[name] for name in names if name in examples.features]
    if len(by_name) < 2:
        return by_name[0] if by_name else [None] * len(examples)
    return [other if value is None else value for value, other in zip(*by_name, strict=True)]


@contextlib.contextmanager
def writing(
    schema: Sequence[Feature], paths: Sequence[str], *, durable: bool = False
) -> Iterator["IndexWriter"]:
    """Write the index of a shard to `paths`, one per name in `files`; fills `writer.files`."""
    with storage.writing(paths[0], durable=durable) as handle:
        rows = HashedFile(handle)
        types = arrow_schema(schema)
        with pyarrow.parquet.ParquetWriter(rows, types, compression="zstd") as parquet:
            writer = IndexWriter(parquet)
            yield writer
            writer.flush()
    writer.files.append(TemporaryFile.of(paths[0], rows))
    for path in paths[1:]:
        with storage.writing(path, durable=durable) as handle:
            spans = HashedFile(handle)
            for some in writer.spans():
                spans.write(some)
        writer.files.append(TemporaryFile.of(path, spans))


class IndexWriter:
    """Writer of a shard's index that takes rows as they come, in groups of some megabytes.

    `files` are the written ones.
    """

    def __init__(self, parquet: pyarrow.parquet.ParquetWriter):
        self._parquet = parquet
        self._waiting: list[pyarrow.Table] = []
        self._waiting_bytes = 0
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._end = 0
        self.files: list[TemporaryFile] = []

    def add(self, table: pyarrow.Table, lengths: npt.NDArray[np.int64]) -> None:
        """Add rows of records whose frames have `lengths` bytes, int64 [n]."""
        ends = self._end + np.cumsum(lengths)
        at = table.schema.get_field_index("source") + 1
        table = table.add_column(at, "offset", pyarrow.array(ends - lengths))
        table = table.add_column(at + 1, "length", pyarrow.array(lengths))
        self._end = int(ends[-1]) if len(ends) else self._end
        self._lengths.append(lengths)
        self._waiting.append(table)
        self._waiting_bytes += table.nbytes
        if self._waiting_bytes >= _GROUP_BYTES:
            self.flush()

    @property
    def num_bytes(self) -> int:
        """Size of all records with their framing, in bytes."""
        return self._end

    @property
    def num_records(self) -> int:
        """Number of records added."""
        return sum(map(len, self._lengths))

    def spans(self) -> Iterator[bytes]:
        """Yield "<offset> <length>" lines, one per record, as DALI reads them, in batches."""
        start = 0
        for lengths in self._lengths:
            ends = start + np.cumsum(lengths)
            spans = zip((ends - lengths).tolist(), lengths.tolist(), strict=True)
            yield "".join(f"{offset} {length}\n" for offset, length in spans).encode()
            start = int(ends[-1]) if len(ends) else start

    def flush(self) -> None:
        """Write the waiting rows."""
        if self._waiting:
            rows = pyarrow.concat_tables(self._waiting)
            self._waiting, self._waiting_bytes = [], 0
            rows = rows.combine_chunks()  # frees the other rows during the write
            self._parquet.write_table(rows)


def _own_values(feature: Feature, values: Sequence[Value | None]) -> Sequence[Value | None]:
    """Return scalars or texts as in their column; None for long texts, and lists of Examples."""
    types = set(map(type, values))
    is_short = types != {str} or max(map(len, values)) <= MAX_CHARACTERS  # type: ignore[arg-type]
    if types in _PLAIN[feature.dtype] and is_short:
        return values
    return [_own(feature, value) for value in values]


def _own(feature: Feature, value: Value | None) -> Value | None:
    if isinstance(value, ListSummary) or (isinstance(value, str) and len(value) > MAX_CHARACTERS):
        return None
    if isinstance(value, int) and feature.dtype == "float32":
        return float(value)  # pyarrow refuses an int that float32 rounds
    return value


def _facts(fact: str, values: Sequence[Value | None]) -> Sequence[Any]:
    """Return the values of a property; None for a list that an existing Example lacks."""
    if len(set(map(type, values))) == 1 and values[0] is not None:
        return kinds.of(values[0]).fact_column(fact, values)
    return [
        _NO_LIST.get(fact) if value is None else kinds.of(value).fact_column(fact, [value])[0]
        for value in values
    ]


def fact_column(feature: Feature, fact: str) -> str:
    """Name the column of a feature's property, such as "sha256"."""
    return fact if feature.name == feature.kind == "image" else f"{feature.name}_{fact}"


def own_columns(schema: Sequence[Feature]) -> dict[str, str]:
    """Return the name of the column of each scalar and text, by feature."""
    facts = {
        fact_column(feature, name)
        for feature in schema
        for name in kinds.named(feature).fact_types(feature)
    }
    taken = _RESERVED | facts
    names = {feature.name for feature in schema}
    columns = {}
    for feature in schema:
        if kinds.named(feature).has_own_column and feature.dtype in _TYPES:
            name = feature.name
            while name in taken or (name in names and name != feature.name):
                name += "_"
            columns[feature.name] = name
    return columns


def arrow_schema(schema: Sequence[Feature]) -> pyarrow.Schema:
    """Return the index columns of these features, with types."""
    column_of = own_columns(schema)
    columns = dict(_ALWAYS)
    for feature in schema:
        for name, dtype in kinds.named(feature).fact_types(feature).items():
            columns[fact_column(feature, name)] = _TYPES[dtype]
        if feature.name in column_of:
            columns[column_of[feature.name]] = _TYPES[feature.dtype]
    columns["labels"] = pyarrow.list_(_STRING)
    return pyarrow.schema(list(columns.items()))
