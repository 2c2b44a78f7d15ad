"""Arrow IPC files and streams: their groups are record batches.

Both are a row of messages: the schema, dictionaries, record batches. A file has them behind eight
bytes, and a footer, which is not needed, behind them. Values that are not compressed lie there as
they are. Format: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-ipc
"""

import contextlib
import functools
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.sources.columnar.row_groups import RowGroups, opened, unsupported
from tfrecord_dataset.inflation import is_inflated

_FILE_MAGIC = b"ARROW1\0\0"
_OLD_FEATHER = b"FEA1"
_CONTINUES = b"\xff\xff\xff\xff"
_MAX_METADATA_BYTES = 16 << 20
# A batch is in memory whole, twice for a moment.
_MAX_BATCH_BYTES = 512 << 20
# Message.header_type.
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3


class _Message(NamedTuple):
    """Where a message lies, and what its metadata says.

    Attributes:
        start, body, end: Bytes of the file.
        kind: One of `_SCHEMA`, `_DICTIONARY`, `_BATCH`, or another.
        num_rows: Of a batch.
        buffers: (offset, length) in the body of what is compressed there; none where nothing is.
    """

    start: int
    body: int
    end: int
    kind: int
    num_rows: int = 0
    buffers: tuple[tuple[int, int], ...] = ()

    @property
    def num_bytes(self) -> int:
        return self.end - self.start


