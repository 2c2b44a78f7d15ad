"""WAV: compare the header with the file, and write the header of converted audio.

libsndfile silently accepts truncated files. Source: Multimedia Programming Interface and Data
Specifications 1.0.
"""

import struct
from typing import Literal

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio_format import DAMAGED, NO_SAMPLES, TRUNCATED

_PCM, _FLOAT = 0x0001, 0x0003
# Size that some writers state while the length is unknown.
_UNKNOWN = 0xFFFF_FFFF
# Some writers also count the first eight bytes of the file.
_MISCOUNTED = 8


def check(data: bytes) -> int:
    """Check the chunks of a WAV file up to its samples; return the samples per channel."""
    frame_bytes, offset = 0, 12
    while offset + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, offset)
        offset += 8
        if name == b"data":
            if not frame_bytes:
                raise RecordError(DAMAGED, "the samples come before their format")
            _check_length(data, offset, size, frame_bytes)
            return int(size // frame_bytes)
        if offset + size > len(data):
            break
        if name == b"fmt ":
            frame_bytes = _frame_bytes(data[offset : offset + size])
        offset += size + size % 2  # chunks start at even bytes
    raise RecordError(TRUNCATED, f"it ends after {len(data):,} bytes, before any sample")


def _frame_bytes(chunk: bytes) -> int:
    """Read the bytes per frame from a format chunk; libsndfile checks the codec."""
    if len(chunk) < 16:
        raise RecordError(DAMAGED, f"a format chunk of {len(chunk)} bytes, not 16 or more")
    _, channels, rate, bytes_per_second, frame_bytes, bits = struct.unpack_from("<HHIIHH", chunk)
    if not frame_bytes or bytes_per_second != rate * frame_bytes:
        raise RecordError(
            DAMAGED,
            f"its header contradicts itself: {channels} channels of {bits} bits at {rate} Hz, "
            f"{frame_bytes} bytes per sample and {bytes_per_second} per second",
        )
    return int(frame_bytes)


def _check_length(data: bytes, start: int, size: int, frame_bytes: int) -> None:
    """Raise RecordError unless all `size` bytes of samples from `start` are in the file."""
    (file_size,) = struct.unpack_from("<I", data, 4)
    if size > len(data) - start:
        detail = f"its header states {size:,} bytes of samples, but {len(data) - start:,} are there"
        if size >= _UNKNOWN - start:
            detail = "its header does not state its length; write it to a file instead of a pipe"
        raise RecordError(TRUNCATED, detail)
    if not size:
        raise RecordError(NO_SAMPLES, "no bytes of samples")
    if size % frame_bytes:
        raise RecordError(DAMAGED, f"{size:,} bytes of samples are not a multiple of {frame_bytes}")
    if file_size + 8 > len(data) + _MISCOUNTED:
        raise RecordError(
            TRUNCATED,
            f"its header states {file_size + 8:,} bytes, but {len(data):,} are there",
        )


def header(
    encoding: Literal["PCM_16", "FLOAT"], sample_rate: int, num_samples: int, channels: int
) -> bytes:
    """Return the header of a WAV file with 16-bit integers or 32-bit floats."""
    codec, bits = (_PCM, 16) if encoding == "PCM_16" else (_FLOAT, 32)
    frame_bytes = channels * bits // 8
    num_bytes = num_samples * frame_bytes
    values = (codec, channels, sample_rate, sample_rate * frame_bytes, frame_bytes, bits)
    chunks = b"WAVE" + _chunk(b"fmt ", struct.pack("<HHIIHH", *values))
    if encoding == "FLOAT":  # required for formats other than PCM
        chunks += _chunk(b"fact", struct.pack("<I", num_samples))
    chunks += struct.pack("<4sI", b"data", num_bytes)
    return struct.pack("<4sI", b"RIFF", len(chunks) + num_bytes) + chunks


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", name, len(body)) + body
