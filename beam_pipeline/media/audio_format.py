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

_MAGIC = re.compile(rb"(?P<wav>RIFF....WAVE)|(?P<flac>fLaC)|(?P<ogg>OggS)", re.DOTALL)
_OTHER_MAGIC = (
    ("MP3, or FLAC after an ID3 tag,", re.compile(rb"ID3")),
    ("MP3", re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]")),
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


def sniff(data: bytes) -> str:
    """The format of `data` by its magic bytes: "wav", "flac" or "ogg".

    Raises:
        RecordError: "empty file", "not audio", or "unsupported audio" for other audio formats.
    """
    if not data:
        raise RecordError(EMPTY, "the file has no bytes")
    if match := _MAGIC.match(data):
        return str(match.lastgroup)
    for name, magic in _OTHER_MAGIC:
        if magic.match(data):
            raise RecordError(
                UNSUPPORTED, f"{name} is not supported; convert it to WAV, FLAC or OGG"
            )
    raise RecordError(NOT_AUDIO, f"{len(data):,} bytes that begin with {data[:12]!r}")
