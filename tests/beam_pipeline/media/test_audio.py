"""Audio: accepted files decode in the trainer's libraries, broken ones are refused."""

import io
import random
import struct

import numpy as np
import pytest
import soundfile
import soxr
import tensorflow as tf
from file_bytes import sound_bytes
from media_files import audio_file

from beam_pipeline.errors import RecordError
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


def refusal(data: bytes) -> RecordError:
    with pytest.raises(RecordError) as caught:
        inspect_audio(data, AudioOptions())
    return caught.value


def reason(data: bytes) -> str | None:
    """Return why `data` is refused; None if it passes."""
    try:
        inspect_audio(data, AudioOptions())
    except RecordError as error:
        return error.reason
    return None


@pytest.mark.parametrize(
    ("data", "expected", "detail"),
    [
        pytest.param(b"", "empty file", "no bytes", id="empty"),
        pytest.param(b"\0" * 999, "not audio", "999 bytes", id="zeros"),
        pytest.param(b"<html><body>404", "not audio", "<html>", id="an error page"),
        pytest.param(b"\xff\xd8\xff\xe0 JFIF", "not audio", "JFIF", id="an image"),
        pytest.param(b"RIFF\0\0\0\0AVI LIST", "not audio", "AVI", id="a film"),
        pytest.param(b"ID3\4\0\0\0\0", "not audio", "8 bytes", id="half of a tag"),
        pytest.param(b"ID3\4" + bytes(6), "not audio", "10 bytes", id="only a tag"),
        (b"ID3\4" + bytes(6) + b"fLaC", "unsupported audio", "FLAC after"),  # FLAC with a tag
        pytest.param(b"\xff\xfb\x90\x64", "damaged audio", "MP3", id="MP3 of 4 bytes"),
        pytest.param(b"\xff\xf1\x50\x80", "not audio", "convert other", id="AAC"),
        pytest.param(b"RIFF\0\0\0\0WAVE", "truncated audio", "12 bytes", id="WAV of 12 bytes"),
        pytest.param(b"fLaC", "damaged audio", "FLAC", id="FLAC of 4 bytes"),
        pytest.param(b"OggS", "truncated audio", "byte 4", id="OGG of 4 bytes"),
    ],
)
def test_not_a_usable_audio(data, expected, detail):
    refused = refusal(data)
    assert refused.reason == expected
    assert detail in refused.detail


def chunk(name, body, size=None):
    stated = len(body) if size is None else size
    return struct.pack("<4sI", name, stated) + body + bytes(len(body) % 2)


def form(codec=1, channels=1, rate=8000, bits=16, align=None, a_second=None, more=b""):
    align = channels * bits // 8 if align is None else align
    a_second = rate * align if a_second is None else a_second
    values = (codec, channels, rate, a_second, align, bits)
    return chunk(b"fmt ", struct.pack("<HHIIHH", *values) + more)


def extensible(codec, bits, valid_bits):
    guid = struct.pack("<H", codec) + bytes.fromhex("000000001000800000aa00389b71")
    return form(0xFFFE, bits=bits, more=struct.pack("<HHI", 22, valid_bits, 4) + guid)


def wav(*chunks, size=None):
    body = b"WAVE" + b"".join(chunks)
    return struct.pack("<4sI", b"RIFF", len(body) if size is None else size) + body


