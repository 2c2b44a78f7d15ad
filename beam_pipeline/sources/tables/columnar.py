"""Read Parquet and Arrow files, of Hugging Face and others, with a feature per column.

Files in a column (images, audio) are copied to the scratch folder. Hugging Face writes its features
as JSON into the schema's metadata: which structs are images or audio, and the names of classes that
are stored as numbers (https://huggingface.co/docs/datasets/about_dataset_features).
"""

import contextlib
import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.media import audio_formats, other_formats
from beam_pipeline.sources.json_items import is_deep
from beam_pipeline.sources.paths import name_of
from beam_pipeline.sources.tables.parts import WHOLE, Part
from beam_pipeline.sources.tables.read_tables import ReadContainers
from beam_pipeline.sources.tables.table import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    ColumnDeclaration,
    Scratch,
    Table,
    TableFile,
    files_of,
    json_text,
)
from beam_pipeline.sources.tables.types import in_column, unsupported
from beam_pipeline.sources.tables.usual_columns import BOXES, lowered
from tfrecord_dataset.format.inflation import TOO_LARGE, check_inflation, check_rows, is_inflated

_BATCH, _DICTIONARY = "record batch", "dictionary"  # types of messages
_FILE_MAGIC = b"ARROW1"
_FILE_HEADER_BYTES = 8
_LONG_ROW_BYTES = 1024
_MEDIA = {"Image": "image", "Audio": "audio"}
_LISTS = ("Sequence", "List", "LargeList")
_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
_STRINGS = (pa.string(), pa.large_string(), *_BYTES[:2])


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnarTable(Table):
    """A Parquet or Arrow file."""

    sign = "#"

    is_parquet: bool

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        declarations = self.declarations
        names = [name for name, declared in declarations.items() if scratch or not declared.media]
        number = self.part.row
        with _opened(self.file.path) as handle:
            for rows in _batches(handle, names, self.part, is_parquet=self.is_parquet):
                columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in declarations}
                for name in names:
                    with in_column(name):
                        values = declarations[name].convert(rows[name])
                    is_file = declarations[name].media
                    columns[name] = files_of(values, scratch) if is_file else values
                yield Batch(columns=columns, lines=range(number, number + len(rows)))
                number += len(rows)

    def smallest_parts(self) -> Iterator[Part]:
        if not storage.is_compressed(self.file.path):
            with _opened(self.file.path) as handle:
                yield from (_row_groups if self.is_parquet else _record_batches)(handle)


@dataclasses.dataclass
class ReadArrow(ReadContainers):
    """Read the rows of Arrow files: Hugging Face's `save_to_disk`, Feather, IPC."""

    suffixes: ClassVar[tuple[str, ...]] = ("arrow", "feather")
    is_parquet: ClassVar[bool] = False

    def opened(self, file: TableFile) -> Table:
        try:
            with _opened(file.path) as handle, naming(name_of(file.path)):
                schema = _schema(handle, is_parquet=self.is_parquet)
                names = tuple(schema.names)
                if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                    detail = f"two columns are called {twice[0]!r}; rename one"
                    raise RecordError("unsupported column", detail)
                features = _features_of(schema)
                declarations = {
                    field.name: _declaration_of(
                        field,
                        features.get(field.name),
                        functools.partial(_first_bytes, handle, field.name, self.is_parquet),
                    )
                    for field in schema
                    if field.name and field.name not in self.ignore_columns
                }
        except DataError as error:
            raise RecordError("damaged file", str(error)) from error
        return ColumnarTable(
            file=file, header=names, declarations=declarations, is_parquet=self.is_parquet
        )


