"""MP3: what is read of it is all that it holds."""

import io

import numpy as np
import pytest
import soundfile
from file_bytes import sound_bytes

from beam_pipeline.errors import RecordError
from beam_pipeline.media import mp3
from beam_pipeline.media.audio import AudioOptions, encode_audio, inspect_audio

ID3 = b"ID3\4\0\0\0\0\1\0" + bytes(128)


def encoded(rate=16_000, channels=1, seconds=3, **options):
    noise = np.random.default_rng(0).normal(size=(rate * seconds, channels))
    samples = 0.1 * noise * np.linspace(0, 1, rate * seconds)[:, None]  # needs more bits by and by
    return sound_bytes(samples, "MP3", rate, **options)


CONSTANT = {"bitrate_mode": "CONSTANT", "compression_level": 0.5}
VARYING = encoded()


def without_header(data):
    """Without the first frame, which states the length."""
    return data[mp3._frame(data, 0).num_bytes :]


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("tags", [(b"", b""), (ID3, b"TAG" + bytes(125)), (ID3 * 2, bytes(9))])
def test_all_of_it_is_read_and_stored_as_it_is(rate, channels, tags):
    data = tags[0] + encoded(rate, channels) + tags[1]
    facts = inspect_audio(data, AudioOptions())
    assert (facts.format, facts.sample_rate, facts.channels) == ("mp3", rate, channels)
    assert facts.num_samples == 3 * rate
    assert encode_audio(data, facts) == data


@pytest.mark.parametrize("tags", [(b"", b""), (ID3, b"TAG" + bytes(125))])
def test_a_constant_bitrate_needs_no_stated_length(tags):
    data = tags[0] + encoded(**CONSTANT) + tags[1]
    facts = inspect_audio(data, AudioOptions())
    samples, _ = soundfile.read(io.BytesIO(data))
    assert 3 * 16_000 <= facts.num_samples == len(samples) < 3 * 16_000 + 3 * 576


def test_it_becomes_a_wav_where_it_is_converted():
    facts = inspect_audio(VARYING, AudioOptions(sample_rate=8000))
    samples, rate = soundfile.read(io.BytesIO(encode_audio(VARYING, facts)))
    assert (facts.format, facts.conversions) == ("wav", ("resampled", "format mp3"))
    assert (len(samples), rate) == (3 * 8000, 8000)


def damaged(data):
    middle = len(data) // 2
    return data[:middle] + bytes(400) + data[middle + 400 :]


@pytest.mark.parametrize(
    ("data", "reason", "told"),
    [
        pytest.param(
            without_header(VARYING),
            "unsupported audio",
            "does not state its length; convert it to WAV or FLAC",
            id="varying bitrate without header",
        ),
        pytest.param(VARYING[:-5], "truncated audio", "5 bytes before", id="cut in a frame"),
        pytest.param(VARYING[: len(VARYING) // 2], "truncated audio", "bytes before", id="half"),
        pytest.param(
            VARYING[: -mp3._frame(VARYING, 0).num_bytes], "truncated audio", "", id="some frames"
        ),
        pytest.param(damaged(VARYING), "damaged audio", "no frame begins at", id="zeros inside"),
        pytest.param(VARYING + b"more", "damaged audio", "no frame begins at", id="bytes behind"),
        pytest.param(
            VARYING + encoded(8000), "unsupported audio", "another rate", id="two rates in one"
        ),
        pytest.param(
            VARYING[: mp3._frame(VARYING, 0).num_bytes], "truncated audio", "0 frames", id="header"
        ),
        pytest.param(ID3 + b"\xff", "not audio", "bytes that begin", id="a byte behind a tag"),
    ],
)
def test_what_would_be_lost_in_silence_is_refused(data, reason, told):
    with pytest.raises(RecordError) as error:
        inspect_audio(data, AudioOptions())
    assert error.value.reason == reason
    assert told in error.value.detail
