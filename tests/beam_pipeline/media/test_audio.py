"""Stored audio, compared with libsndfile and TensorFlow."""

import io

import numpy as np
import pytest
import soundfile
import soxr
import tensorflow as tf
from file_bytes import sound_bytes
from media_files import audio_file

from beam_pipeline.media.audio import AudioOptions, encode_audio, inspect_audio

ENCODINGS = [
    ("WAV", "PCM_U8"), ("WAV", "PCM_16"), ("WAV", "PCM_24"), ("WAV", "PCM_32"), ("WAV", "FLOAT"),
    ("WAV", "DOUBLE"), ("WAVEX", "PCM_16"), ("WAVEX", "FLOAT"), ("FLAC", "PCM_S8"),
    ("FLAC", "PCM_16"), ("FLAC", "PCM_24"), ("OGG", "VORBIS"), ("OGG", "OPUS"),
    ("MP3", "MPEG_LAYER_III"),
]  # fmt: skip
encodings = pytest.mark.parametrize(("container", "encoding"), ENCODINGS, ids=" ".join)


def read(data):
    return soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)


def store(data, options):
    """Return (audio, stored bytes); inspection predicts their number up to a header."""
    audio, num_bytes = inspect_audio(data, options)
    stored = encode_audio(data, audio)
    assert abs(num_bytes - len(stored)) <= (16 if audio.conversions else 0)
    return audio, stored


@encodings
@pytest.mark.parametrize("channels", [1, 2])
def test_stored_as_it_is(container, encoding, channels):
    data = audio_file(container, encoding, channels=channels)
    audio, stored = store(data, AudioOptions())

    assert stored is data
    samples, sample_rate = read(data)
    assert (audio.num_samples, audio.channels) == samples.shape == (2000, channels)
    assert audio.sample_rate == sample_rate == 8000
    assert audio.format == {"WAVEX": "wav"}.get(container, container.lower())
    assert audio.conversions == ()


@encodings
@pytest.mark.parametrize(
    ("options", "reasons"),
    [
        ({"mono": True}, ("mono",)),
        ({"sample_rate": 16000}, ("resampled",)),
        ({"sample_rate": 5513, "mono": True}, ("mono", "resampled")),
    ],
    ids=["mono", "upwards", "downwards and mono"],
)
def test_converted(container, encoding, options, reasons):
    data = audio_file(container, encoding, channels=2)
    audio, stored = store(data, AudioOptions(**options))

    source, _ = read(data)
    expected = source.mean(axis=1, keepdims=True) if "mono" in reasons else source
    if "resampled" in reasons:
        expected = soxr.resample(expected, 8000, options["sample_rate"])
    samples, sample_rate = read(stored)
    assert samples.shape == expected.shape == (audio.num_samples, audio.channels)
    assert sample_rate == audio.sample_rate == options.get("sample_rate", 8000)
    narrow = encoding in ("PCM_S8", "PCM_U8", "PCM_16", "VORBIS", "OPUS", "MPEG_LAYER_III")
    np.testing.assert_allclose(samples, expected, atol=0.6 / 32768 if narrow else 1e-6)
    found = soundfile.info(io.BytesIO(stored))
    assert (found.format, found.subtype) == ("WAV", "PCM_16" if narrow else "FLOAT")
    in_other_format = container in ("FLAC", "OGG", "MP3")
    assert audio.conversions == (*reasons, *[f"format {container.lower()}"] * in_other_format)


def square_wave(encoding):
    """A square wave at full scale, which resampling overshoots."""
    samples = np.where(np.arange(2000) // 20 % 2, 0.999, -0.999)
    return sound_bytes(samples, "WAV", subtype=encoding)


def test_what_resampling_lifts_beyond_full_scale():
    clipped, _ = read(store(square_wave("PCM_16"), AudioOptions(sample_rate=11025))[1])
    kept, _ = read(store(square_wave("FLOAT"), AudioOptions(sample_rate=11025))[1])

    assert np.abs(kept).max() > 1.01
    np.testing.assert_allclose(clipped, kept.clip(-1, 32767 / 32768), atol=2 / 32768)


def test_sixteen_bits_are_read_by_tensorflow():
    data = audio_file("FLAC", "PCM_16", channels=2)
    _, stored = store(data, AudioOptions(sample_rate=16000))
    samples, sample_rate = tf.audio.decode_wav(stored)
    assert int(sample_rate) == 16000
    assert (samples.numpy() == read(stored)[0]).all()


@pytest.mark.parametrize("sample_rate", [7999, 8001, 44_100, 48_000])
@pytest.mark.parametrize("num_samples", [3, 65_535, 65_536, 65_537])
def test_lengths(num_samples, sample_rate):
    data = audio_file("WAV", "PCM_16", num_samples=num_samples)
    audio, stored = store(data, AudioOptions(sample_rate=sample_rate))
    assert audio.num_samples == len(read(stored)[0])
    assert abs(audio.num_samples - num_samples * sample_rate / 8000) <= 1