@dataclasses.dataclass
class ReadParquet(ReadArrow):
    """Read the rows of Parquet files; the schema's metadata names the classes."""

    suffixes = ("parquet",)
    is_parquet = True


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file for Arrow; raise DataError if it is damaged."""
    with storage.opened(path) as handle:
        try:
            yield handle
        except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # not one of Arrow's
                raise
            raise DataError(f"{path} cannot be read ({error}); fetch it again") from error


def _schema(handle: Any, *, is_parquet: bool) -> pa.Schema:
    if not is_parquet:
        with _arrow_reader(handle) as reader:
            return reader.schema
    size = handle.seek(0, 2)
    with pq.ParquetFile(handle, page_checksum_verification=True) as file:
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        check_inflation("it", size, sum(group.total_byte_size for group in groups))
        check_rows("it", size, file.metadata.num_rows)
        return file.schema_arrow


def _row_groups(handle: Any) -> Iterator[Part]:
    row = 0
    with pq.ParquetFile(handle) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            columns = map(group.column, range(group.num_columns))
            num_bytes = sum(column.total_compressed_size for column in columns)
            yield Part(number, number + 1, row, num_bytes)
            row += group.num_rows


def _record_batches(handle: Any) -> Iterator[Part]:
    """Yield the batches of a file; none if a dictionary is below one."""
    parts: list[Part] = []
    start = row = 0
    _seek_messages(handle)
    for message in pa.ipc.MessageReader.open_stream(handle):
        if message.type == _DICTIONARY and parts:
            return
        if message.type == _BATCH:
            end = handle.tell()
            parts.append(Part(start, end, row, end - start))
            start, row = end, row + _BatchHeader(message).num_rows
    yield from parts


def _seek_messages(handle: Any) -> int:
    """Go to the first message; return the file's size."""
    size = int(handle.seek(0, 2))
    handle.seek(0)
    start = 0
    if handle.read(len(_FILE_MAGIC)) == _FILE_MAGIC:  # then a stream, a footer, and the magic again
        start = _FILE_HEADER_BYTES
        handle.seek(max(start, size - len(_FILE_MAGIC)))
        if handle.read() != _FILE_MAGIC:
            raise pa.ArrowInvalid("it ends before its footer does")
    handle.seek(start)
    return size


def _arrow_reader(
    handle: Any, options: pa.ipc.IpcReadOptions | None = None, part: Part = WHOLE
) -> Any:
    size = _seek_messages(handle)
    messages = _Messages(_messages_of(handle, part), part.num_bytes or size)
    return pa.ipc.open_stream(pa.PythonFile(messages, "r"), options=options)


def _messages_of(handle: Any, part: Part) -> Iterator[pa.Message]:
    """Yield a part's messages, below the schema and the dictionaries that begin the file."""
    messages = pa.ipc.MessageReader.open_stream(handle)
    if part.start:
        yield from itertools.takewhile(lambda each: each.type != _BATCH, messages)
        handle.seek(part.start)
        messages = pa.ipc.MessageReader.open_stream(handle)
    for message in messages:
        yield message
        if handle.tell() == part.end:
            return


class _Messages:
    """A stream of Arrow messages, checked before Arrow unpacks their compressed buffers."""

    closed = False

    def __init__(self, messages: Iterator[pa.Message], size: int) -> None:
        self._messages = messages
        self._rest = pa.BufferReader(b"")
        self._size, self._num_bytes = size, 0

    def read(self, num_bytes: int) -> bytes:
        """Read bytes, fewer at the end; raise RecordError if buffers unpack to too many."""
        data: bytes = self._rest.read(num_bytes)
        while len(data) < num_bytes and (message := next(self._messages, None)):
            self._num_bytes += sum(_unpacked_sizes(message))
            check_inflation("it", self._size, self._num_bytes)
            self._rest = pa.BufferReader(message.serialize())
            data += self._rest.read(num_bytes - len(data))
        return data

    def close(self) -> None:
        """Do nothing: the caller that opened the stream closes it."""


class _BatchHeader:
    """The header of a record batch, perhaps of a dictionary, in a message.

    Format: Arrow's Message.fbs, a FlatBuffer whose offsets Arrow has checked.
    """

    def __init__(self, message: pa.Message) -> None:
        self._data = memoryview(message.metadata)
        self._batch = self._target(self._member(self._target(0), 2))
        if message.type == _DICTIONARY:
            self._batch = self._target(self._member(self._batch, 1))

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        place = self._member(self._batch, 0)
        return self._number(place, 8) if place else 0

    def compressed_buffers(self) -> Iterator[tuple[int, int]]:
        """Yield (start, length) in the body of each buffer, if buffers are compressed."""
        if self._member(self._batch, 3):
            buffers = self._target(self._member(self._batch, 2))
            for at in range(buffers + 4, buffers + 4 + 16 * self._number(buffers), 16):
                yield self._number(at, 8), self._number(at + 8, 8)

    def _number(self, at: int, size: int = 4) -> int:
        return int.from_bytes(self._data[at : at + size], "little", signed=size > 2)

    def _member(self, table: int, index: int) -> int:
        """Return the offset of a table's member; 0 if it is missing."""
        fields, place = table - self._number(table), 4 + 2 * index
        offset = self._number(fields + place, 2) if place < self._number(fields, 2) else 0
        return table + offset if offset else 0

    def _target(self, at: int) -> int:
        return at + self._number(at)


