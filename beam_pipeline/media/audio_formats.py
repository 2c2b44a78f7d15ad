"""Audio file formats: detection by magic bytes, and checks of their containers.

libsndfile silently accepts truncated WAVs, skips damaged OGG pages, and may stop early in an MP3.

Sources: Multimedia Programming Interface and Data Specifications 1.0 (WAV); RFC 3533 (OGG);
ISO/IEC 11172-3 and 13818-3 (MP3 frames), LAME's tag ("Xing").
"""

import re
import struct
import zlib
from typing import Literal

from beam_pipeline.errors import RecordError

# Reasons of `Rejected`, counted in metadata.json.
EMPTY = "empty file"
NOT_AUDIO = "not audio"
TRUNCATED = "truncated audio"
DAMAGED = "damaged audio"
NO_SAMPLES = "audio without samples"
TOO_LARGE = "audio too large"
UNSUPPORTED = "unsupported audio"

MAX_SAMPLE_RATE = 1_000_000
# Samples of all channels: as floats they take 2 GiB.
MAX_VALUES = 2**29

_MAGIC = re.compile(
    rb"(?P<wav>RIFF....WAVE)|(?P<flac>fLaC)|(?P<ogg>OggS)|(?P<mp3>\xff[\xe2\xe3\xf2\xf3\xfa\xfb])",
    re.DOTALL,
)
_ID3_BYTES = 10


def behind_id3(data: bytes) -> int:
    """Return the offset of the audio after ID3v2 tags."""
    offset = 0
    while data.startswith(b"ID3", offset) and len(data) >= offset + _ID3_BYTES:
        size = 0
        for byte in data[offset + 6 : offset + 10]:
            size = size << 7 | byte & 0x7F
        has_footer = bool(data[offset + 5] & 0x10)
        offset += _ID3_BYTES + size + has_footer * _ID3_BYTES
    return offset


def check_start(data: bytes) -> None:
    """Check the first bytes of a file as `sniff` does, unless they are only tags."""
    if behind_id3(data) < len(data):
        sniff(data)


def sniff(data: bytes) -> str:
    """Detect the format of `data` by its magic bytes: "wav", "flac", "ogg" or "mp3".

    Raises:
        RecordError: "empty file" or "not audio"; "unsupported audio" after an ID3 tag.
    """
    if not data:
        raise RecordError(EMPTY, "the file has no bytes")
    offset = behind_id3(data)
    if match := _MAGIC.match(data, offset):
        if offset and match.lastgroup != "mp3":
            name = str(match.lastgroup).upper()
            raise RecordError(UNSUPPORTED, f"{name} after an ID3 tag; write it without the tag")
        return str(match.lastgroup)
    raise RecordError(
        NOT_AUDIO,
        f"{len(data):,} bytes that begin with {data[:12]!r}; convert other formats to WAV, FLAC, "
        "OGG or MP3",
    )


_PCM, _FLOAT, _EXTENSIBLE = 0x0001, 0x0003, 0xFFFE
_EXTENSIBLE_BYTES, _SUBFORMAT = 40, 24
# Names of the most common other codecs.
_CODECS = {
    0x0002: "Microsoft ADPCM",
    0x0006: "A-law",
    0x0007: "µ-law",
    0x0011: "IMA ADPCM",
    0x0031: "GSM 6.10",
    0x0040: "G.721 ADPCM",
    0x0050: "MPEG",
    0x0055: "MP3",
}
TO_PCM = "convert it by ffmpeg -i OLD.wav -c:a pcm_s16le NEW.wav"
# Size that some writers state while the length is unknown.
_UNKNOWN = 0xFFFF_FFFF
# Some writers also count the first eight bytes of the file.
_MISCOUNTED = 8


