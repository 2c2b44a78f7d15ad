"""MP3: files are read completely."""

import numpy as np
import pytest
from file_bytes import sound_bytes

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio import AudioOptions, encode_audio, inspect_audio

ID3 = b"ID3\4\0\0\0\0\1\0" + bytes(128)


def encoded(rate=16_000, channels=1, seconds=3, **options):
    noise = np.random.default_rng(0).normal(size=(rate * seconds, channels))
    samples = 0.1 * noise * np.linspace(0, 1, rate * seconds)[:, None]  # needs more and more bits
    return sound_bytes(samples, "MP3", rate, **options)


def without_length(data):
    """Remove the first frame, which states the length."""
    return data[data.index(data[:2], 2) :]


VARYING = encoded()
CONSTANT = encoded(bitrate_mode="CONSTANT", compression_level=0.5)


@pytest.mark.parametrize("rate", [8000, 44_100])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("tags", [(b"", b""), (ID3 * 2, b"TAG" + bytes(125))])
def test_all_of_it_is_read_and_stored_as_it_is(rate, channels, tags):
    data = tags[0] + encoded(rate, channels) + tags[1]
    audio, _ = inspect_audio(data, AudioOptions())
    assert (audio.format, audio.sample_rate, audio.channels) == ("mp3", rate, channels)
    assert audio.num_samples == 3 * rate
    assert encode_audio(data, audio) == data


def test_a_constant_bitrate_needs_no_stated_length():
    audio, _ = inspect_audio(ID3 + without_length(CONSTANT), AudioOptions())
    assert 3 * 16_000 <= audio.num_samples < 3 * 16_000 + 3 * 576


@pytest.mark.parametrize(
    ("data", "reason", "told"),
    [
        (without_length(VARYING), "unsupported audio", "does not state its length; write it anew"),
        (VARYING[:-5], "damaged audio", "the header states 48,000"),
        (VARYING[: len(VARYING) // 2], "damaged audio", "the header states 48,000"),
        (VARYING[:9000] + bytes(400) + VARYING[9400:], "damaged audio", "the header states"),
        (ID3 + b"\xff", "not audio", "bytes that begin"),
    ],
)
def test_what_would_be_lost_in_silence_is_refused(data, reason, told):
    with pytest.raises(RecordError) as error:
        inspect_audio(data, AudioOptions())
    assert error.value.reason == reason
    assert told in error.value.detail
