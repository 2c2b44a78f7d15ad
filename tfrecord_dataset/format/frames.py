"""Frames of a TFRecord file: length, its checksum, payload, its checksum.

Source: tensorflow/core/lib/io/record_writer.h. Numbers are little-endian; checksums are CRC-32C,
masked.
"""

import functools
import struct
from typing import Any

import google_crc32c
import numpy as np

from tfrecord_dataset.errors import RecordError

# The length and its checksum.
HEADER_BYTES = 12
# The checksum after the payload.
FOOTER_BYTES = 4
# Size of a frame without its payload.
FRAME_BYTES = HEADER_BYTES + FOOTER_BYTES
# Protocol buffers are limited to 2 GiB, and a record is held in memory.
MAX_PAYLOAD_BYTES = 1 << 30
MAX_FRAME_BYTES = MAX_PAYLOAD_BYTES + FRAME_BYTES

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8


def masked_checksum(data: bytes) -> int:
    """Return the masked checksum of `data`."""
    checksum: int = google_crc32c.value(data)
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF


def payload_bytes(header: bytes) -> int | None:
    """Parse the payload's length in a frame's header; None if it is invalid."""
    if len(header) < HEADER_BYTES:
        return None
    length: int
    length, checksum = _HEADER.unpack(header)
    return length if masked_checksum(header[:8]) == checksum else None


def starts_frame(head: bytes) -> bool:
    """Whether a file that starts with `head` is a TFRecord file with at least one record."""
    return len(head) >= HEADER_BYTES and payload_bytes(head[:HEADER_BYTES]) is not None


def framed(payload: bytes) -> bytes:
    """Frame `payload`."""
    footer = _CHECKSUM.pack(masked_checksum(payload))
    return b"".join((_header(len(payload)), payload, footer))


@functools.lru_cache(4096)
def _header(num_bytes: int) -> bytes:
    length = struct.pack("<Q", num_bytes)
    return length + _CHECKSUM.pack(masked_checksum(length))


def payload_of(frame: bytes) -> bytes:
    """Return the payload of a complete frame after checking both checksums.

    Raises:
        RecordError: "damaged record" if a checksum is wrong.
    """
    if payload_bytes(frame[:HEADER_BYTES]) != len(frame) - FRAME_BYTES:
        raise RecordError("damaged record", "the length's checksum is wrong")
    payload = frame[HEADER_BYTES:-FOOTER_BYTES]
    if _CHECKSUM.unpack(frame[-FOOTER_BYTES:])[0] != masked_checksum(payload):
        raise RecordError("damaged record", "the payload's checksum is wrong")
    return payload


def unframed(content: bytes, starts: Any, ends: Any) -> tuple[list[bytes], Any]:
    """Return the payloads of the frames at these bounds, int64 [n], and whether each is intact."""
    payloads = [
        content[start:end]
        for start, end in zip(
            (starts + HEADER_BYTES).tolist(), (ends - FOOTER_BYTES).tolist(), strict=True
        )
    ]
    array = np.frombuffer(content, np.uint8)
    lengths = _numbers(array, starts, "<u8")
    checksums = _numbers(array, ends - FOOTER_BYTES, "<u4")
    computed = np.fromiter(map(google_crc32c.value, payloads), np.uint32, len(payloads))
    masked = (computed >> 15 | computed << 17) + np.uint32(_MASK_DELTA)
    return payloads, (lengths == ends - starts - FRAME_BYTES) & (checksums == masked)


def _numbers(array: Any, places: Any, dtype: str) -> Any:
    """Decode the little-endian numbers at these offsets of uint8 [bytes]: [n]."""
    width = np.dtype(dtype).itemsize
    return np.ascontiguousarray(array[places[:, None] + np.arange(width)]).view(dtype)[:, 0]
