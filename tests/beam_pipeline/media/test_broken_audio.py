"""Broken audio is rejected with a reason; accepted files decode in the trainer's libraries."""

import random
import struct

import numpy as np
import pytest
from media_files import audio_file

from beam_pipeline.errors import RecordError
from beam_pipeline.media.audio import AudioOptions, inspect_audio


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
    ("data", "expected", "told"),
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
def test_not_a_usable_audio(data, expected, told):
    refused = refusal(data)
    assert refused.reason == expected
    assert told in refused.detail


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
        pytest.param(wav(form(codec=7, bits=8), DATA), "unsupported audio", id="µ-law"),
        pytest.param(wav(form(codec=0x55), DATA), "damaged audio", id="MP3 in WAV"),
    ],
)
def test_headers(data, expected):
    assert reason(data) == expected


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
