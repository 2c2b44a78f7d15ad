"""WAV: every chunk up to the samples is read, and the header that encoded sounds get is written.

libsndfile reads what there is of a file that was cut short, and says nothing; so the chunks are
held against the file's length here. Source: Multimedia Programming Interface and Data
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
# What some writers put where they do not know the length yet.
_UNKNOWN = 0xFFFF_FFFF
# Some count the file's own first eight bytes in as well.
_MISCOUNTED = 8


def check(data: bytes) -> int:
    """Holds the chunks of a WAV file against its bytes; returns the samples of each channel.

    What follows the samples is not looked at, but that the file is as long as it says.

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
    """Bytes of one sample of all channels, from a format chunk."""
    if len(chunk) < 16:
        raise RecordError(DAMAGED, f"WAV: a format chunk of {len(chunk)} bytes, of at least 16")
    codec, channels, rate, bytes_a_second, frame_bytes, bits = struct.unpack_from("<HHIIHH", chunk)
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
    if not channels or frame_bytes != channels * bits // 8 or bytes_a_second != rate * frame_bytes:
        raise RecordError(
            DAMAGED,
            f"WAV: its header contradicts itself: {channels} channels of {bits} bits at {rate} Hz, "
            f"{frame_bytes} bytes a sample and {bytes_a_second} a second",
        )
    return int(frame_bytes)


def _check_length(data: bytes, start: int, size: int, frame_bytes: int) -> None:
    """Raises RecordError where the samples, `size` bytes from `start`, are not there in full."""
    (file_size,) = struct.unpack_from("<I", data, 4)
    if size > len(data) - start:
        found = f"its header states {size:,} bytes of samples, but {len(data) - start:,} are there"
        if size >= _UNKNOWN - start:
            found = "its header does not say how long it is; write it to a file, not into a pipe"
        raise RecordError(TRUNCATED, f"WAV: {found}")
    if not size:
        raise RecordError(NO_SAMPLES, "WAV: no bytes of samples")
    if size % frame_bytes:
        raise RecordError(
            DAMAGED, f"WAV: {size:,} bytes of samples are no multiple of {frame_bytes}"
        )
    if file_size + 8 > len(data) + _MISCOUNTED:
        raise RecordError(
            TRUNCATED,
            f"WAV: its header states {file_size + 8:,} bytes, but {len(data):,} are there",
        )


def header(
    encoding: Literal["PCM_16", "FLOAT"], sample_rate: int, num_samples: int, channels: int
) -> bytes:
    """What stands before the samples of a WAV file, 16-bit integers or 32-bit floats."""
    codec, bits = (_PCM, 16) if encoding == "PCM_16" else (_FLOAT, 32)
    frame_bytes = channels * bits // 8
    num_bytes = num_samples * frame_bytes
    values = (codec, channels, sample_rate, sample_rate * frame_bytes, frame_bytes, bits)
    chunks = b"WAVE" + _chunk(b"fmt ", struct.pack("<HHIIHH", *values))
    if encoding == "FLOAT":  # whoever is no PCM says how many samples there are
        chunks += _chunk(b"fact", struct.pack("<I", num_samples))
    chunks += struct.pack("<4sI", b"data", num_bytes)
    return struct.pack("<4sI", b"RIFF", len(chunks) + num_bytes) + chunks


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", name, len(body)) + body