class _ArrowGroups(RowGroups):
    def __init__(self, path: str, handle: Any):
        self._path, self._handle = path, handle
        messages = _messages(path, storage.version(path))
        if not messages or messages[0].kind != _SCHEMA:
            raise pa.ArrowInvalid("it does not begin with a schema")
        self._groups = [each for each in messages if each.kind == _BATCH]
        self._others = [each for each in messages if each.kind != _BATCH]
        self.num_groups = len(self._groups)
        schema = self._read(messages[0])
        self.schema = pa.ipc.read_schema(pa.py_buffer(schema))
        self._data: pa.Buffer | None = None
        self._shift = 0

    def num_rows(self, group: int) -> int:
        return self._groups[group].num_rows

    def batches(
        self, group: int, columns: Sequence[str], num_rows: int
    ) -> Iterator[pa.RecordBatch]:
        batch = self._groups[group]
        before = [self._read(each) for each in self._others if each.start < batch.start]
        self._shift = batch.start - sum(map(len, before))
        self._data = pa.py_buffer(b"".join((*before, self._read(batch))))
        fields = [self.schema.get_field_index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        with pa.ipc.open_stream(self._data, options=options) as reader:
            rows = reader.read_next_batch()
        rows.validate(full=True)
        for start in range(0, len(rows), num_rows):
            yield rows.slice(start, num_rows)

    def place(self, address: int, num_bytes: int) -> FileRef | None:
        assert self._data is not None
        offset = address - self._data.address
        if not 0 <= offset <= offset + num_bytes <= self._data.size:
            return None
        return FileRef(path=self._path, offset=self._shift + offset, length=num_bytes)

    def _read(self, message: _Message) -> bytes:
        self._check_size(message.num_bytes)
        self._handle.seek(message.start)
        data = bytes(self._handle.read(message.num_bytes))
        body = message.body - message.start
        content = sum(
            max(0, *struct.unpack_from("<q", data, body + offset)) for offset, _ in message.buffers
        )
        if is_inflated(message.num_bytes, content):
            raise pa.ArrowInvalid(f"it states {content:,} bytes, made of {message.num_bytes:,}")
        self._check_size(content)
        return data

    def _check_size(self, num_bytes: int) -> None:
        if num_bytes > _MAX_BATCH_BYTES:
            raise unsupported(
                self._path,
                f"a record batch has {num_bytes:,} bytes, more than {_MAX_BATCH_BYTES:,}",
                "write smaller ones: feather.write_feather(table, path, chunksize=1000) of pyarrow",
            )


@contextlib.contextmanager
def opened_arrow(path: str) -> Iterator[RowGroups]:
    """An Arrow IPC file or stream to read; raises what `opened` does."""
    with opened(path, "Arrow file") as handle:
        yield _ArrowGroups(path, handle)


@functools.lru_cache(maxsize=64)
def _messages(path: str, version: str) -> Sequence[_Message]:
    """The messages of the file at a path, which is of a version; their bodies are not read."""
    size = storage.size(path) or 0
    with storage.opened(path) as handle:
        start = bytes(handle.read(len(_FILE_MAGIC)))
        if start.startswith(_OLD_FEATHER):
            raise unsupported(
                path,
                "it is Feather of version 1",
                "write it anew: feather.write_feather(feather.read_table(path), path) of pyarrow",
            )
        return list(_walk(handle, start, size))


def _walk(handle: Any, start: bytes, size: int) -> Iterator[_Message]:
    at = len(_FILE_MAGIC) if start == _FILE_MAGIC else 0
    while at < size:
        handle.seek(at)
        prefix = bytes(handle.read(8))
        if prefix[:4] != _CONTINUES:
            raise pa.ArrowInvalid(f"no message begins at byte {at:,}")
        (length,) = struct.unpack_from("<i", prefix, 4)
        if not length:
            return
        if not 0 < length <= min(_MAX_METADATA_BYTES, size - at):
            raise pa.ArrowInvalid(f"the message at byte {at:,} states {length:,} bytes")
        message = _parsed(bytes(handle.read(length)), at)
        if not message.body <= message.end <= size:
            raise pa.ArrowInvalid(f"it ends within the message at byte {at:,}")
        yield message
        at = message.end


def _parsed(metadata: bytes, start: int) -> _Message:
    """The message whose metadata are given; raises struct.error where they are none."""
    flat = _FlatBuffer(metadata)
    body = start + 8 + len(metadata)
    root = flat.offset(0)
    kind = flat.number("<B", root, 1)
    end = body + flat.number("<q", root, 3)
    if kind not in (_DICTIONARY, _BATCH):
        return _Message(start, body, end, kind)
    batch = flat.below(root, 2)
    if kind == _DICTIONARY:
        batch = flat.below(batch, 1)
    num_rows = flat.number("<q", batch, 0)
    if num_rows < 0 or is_inflated(end - start, num_rows):
        raise pa.ArrowInvalid(f"the message at byte {start:,} states {num_rows:,} rows")
    buffers = [
        (offset, length)
        for offset, length in (flat.pairs(batch, 2) if flat.field(batch, 3) else ())
        if length >= 8 and 0 <= offset <= end - body - 8
    ]
    return _Message(start, body, end, kind, num_rows, tuple(buffers))


class _FlatBuffer:
    """Tables of a FlatBuffer, by where they begin (https://flatbuffers.dev/internals/)."""

    def __init__(self, data: bytes):
        self._data = data

    def _unpack(self, form: str, at: int) -> Any:
        if at < 0:
            raise struct.error(f"no value lies at {at}")
        return struct.unpack_from(form, self._data, at)[0]

    def offset(self, at: int) -> int:
        """Where the offset at a place leads."""
        return at + int(self._unpack("<I", at))

    def field(self, table: int, number: int) -> int:
        """Where a field of a table lies; 0 where it has none."""
        slots = table - self._unpack("<i", table)
        if 4 + 2 * number >= self._unpack("<H", slots):
            return 0
        offset = int(self._unpack("<H", slots + 4 + 2 * number))
        return table + offset if offset else 0

    def number(self, form: str, table: int, number: int) -> int:
        """A field that is a number; 0 where the table lacks it."""
        at = self.field(table, number)
        return int(self._unpack(form, at)) if at else 0

    def below(self, table: int, number: int) -> int:
        """Where the table begins that a field leads to."""
        at = self.field(table, number)
        if not at:
            raise struct.error(f"field {number} is missing")
        return self.offset(at)

    def pairs(self, table: int, number: int) -> list[tuple[int, int]]:
        """A field that is a vector of pairs of 64-bit numbers."""
        if not self.field(table, number):
            return []
        at = self.below(table, number)
        (count,) = struct.unpack_from("<I", self._data, at)
        if count * 16 > len(self._data) - at - 4:
            raise struct.error(f"{count} pairs do not fit")
        return list(struct.iter_unpack("<qq", self._data[at + 4 : at + 4 + count * 16]))
