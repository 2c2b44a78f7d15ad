"""Read TFRecord files frame by frame.

A length with a wrong checksum ends a file, since the start of the next frame is unknown. A payload
with a wrong checksum costs only that record.
"""

from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.compressed import unpacking
from tfrecord_dataset.format.frames import (
    FRAME_BYTES,
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    payload_bytes,
)
from tfrecord_dataset.seekable import buffered
from tfrecord_dataset.store.urls import unsigned

_BUFFER_BYTES = 1 << 16


def spans(
    handle: Any, start: int = 0, end: int | None = None, number: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield (offset, length) in bytes of every frame of a seekable file, or of a part of it.

    Only lengths are read; `payload_of` checks the rest.

    Args:
        handle: The open file.
        start, end: Offsets of the first frame and after the last one.
        number: Number of the first frame.

    Raises:
        RecordError: "truncated file" or "damaged file" if the frames end before the file.
    """
    size = handle.seek(0, 2) if end is None else end
    offset = handle.seek(start)
    with buffered(handle, _BUFFER_BYTES) as reader:
        while offset < size:
            length = payload_bytes(reader.read(HEADER_BYTES))
            if length is None:
                raise _at(number, offset, _no_frame(size - offset))
            after = offset + length + FRAME_BYTES
            if after > size:
                raise _at(number, offset, _cut_off(after - size))
            yield offset, after - offset
            reader.seek(after)
            offset, number = after, number + 1


def read(handle: Any) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, frame) of every frame of a stream; `payload_of` checks the payloads.

    Raises:
        RecordError: As `spans` and the stream, and "record too large".
    """
    offset = number = 0
    try:
        while header := handle.read(HEADER_BYTES):
            length = payload_bytes(header)
            if length is None:
                raise _no_frame(len(header))
            if length > MAX_PAYLOAD_BYTES:
                raise RecordError("record too large", f"it has {length:,} bytes")
            rest = handle.read(length + 4)
            if len(rest) < length + 4:
                raise _cut_off(length + 4 - len(rest))
            yield offset, header + rest
            offset, number = offset + length + FRAME_BYTES, number + 1
    except RecordError as error:
        raise _at(number, offset, error) from error


def read_file(path: str, compressed: bool) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, frame) of every frame of a file; offsets are in the uncompressed stream.

    Raises:
        RecordError: As `read` and `storage.decompressed`.
    """
    with storage.opened(path) as handle:
        yield from read_open(handle, compressed, unsigned(path).rpartition("/")[2])


def read_open(handle: Any, compressed: bool, name: str) -> Iterator[tuple[int, bytes]]:
    """Like `read_file`, for an open file called `name`."""
    with unpacking(handle, name, "gz") if compressed else buffered(handle, _BUFFER_BYTES) as stream:
        yield from read(stream)


def _no_frame(left: int) -> RecordError:
    if left < HEADER_BYTES:
        return _cut_off(HEADER_BYTES - left)
    return RecordError(
        "damaged file",
        "it does not start with a length and its checksum; what follows cannot be read",
    )


def _cut_off(missing: int) -> RecordError:
    return RecordError("truncated file", f"it lacks its last {missing} bytes")


def _at(number: int, offset: int, error: RecordError) -> RecordError:
    return RecordError(error.reason, f"record {number}, at byte {offset}: {error.detail}")