def _unpacked_sizes(message: pa.Message) -> Iterator[int]:
    """Yield the stated unpacked size of each compressed buffer of a message."""
    if message.type in (_BATCH, _DICTIONARY):
        for start, length in _BatchHeader(message).compressed_buffers():
            stated = bytes(message.body[start : start + 8]) if length else b""
            yield max(0, int.from_bytes(stated, "little", signed=True))  # -1: not compressed


def _batches(
    handle: Any, names: Sequence[str], part: Part = WHOLE, *, is_parquet: bool
) -> Iterator[pa.RecordBatch]:
    """Yield batches of rows with the columns `names`."""
    read = _parquet_batches if is_parquet else _arrow_batches
    size, long_bytes = part.num_bytes or handle.seek(0, 2), 0
    for rows in read(handle, names, part):
        rows.validate(full=True)
        num_bytes = sum(map(_unpacked_bytes, rows.columns))
        # Repeated short texts are harmless.
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
    """Return the unpacked size of values, which may share entries of a dictionary or view."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        entries = values.dictionary
        if _is_text(entries.type):
            return int(pc.sum(_byte_lengths(entries).take(values.indices)).as_py() or 0)
        return int(entries.nbytes) * len(values) // max(1, len(entries))
    if _is_view(kind):
        return int(pc.sum(_byte_lengths(values)).as_py() or 0)
    if kind.num_fields:
        is_map = pa.types.is_map(kind)
        inner = [values.keys, values.items] if is_map else values.flatten()
        return sum(map(_unpacked_bytes, inner if isinstance(inner, list) else [inner]))
    return int(values.nbytes)


def _byte_lengths(texts: pa.Array) -> pa.Array:
    if not _is_view(texts.type):
        return pc.binary_length(texts)
    views = np.frombuffer(texts.buffers()[1], np.int32).reshape(-1, 4)
    return pa.array(views[texts.offset : texts.offset + len(texts), 0], pa.int64())


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _is_text(kind: pa.DataType) -> bool:
    return kind in _STRINGS or _is_view(kind)


def _is_bounded(kind: pa.DataType) -> bool:
    """Return whether a type's unpacked size is known before unpacking."""
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type) or not kind.value_type.num_fields
    shares = (
        pa.types.is_run_end_encoded,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
        pa.types.is_union,
    )
    return not any(is_type(kind) for is_type in shares)


def _parquet_batches(handle: Any, names: Sequence[str], part: Part) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(handle, page_checksum_verification=True) as file:
        for number in range(file.metadata.num_row_groups)[part.start : part.end]:
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


def _arrow_batches(handle: Any, names: Sequence[str], part: Part) -> Iterator[pa.RecordBatch]:
    schema = _schema(handle, is_parquet=False)
    fields = [schema.get_field_index(name) for name in names]
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    with _arrow_reader(handle, options, part) as reader:
        yield from reader


def _first_bytes(handle: Any, column: str, is_parquet: bool) -> bytes:
    """Return the first bytes of the first value in a column of files."""
    for rows in _batches(handle, [column], is_parquet=is_parquet):
        for value in rows[column].to_pylist():
            data = value.get("bytes") if isinstance(value, dict) else value
            if data is not None:
                return bytes(data[:64])
    return b""


