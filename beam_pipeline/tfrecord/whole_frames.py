"""What is whole of a damaged TFRecord file: frames are found again behind the damage.

A frame starts wherever a length matches its checksum and the payload behind it the other one. By
chance that is so at one place in 2^64; but a record that holds TFRecords itself has such places,
and where it is damaged, they are taken.
"""

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from tfrecord_dataset.frames import (
    FRAME_BYTES,
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    payload_bytes,
    payload_of,
)

_BLOCK_BYTES = 1 << 20
_CRC_32C = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


class Gap(NamedTuple):
    """Bytes of a file in which there is nothing whole.

    Attributes:
        offset: Where they start.
        length: How many they are.
        cause: What is wrong first.
    """

    offset: int
    length: int
    cause: str


def whole_frames(handle: Any) -> Iterator[tuple[int, bytes] | Gap]:
    """(offset, frame) of every whole frame of a file that can be sought in, and what lies between.

    Lengths that lie take no memory.
    """
    size = handle.seek(0, io.SEEK_END)
    reader = io.BufferedReader(handle, _BLOCK_BYTES)
    offset = 0
    while offset < size:
        frame, cause = _frame_at(reader, offset, size)
        if frame:
            yield offset, frame
            offset += len(frame)
            continue
        end = _stated_end(reader, offset, size) or _find_frame(reader, offset + 1, size)
        yield Gap(offset, end - offset, cause)
        offset = end
    reader.detach()


def _frame_at(reader: io.BufferedReader, offset: int, size: int) -> tuple[bytes, str]:
    """(the whole frame at a place, ""), or (nothing, why there is none)."""
    reader.seek(offset)
    header = reader.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return b"", "the file ends within a record's length"
    length = payload_bytes(header)
    if length is None:
        return b"", "a record's length does not match its checksum"
    if length > MAX_PAYLOAD_BYTES:
        return b"", f"a record of {length:,} bytes is more than {MAX_PAYLOAD_BYTES:,}"
    if (missing := offset + FRAME_BYTES + length - size) > 0:
        return b"", f"the file ends {missing:,} bytes before the record does"
    frame = header + reader.read(length + FRAME_BYTES - HEADER_BYTES)
    try:
        payload_of(frame)
    except RecordError:
        return b"", "a record's payload does not match its checksum"
    return frame, ""


def _stated_end(reader: io.BufferedReader, offset: int, size: int) -> int | None:
    """Where a frame ends of which only the payload is damaged: there is another, or the end.

    Frames in it that reach up to there are none of its own, whose payload ends before its checksum
    does: bytes before them were lost. Then it ends at the first of them.
    """
    reader.seek(offset)
    length = payload_bytes(reader.read(HEADER_BYTES))
    if length is None or (end := offset + FRAME_BYTES + length) > size:
        return None
    reader.seek(end)
    if end < size and payload_bytes(reader.read(HEADER_BYTES)) is None:
        return None
    last = offset
    while (first := _find_frame(reader, last + 1, end)) < end:
        last = first
        while last < end and (frame := _frame_at(reader, last, end)[0]):
            last += len(frame)
        if last == end:
            return first
    return end


def _find_frame(reader: io.BufferedReader, start: int, size: int) -> int:
    """Where the next whole frame starts; `size` where there is none."""
    for block in range(start, size, _BLOCK_BYTES):
        reader.seek(block)
        # A header may reach into the next block.
        data = reader.read(_BLOCK_BYTES + HEADER_BYTES - 1)
        for place in _headers(data):
            if _frame_at(reader, block + place, size)[0]:
                return block + place
    return size


def _crc_table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_CRC_32C), table >> 1)
    return table


_TABLE = _crc_table()


def _headers(data: bytes) -> list[int]:
    """The places in `data` of a length that a record may have, with its checksum."""
    values = np.frombuffer(data, np.uint8)
    count = len(values) - HEADER_BYTES + 1
    if count <= 0:
        return []
    highest = MAX_PAYLOAD_BYTES >> 24
    small = values[3 : count + 3] <= highest
    for byte in range(4, 8):
        small &= values[byte : count + byte] == 0
    places = np.flatnonzero(small)
    checksum = np.full(len(places), 0xFFFFFFFF, np.uint32)
    for byte in range(8):
        checksum = _TABLE[(checksum ^ values[places + byte]) & 0xFF] ^ (checksum >> 8)
    checksum ^= np.uint32(0xFFFFFFFF)
    masked = (checksum >> 15 | checksum << 17) + np.uint32(_MASK_DELTA)
    stated = np.zeros(len(places), np.uint32)
    for byte in range(4):
        stated |= values[places + 8 + byte].astype(np.uint32) << np.uint32(8 * byte)
    found: list[int] = places[masked == stated].tolist()
    return found
