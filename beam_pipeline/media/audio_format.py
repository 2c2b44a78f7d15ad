"""Audio formats by their magic bytes, and limits of all formats."""

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
_OTHER_MAGIC = (
    ("AAC", re.compile(rb"\xff[\xf0\xf1\xf8\xf9]|ADIF")),
    ("AIFF", re.compile(rb"FORM....AIF[FC]", re.DOTALL)),
    ("MP4 or M4A", re.compile(rb"....ftyp", re.DOTALL)),
    ("WAV of over 4 GiB (RF64)", re.compile(rb"RF64|BW64")),
    ("Sony Wave64", re.compile(rb"riff\x2e\x91\xcf\x11")),
    ("big-endian WAV (RIFX)", re.compile(rb"RIFX")),
    ("WMA", re.compile(rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11")),
    ("WebM or Matroska", re.compile(rb"\x1a\x45\xdf\xa3")),
    ("AMR", re.compile(rb"#!AMR")),
    ("AU", re.compile(rb"\.snd")),
    ("CAF", re.compile(rb"caff")),
    ("NIST SPHERE", re.compile(rb"NIST_1A")),
    ("MIDI", re.compile(rb"MThd")),
)


def behind_id3(data: bytes) -> int:
    """Where audio begins: behind ID3v2 tags, or at 0."""
    offset = 0
    while data.startswith(b"ID3", offset) and len(data) >= offset + _ID3_BYTES:
        size = 0
        for byte in data[offset + 6 : offset + 10]:
            size = size << 7 | byte & 0x7F
        has_footer = bool(data[offset + 5] & 0x10)
        offset += _ID3_BYTES + size + has_footer * _ID3_BYTES
    return offset


def check_start(data: bytes) -> None:
    """Check the first bytes of a file: behind long tags the format is not known yet.

    Raises:
        RecordError: As `sniff`.
    """
    if behind_id3(data) < len(data):
        sniff(data)


def sniff(data: bytes) -> str:
    """The format of `data` by its magic bytes: "wav", "flac", "ogg" or "mp3".

    Raises:
        RecordError: "empty file", "not audio", or "unsupported audio" for other audio formats.
    """
    if not data:
        raise RecordError(EMPTY, "the file has no bytes")
    offset = behind_id3(data)
    if match := _MAGIC.match(data, offset):
        if offset and match.lastgroup != "mp3":
            name = str(match.lastgroup).upper()
            raise RecordError(UNSUPPORTED, f"{name} after an ID3 tag; write it without the tag")
        return str(match.lastgroup)
    for name, magic in _OTHER_MAGIC:
        if magic.match(data):
            raise RecordError(
                UNSUPPORTED, f"{name} is not supported; convert it to WAV, FLAC, OGG or MP3"
            )
    raise RecordError(NOT_AUDIO, f"{len(data):,} bytes that begin with {data[:12]!r}")