def check_wav(data: bytes) -> int:
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
    """Read the bytes per frame from a format chunk of PCM or float."""
    if len(chunk) < 16:
        raise RecordError(DAMAGED, f"a format chunk of {len(chunk)} bytes, not 16 or more")
    codec, channels, rate, bytes_per_second, frame_bytes, bits = struct.unpack_from(
        "<HHIIHH", chunk
    )
    if codec == _EXTENSIBLE and len(chunk) >= _EXTENSIBLE_BYTES:
        (codec,) = struct.unpack_from("<H", chunk, _SUBFORMAT)
    if codec not in (_PCM, _FLOAT, _EXTENSIBLE):
        name = _CODECS.get(codec, "a codec that is not read")
        raise RecordError(UNSUPPORTED, f"{name} (0x{codec:04x}); {TO_PCM}")
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


def wav_header(
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


_PAGE = struct.Struct("<4sBBqIIIB")
_BEGIN, _END = 0x02, 0x04
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def check_ogg(data: bytes) -> None:
    """Check the checksums of all pages of an OGG file with one stream."""
    offset = number = stream = 0
    while True:
        page = _page(data, offset)
        _, version, flags, _, serial, sequence, checksum, _ = _PAGE.unpack_from(page)
        if version or _checksum(page) != checksum:
            raise RecordError(DAMAGED, f"the checksum of page {number} is wrong")
        if number == 0:
            stream = serial
        if serial != stream or (number and flags & _BEGIN):
            raise RecordError(UNSUPPORTED, "several streams; write each one to its own file")
        if sequence != number:
            raise RecordError(DAMAGED, f"page {sequence} is in the place of page {number}")
        if flags & _END:
            return
        offset += len(page)
        number += 1


def _page(data: bytes, offset: int) -> bytes:
    """Return the page at `offset`, including its header."""
    segments = offset + _PAGE.size
    if segments > len(data):
        raise RecordError(TRUNCATED, f"it ends at byte {len(data):,}, before its last page")
    if not data.startswith(b"OggS", offset):
        raise RecordError(DAMAGED, f"no page begins at byte {offset:,}")
    body = segments + data[segments - 1]
    end = body + sum(data[segments:body])
    if end > len(data):
        raise RecordError(TRUNCATED, f"it ends {end - len(data):,} bytes before the end of a page")
    return data[offset:end]


def _checksum(page: bytes) -> int:
    """Compute OGG's CRC-32: zlib's polynomial with all bits reversed, from 0, not inverted."""
    without = page[:22] + bytes(4) + page[26:]
    mirrored = zlib.crc32(without.translate(_MIRRORED), 0xFFFF_FFFF) ^ 0xFFFF_FFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_MIRRORED), "big")


_STATES_LENGTH = re.compile(rb"Xing|Info|VBRI")
_FIRST_BYTES = 44  # contain the length tag, if any
_V1 = 0x08  # version 1, in the second byte of a frame
_RATE = 0x0C  # the sample rate, in the third
# Frames that decoders skip, and the share of audio data that looks like the start of a frame.
_FRAMES_LEFT_OUT, _TOLERANCE = 3, 0.01


def mp3_states_length(data: bytes) -> bool:
    """Whether the first frame of an MP3 states the number of frames."""
    start = behind_id3(data)
    return bool(_STATES_LENGTH.search(data, start, start + _FIRST_BYTES))


def check_mp3_is_read(data: bytes, num_read: int) -> None:
    """Raise RecordError if an MP3 has more frames than `num_read` samples account for."""
    start = behind_id3(data)
    sync, rate = data[start : start + 2], data[start + 2] & _RATE
    starts = re.finditer(re.escape(sync) + rb"(.)", data, re.DOTALL)
    frames = sum(found[1][0] & _RATE == rate for found in starts)
    samples = (1152 if sync[1] & _V1 else 576) * (frames - _FRAMES_LEFT_OUT)
    if samples > num_read * (1 + _TOLERANCE):
        raise RecordError(
            UNSUPPORTED,
            f"{num_read:,} samples decode of about {samples:,}, since its header does not "
            "state its length; write it anew by ffmpeg -i OLD -c copy NEW",
        )
