"""Detect audio formats by magic bytes; limits of all formats."""

import re

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