SAMPLES = np.arange(12, dtype="<i2").tobytes()
DATA = chunk(b"data", SAMPLES)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(wav(form(), DATA), None, id="plain"),
        pytest.param(wav(form(more=b"\0\0"), DATA), None, id="longer format chunk"),
        pytest.param(wav(extensible(1, 16, 16), DATA), None, id="extensible"),
        pytest.param(wav(extensible(1, 32, 20), DATA), None, id="20 bits in 32"),
        pytest.param(wav(form(), chunk(b"LIST", b"abc"), DATA), None, id="odd chunk between"),
        pytest.param(wav(chunk(b"JUNK", b"abcd"), form(), DATA), None, id="chunk before"),
        pytest.param(wav(form(), DATA, chunk(b"LIST", b"abc")), None, id="chunk behind"),
        pytest.param(wav(form(), DATA) + b"garbage", None, id="bytes behind the end"),
        pytest.param(wav(form(), DATA, size=0), None, id="no file size"),
        pytest.param(wav(form(), DATA, size=60 + 8), None, id="file size counts itself in"),
        pytest.param(wav(form(), DATA, size=999), "truncated audio", id="file ends early"),
        (wav(form(), chunk(b"data", SAMPLES, size=26)), "truncated audio"),  # samples end early
        (wav(form(), chunk(b"data", SAMPLES, size=2**32 - 1)), "truncated audio"),  # a pipe's
        pytest.param(wav(form()), "truncated audio", id="no samples' chunk"),
        pytest.param(wav(form(), chunk(b"data", b"")), "audio without samples", id="no samples"),
        (wav(form(), chunk(b"data", SAMPLES[:-1])), "damaged audio"),  # half a sample
        pytest.param(wav(DATA, form()), "damaged audio", id="samples before their format"),
        pytest.param(wav(form(), form(), DATA), "damaged audio", id="two formats"),
        pytest.param(wav(form(), DATA, DATA), "damaged audio", id="samples twice"),
        pytest.param(wav(chunk(b"fmt ", b"\1\0"), DATA), "damaged audio", id="short format"),
        pytest.param(wav(form(rate=0), DATA), "damaged audio", id="0 Hz"),
        pytest.param(wav(form(rate=2**31 - 1, align=2), DATA), "damaged audio", id="2 GHz"),
        pytest.param(wav(form(channels=0), DATA), "damaged audio", id="no channel"),
        (wav(form(channels=2000), chunk(b"data", bytes(4000))), "damaged audio"),  # 2,000 channels
        pytest.param(wav(form(align=4), DATA), "damaged audio", id="sample size"),
        pytest.param(wav(form(a_second=1), DATA), "damaged audio", id="bytes a second"),
        pytest.param(wav(form(codec=3), DATA), "damaged audio", id="16-bit float"),
        (wav(form(codec=3, bits=32), chunk(b"data", b"\0\0\xc0\x7f")), "damaged audio"),  # NaN
    ],
)
def test_headers(data, expected):
    assert reason(data) == expected


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        pytest.param(audio_file("WAV", subtype), codec, id=codec)
        for subtype, codec in (
            ("MS_ADPCM", "Microsoft ADPCM (0x0002)"),
            ("IMA_ADPCM", "IMA ADPCM (0x0011)"),
            ("ULAW", "µ-law (0x0007)"),
            ("GSM610", "GSM 6.10 (0x0031)"),
            ("NMS_ADPCM_32", "a codec that is not read (0x0038)"),
        )
    ]
    + [
        pytest.param(wav(form(codec=0x55, a_second=4000), DATA), "MP3 (0x0055)", id="MP3"),
        pytest.param(wav(extensible(2, 16, 16), DATA), "Microsoft ADPCM (0x0002)", id="extensible"),
    ],
)
def test_a_codec_that_is_not_read(data, codec):
    refused = refusal(data)
    assert refused.reason == "unsupported audio"
    assert refused.detail == (
        f"WAV: {codec}; convert it by ffmpeg -i OLD.wav -c:a pcm_s16le NEW.wav"
    )


@pytest.mark.parametrize(
    ("container", "encoding", "expected"),
    [
        ("WAV", "PCM_16", {"truncated audio"}),
        ("WAV", "FLOAT", {"truncated audio"}),
        ("FLAC", "PCM_16", {"damaged audio"}),  # libsndfile does not distinguish the two
        ("OGG", "VORBIS", {"truncated audio"}),
        ("OGG", "OPUS", {"truncated audio"}),
    ],
)
def test_a_file_cut_anywhere_is_refused(container, encoding, expected):
    data = audio_file(container, encoding)
    cuts = {*range(12, 100), *range(100, len(data), 97), *range(len(data) - 20, len(data))}
    assert {reason(data[:cut]) for cut in cuts} == expected


def test_a_header_that_states_hours_is_refused_before_decoding():
    data = bytearray(audio_file("FLAC", "PCM_16"))
    data[22:26] = b"\xff\xff\xff\xf0"
    assert refusal(bytes(data)).reason == "audio too large"


def test_every_bit_of_ogg_and_flac_is_checked():
    chance = random.Random(3)
    for container, encoding, first in (
        ("OGG", "VORBIS", 0),
        ("OGG", "OPUS", 0),
        ("FLAC", "PCM_16", 100),
    ):
        original = audio_file(container, encoding)
        for _ in range(200):
            data = bytearray(original)
            data[chance.randrange(first, len(data))] ^= 1 << chance.randrange(8)
            assert reason(bytes(data)) is not None


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
    ("data", "reason", "detail"),
    [
        (without_length(VARYING), "unsupported audio", "does not state its length; write it anew"),
        (VARYING[:-5], "damaged audio", "the header states 48,000"),
        (VARYING[: len(VARYING) // 2], "damaged audio", "the header states 48,000"),
        (VARYING[:9000] + bytes(400) + VARYING[9400:], "damaged audio", "the header states"),
        (ID3 + b"\xff", "not audio", "bytes that begin"),
    ],
)
def test_what_would_be_lost_in_silence_is_refused(data, reason, detail):
    refused = refusal(data)
    assert refused.reason == reason
    assert detail in refused.detail
