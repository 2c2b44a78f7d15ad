"""MP3: check that libsndfile reads a whole file.

libsndfile reads the length that the first frame states. If none is stated, it estimates the length
from the first frame's bitrate, and stops there. Sources: ISO/IEC 11172-3 and 13818-3 (frames),
LAME's tag ("Xing").
"""

import re

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio_format import UNSUPPORTED, behind_id3

_STATES_LENGTH = re.compile(rb"Xing|Info|VBRI")
_FIRST_BYTES = 44  # contain the length tag, if any
_V1 = 0x08  # version 1, in the second byte of a frame
_RATE = 0x0C  # the sample rate, in the third
# Frames that decoders skip, and the share of audio data that looks like the start of a frame.
_FRAMES_LEFT_OUT, _TOLERANCE = 3, 0.01


def states_length(data: bytes) -> bool:
    """Whether the first frame of an MP3 states the number of frames."""
    start = behind_id3(data)
    return bool(_STATES_LENGTH.search(data, start, start + _FIRST_BYTES))


def check_all_is_read(data: bytes, num_read: int) -> None:
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
