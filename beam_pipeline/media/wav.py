"""WAV: checks every chunk up to the samples, and writes the header of converted audio.

libsndfile silently accepts truncated files, so the chunks are compared with the file's length
here. Source: Multimedia Programming Interface and Data
Specifications 1.0, and Microsoft's WAVEFORMATEXTENSIBLE.
"""

import struct
from typing import Literal

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio_format import DAMAGED, NO_SAMPLES, TRUNCATED, UNSUPPORTED

_PCM, _FLOAT, _EXTENSIBLE = 0x0001, 0x0003, 0xFFFE
_BITS = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}
_OTHER_CODECS = {
    0x0002: "MS ADPCM", 0x0006: "A-law", 0x0007: "µ-law", 0x0011: "IMA ADPCM",
    0x0031: "GSM 6.10", 0x0050: "MPEG", 0x0055: "MP3", 0x00FF: "AAC",
}  # fmt: skip
# An extensible format's GUID is that of the codec's number and this.
_GUID_END = bytes.fromhex("000000001000800000aa00389b71")
# The size that some writers state if they do not know the length yet.
_UNKNOWN = 0xFFFF_FFFF
# Some writers also count the first eight bytes of the file.
_MISCOUNTED = 8


def check(data: bytes) -> int:
    """Checks the chunks of a WAV file; returns the number of samples per channel.

    Chunks after the samples are not checked, except for the length of the file.

    Raises:
        RecordError: "truncated audio", "damaged audio", "unsupported audio" or
            "audio without samples".
    """
    frame_bytes = 0
    offset = 12
    while offset + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, offset)
        offset += 8
        if name != b"data" and offset + size > len(data):
            break
        if name == b"fmt ":
            if frame_bytes:
                raise RecordError(DAMAGED, "WAV: two format chunks")
            frame_bytes = _frame_bytes(data[offset : offset + size])
        elif name == b"data":
            if not frame_bytes:
                raise RecordError(DAMAGED, "WAV: the samples come before their format")
            _check_length(data, offset, size, frame_bytes)
            return int(size // frame_bytes)
        offset += size + size % 2  # chunks start at even bytes
    raise RecordError(TRUNCATED, f"WAV: it ends after {len(data):,} bytes, before any sample")


def _frame_bytes(chunk: bytes) -> int:
    """Bytes per sample of all channels, from a format chunk."""
    if len(chunk) < 16:
        raise RecordError(
            DAMAGED, f"WAV: a format chunk of {len(chunk)} bytes; it needs at least 16"
        )
    codec, channels, rate, bytes_per_second, frame_bytes, bits = struct.unpack_from(
        "<HHIIHH", chunk
    )
    if codec == _EXTENSIBLE and len(chunk) >= 40 and chunk[26:40] == _GUID_END:
        (codec,) = struct.unpack_from("<H", chunk, 24)
    if codec not in _BITS or bits not in _BITS[codec]:
        name = {_PCM: f"{bits}-bit PCM", _FLOAT: f"{bits}-bit float"}.get(
            codec, _OTHER_CODECS.get(codec, f"codec 0x{codec:04x}")
        )
        raise RecordError(
            UNSUPPORTED,
            f"WAV: {name}; convert it to PCM of 8, 16, 24 or 32 bits, to 32-bit float, or to FLAC",
        )
    if (
        not channels
        or frame_bytes != channels * bits // 8
        or bytes_per_second != rate * frame_bytes
    ):
        raise RecordError(
            DAMAGED,
            f"WAV: its header contradicts itself: {channels} channels of {bits} bits at {rate} Hz, "
            f"{frame_bytes} bytes per sample and {bytes_per_second} per second",
        )
    return int(frame_bytes)


def _check_length(data: bytes, start: int, size: int, frame_bytes: int) -> None:
    """Raises RecordError unless all `size` bytes of samples from `start` are in the file."""
    (file_size,) = struct.unpack_from("<I", data, 4)
    if size > len(data) - start:
        detail = f"its header states {size:,} bytes of samples, but {len(data) - start:,} are there"
        if size >= _UNKNOWN - start:
            detail = "its header does not state its length; write it to a file instead of a pipe"
        raise RecordError(TRUNCATED, f"WAV: {detail}")
    if not size:
        raise RecordError(NO_SAMPLES, "WAV: no bytes of samples")
    if size % frame_bytes:
        raise RecordError(
            DAMAGED, f"WAV: {size:,} bytes of samples are not a multiple of {frame_bytes}"
        )
    if file_size + 8 > len(data) + _MISCOUNTED:
        raise RecordError(
            TRUNCATED,
            f"WAV: its header states {file_size + 8:,} bytes, but {len(data):,} are there",
        )


def header(
    encoding: Literal["PCM_16", "FLOAT"], sample_rate: int, num_samples: int, channels: int
) -> bytes:
    """The header of a WAV file with 16-bit integers or 32-bit floats."""
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
