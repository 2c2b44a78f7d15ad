"""MP3: every frame, from tag to tag.

libsndfile skips what is no frame, and believes an estimate of the length where a file states none.
Sources: ISO/IEC 11172-3 and 13818-3 (frames), id3.org (ID3v2), LAME's tag of the length ("Xing").
"""

from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio_format import (
    DAMAGED,
    NO_SAMPLES,
    TRUNCATED,
    UNSUPPORTED,
    behind_id3,
)

_V1, _V2 = 3, 2  # of the version's bits; 0 is 2.5
_RATES = {_V1: (44_100, 48_000, 32_000), _V2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_KBIT_V1 = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_KBIT_V2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_LAYER_III, _MONO = 1, 3
_HEADER_BYTES = 4
_TAGS_BEHIND = (b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"3DI", b"ID3")
# Delay and padding in LAME's tag have 12 bits each; decoders leave out a frame or two.
_PADDING = 2 * 4095
_FRAMES_LEFT_OUT = 2


class Frame(NamedTuple):
    """The header of a frame.

    Attributes:
        version: Its bits.
        rate: Samples per second.
        is_mono: Whether it has one channel.
        num_bytes: Of the frame, header and all.
        num_samples: Of each channel.
    """

    version: int
    rate: int
    is_mono: bool
    num_bytes: int
    num_samples: int


def check(data: bytes) -> range:
    """Checks that the frames of an MP3 follow one another to its end.

    Returns:
        The numbers of samples per channel that may be heard of it.

    Raises:
        RecordError: "truncated audio", "damaged audio", "audio without samples" or "unsupported
            audio".
    """
    offset = behind_id3(data)
    first = _frame(data, offset)
    stated = _stated_frames(data, offset, first)
    num_samples = number = 0
    while offset < len(data) and not _is_end(data, offset):
        frame = _frame(data, offset)
        if (frame.version, frame.rate, frame.is_mono) != (first.version, first.rate, first.is_mono):
            raise RecordError(
                UNSUPPORTED, f"MP3: another rate or number of channels from byte {offset:,} on"
            )
        if number or stated is None:  # the first holds what is stated, and no sound
            num_samples += frame.num_samples
        number += 1
        offset += frame.num_bytes
    if offset > len(data):
        raise RecordError(
            TRUNCATED, f"MP3: it ends {offset - len(data):,} bytes before the end of a frame"
        )
    if stated and number - 1 < stated:
        raise RecordError(TRUNCATED, f"MP3: {number - 1:,} frames, its header states {stated:,}")
    if not num_samples:
        raise RecordError(NO_SAMPLES, "MP3: no frame holds any")
    unheard = _FRAMES_LEFT_OUT * first.num_samples + (_PADDING if stated is not None else 0)
    return range(max(1, num_samples - unheard), num_samples + 1)


def check_length(num_read: int, heard: range) -> None:
    """Raises RecordError where libsndfile reads another number of samples than there are."""
    if num_read not in heard:
        raise RecordError(
            UNSUPPORTED,
            f"MP3: {num_read:,} samples decode of the {heard[-1]:,} in its frames, since its "
            "header does not state its length; convert it to WAV or FLAC",
        )


def _frame(data: bytes, offset: int) -> Frame:
    """The header of the frame at `offset`.

    Raises:
        RecordError: "damaged audio" or "unsupported audio".
    """
    header = data[offset : offset + _HEADER_BYTES]
    if len(header) < _HEADER_BYTES:
        raise RecordError(TRUNCATED, f"MP3: it ends at byte {len(data):,}, within a frame")
    version, layer = header[1] >> 3 & 3, header[1] >> 1 & 3
    kbit_at, rate_at = header[2] >> 4, header[2] >> 2 & 3
    is_sync = header[0] == 0xFF and header[1] >= 0xE0
    if not is_sync or version == 1 or layer != _LAYER_III or kbit_at == 15 or rate_at == 3:
        raise RecordError(DAMAGED, f"MP3: no frame begins at byte {offset:,}")
    kbit = (_KBIT_V1 if version == _V1 else _KBIT_V2)[kbit_at]
    if not kbit:
        raise RecordError(UNSUPPORTED, "MP3: a free bitrate; convert it to WAV or FLAC")
    rate = _RATES[version][rate_at]
    num_samples = 1152 if version == _V1 else 576
    num_bytes = num_samples // 8 * kbit * 1000 // rate + (header[2] >> 1 & 1)
    return Frame(version, rate, header[3] >> 6 == _MONO, num_bytes, num_samples)


def _stated_frames(data: bytes, offset: int, first: Frame) -> int | None:
    """How many frames the first one states that follow; 0 where it does not say; None for none."""
    sides = (17, 32) if first.version == _V1 else (9, 17)
    at = offset + _HEADER_BYTES + sides[not first.is_mono]
    tag = data[at : at + 4]
    if tag in (b"Xing", b"Info"):
        has_frames = len(data) >= at + 12 and data[at + 7] & 1
        return int.from_bytes(data[at + 8 : at + 12], "big") if has_frames else 0
    return 0 if data[offset + 36 : offset + 40] == b"VBRI" else None


def _is_end(data: bytes, offset: int) -> bool:
    """Whether tags begin at `offset`, or nothing but zeros is left."""
    return data.startswith(_TAGS_BEHIND, offset) or (
        not data[offset] and not data[offset:].strip(b"\0")
    )