def _features_of(schema: pa.Schema) -> Mapping[str, Any]:
    """Return Hugging Face's features by column; empty if the schema has none."""
    try:
        text = (schema.metadata or {})[b"huggingface"].decode()
        features = {} if is_deep(text) else json.loads(text)["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def _declaration_of(
    field: pa.Field, feature: Any, first_bytes: Callable[[], bytes]
) -> ColumnDeclaration:
    """Declare a column by its Arrow type and by Hugging Face's feature, if any.

    Raises:
        RecordError: "unsupported column": no feature can hold its values.
    """
    kind = field.type
    if _is_file(kind):
        media = _MEDIA.get(feature.get("_type", ""), "") if isinstance(feature, dict) else ""
        if not media:
            return declaration_of_bytes(field.name, first_bytes())
        return ColumnDeclaration(media=media)
    if any(map(_is_file, _types_in(kind))):
        detail = f"column {field.name!r} holds files in lists or structs, not one a row"
        raise unsupported(detail, field.name)
    kinds = (kind, *_types_in(kind))
    if not all(map(_is_bounded, kinds)):
        detail = f"column {field.name!r} is of the type {kind}, which is not read"
        raise unsupported(detail, field.name)
    structs = [each for each in kinds if pa.types.is_struct(each) or pa.types.is_map(each)]
    as_json = bool(structs) and lowered(field.name) not in BOXES
    classes = () if as_json else next(_classes_in(feature), ())
    convert = functools.partial(
        _values, kind=_json_type(kind), feature=feature if classes else None, as_json=as_json
    )
    return ColumnDeclaration(convert=convert, classes=classes)


def _is_file(kind: pa.DataType) -> bool:
    """Return whether a type may hold encoded files: bytes, or a struct of bytes and a path."""
    if pa.types.is_struct(kind):
        names = {kind.field(number).name for number in range(kind.num_fields)}
        return "bytes" in names <= {"bytes", "path"} and _is_file(kind.field("bytes").type)
    return kind in _BYTES or pa.types.is_fixed_size_binary(kind)


def declaration_of_bytes(name: str, data: bytes) -> ColumnDeclaration:
    """Declare a column of bytes by `data`, the start of one of its values.

    Raises:
        RecordError: "unsupported column": it holds neither images nor audio.
    """
    for kind, sniff in (("image", other_formats.sniff), ("audio", audio_formats.sniff)):
        with contextlib.suppress(RecordError):  # not of this kind
            sniff(data)
            return ColumnDeclaration(media=kind)
    raise unsupported(f"column {name!r} holds bytes that are neither images nor audio", name)


def _types_in(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Yield the types nested in a type, at any depth."""
    for number in range(kind.num_fields):
        yield kind.field(number).type
        yield from _types_in(kind.field(number).type)


def _json_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type to cast to for JSON: text for times, float for decimals."""
    if pa.types.is_temporal(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return pa.float64()
    return kind.value_type if pa.types.is_dictionary(kind) else None


def _values(array: Any, kind: pa.DataType | None, feature: Any, *, as_json: bool) -> list[Any]:
    values: list[Any] = (array if kind is None else pc.cast(array, kind)).to_pylist()
    if as_json:
        return list(map(json_text, values))
    return [_with_names(value, feature) for value in values] if feature else values


def _with_names(value: Any, feature: Any) -> Any:
    """Replace numbers of classes in a value by names; -1 means no class."""
    inner = _element(feature)
    match value:
        case list():
            return [_with_names(each, inner) for each in value]
        case dict() if isinstance(inner, dict):
            return {name: _with_names(each, inner.get(name)) for name, each in value.items()}
        case int() if names := _classes(inner):
            return names[value] if 0 <= value < len(names) else None if value == -1 else value
    return value


def _element(feature: Any) -> Any:
    if isinstance(feature, list):
        return feature[0] if feature else None
    is_list = isinstance(feature, dict) and feature.get("_type") in _LISTS
    return feature.get("feature") if is_list else feature


def _classes(feature: Any) -> Sequence[str]:
    if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
        names = feature.get("names")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
    return ()


def _classes_in(feature: Any) -> Iterator[tuple[str, ...]]:
    if names := _classes(feature):
        yield tuple(names)
    elif (inner := _element(feature)) is not feature:
        yield from _classes_in(inner)
    elif isinstance(feature, dict):
        for part in feature.values():
            yield from _classes_in(part)
