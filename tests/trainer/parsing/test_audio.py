"""Audio in every encoding, compared with soundfile, and unusual WAV files."""

import io
import struct

import numpy as np
import pytest
import scipy.signal
import soundfile
from file_bytes import sound_bytes
from tensorflow_examples import write_examples

import trainer
from trainer.parsing.audio import is_plain_wav

SAMPLES = np.random.default_rng(0).integers(-32768, 32767, (101, 2), np.int16)


def _encoded(encoding, subtype, samples=SAMPLES):
    if subtype in ("FLOAT", "DOUBLE"):
        samples = samples / 32768
    return sound_bytes(samples, encoding, subtype=subtype)


def _chunk(name, data, size=None):
    size = len(data) if size is None else size
    return name + struct.pack("<I", size) + data + bytes(len(data) % 2)


def _wav(*chunks, size=None):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body) if size is None else size) + body


FORMAT = _chunk(b"fmt ", struct.pack("<HHIIHH", 1, 2, 8000, 32000, 4, 16))
DATA = _chunk(b"data", SAMPLES.tobytes())
EXTENSIBLE = _chunk(
    b"fmt ",
    struct.pack("<HHIIHHHHIH", 0xFFFE, 2, 8000, 32000, 4, 16, 22, 16, 3, 1)
    + bytes.fromhex("000000001000800000aa00389b71"),
)
# Unusual files by name; whether TensorFlow's own decoder accepts and reads them.
ODD = {
    "nothing": (_wav(FORMAT, DATA), True),
    "a longer format": (
        _wav(_chunk(b"fmt ", struct.pack("<HHIIHHH", 1, 2, 8000, 32000, 4, 16, 0)), DATA),
        False,
    ),
    "WAVE_FORMAT_EXTENSIBLE": (_wav(EXTENSIBLE, DATA), False),
    "a list before the samples": (_wav(FORMAT, _chunk(b"LIST", b"INFOabcd"), DATA), False),
    "an odd list before": (_wav(FORMAT, _chunk(b"LIST", b"INFOabc"), DATA), False),
    "an odd list behind": (_wav(FORMAT, DATA, _chunk(b"LIST", b"INFOabc")), False),
    "junk first": (_wav(_chunk(b"JUNK", bytes(28)), FORMAT, DATA), False),
    "garbage behind": (_wav(FORMAT, DATA) + b"garbage", False),
    "lengths of a pipe": (
        _wav(FORMAT, _chunk(b"data", SAMPLES.tobytes(), 0xFFFFFFFF), size=0xFFFFFFFF),
        False,
    ),
    "a file size of 0": (_wav(FORMAT, DATA, size=0), True),
    "a wrong number of bytes a second": (
        _wav(_chunk(b"fmt ", struct.pack("<HHIIHH", 1, 2, 8000, 1, 4, 16)), DATA),
        False,
    ),
}


def _opened(path, encoded, **declared):
    write_examples(path, ({"audio": each} for each in encoded))
    return trainer.open(path, features={"audio": {"kind": "audio", **declared}})


def test_wav_files_of_odd_programs(tmp_path):
    records = _opened(tmp_path / "a", [encoded for encoded, _ in ODD.values()]).numpy()

    for record, (name, (encoded, is_plain)) in zip(records, ODD.items(), strict=True):
        assert bool(is_plain_wav(encoded)) is is_plain, name
        assert record["audio"].dtype == np.float32
        np.testing.assert_array_equal(record["audio"], SAMPLES / np.float32(32768), name)


# Tolerances relative to the encoded samples.
ENCODINGS = {
    **{("WAV", "PCM_16"): 0, ("WAV", "PCM_U8"): 1 / 128, ("WAV", "PCM_24"): 0},
    **{("WAV", "PCM_32"): 0, ("WAV", "FLOAT"): 0, ("WAV", "DOUBLE"): 0},
    **{("FLAC", "PCM_16"): 0, ("OGG", "VORBIS"): 1},
}


def test_encodings(tmp_path):
    cases = [(encoding, SAMPLES[:, :channels]) for encoding in ENCODINGS for channels in (1, 2)]
    encoded = [_encoded(*encoding, samples) for encoding, samples in cases]
    records = _opened(tmp_path / "a", encoded).numpy()

    for record, (encoding, samples), one in zip(records, cases, encoded, strict=True):
        by_library, _ = soundfile.read(io.BytesIO(one), dtype="float32", always_2d=True)
        np.testing.assert_array_equal(record["audio"], by_library, str(encoding))
        np.testing.assert_allclose(record["audio"], samples / 32768, atol=ENCODINGS[encoding])


def test_encodings_mix_and_lengths_are_padded(tmp_path):
    parts = [SAMPLES[:40, :1], SAMPLES[:7, :1], SAMPLES[:60, :1]]
    kinds = [("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("WAV", "PCM_24")]
    encoded = [_encoded(*kind, part) for kind, part in zip(kinds, parts, strict=True)]
    dataset = _opened(tmp_path / "a", encoded, shape=[None, 1])

    batches = dataset.batches(batch_size=3)
    (batch,) = batches

    assert batches.element_spec["audio"].shape.as_list() == [None, None, 1]
    assert batch["audio"].shape == (3, 60, 1)
    for row, part in zip(batch["audio"].numpy(), parts, strict=True):
        np.testing.assert_array_equal(row[: len(part)], part / np.float32(32768))
        assert not row[len(part) :].any()


def test_channels_that_differ_are_filled_up_too(tmp_path):
    encoded = [_encoded("WAV", "PCM_16", SAMPLES[:3]), _encoded("FLAC", "PCM_16", SAMPLES[:4, :1])]
    dataset = _opened(tmp_path / "a", encoded)

    (batch,) = dataset.batches(batch_size=2)
    assert batch["audio"].shape == (2, 4, 2)
    np.testing.assert_array_equal(batch["audio"][0, :3], SAMPLES[:3] / np.float32(32768))
    assert not batch["audio"].numpy()[1, :, 1].any()

    (batch,) = dataset.batches(batch_size=2, audio_mono=True)
    assert batch["audio"].shape == (2, 4, 1)
    stereo, mono = batch["audio"].numpy()[..., 0] * 32768
    np.testing.assert_allclose(stereo, [*SAMPLES[:3].mean(axis=1), 0])
    np.testing.assert_array_equal(mono, SAMPLES[:4, 0])


def test_sounds_all_of_one_length_batch_as_they_are(tmp_path):
    encoded = [_encoded("FLAC", "PCM_16")] * 2
    dataset = _opened(tmp_path / "a", encoded, shape=[101, 2])

    batches = dataset.batches(batch_size=2)

    assert batches.element_spec["audio"].shape.as_list() == [None, 101, 2]
    (longer,) = dataset.batches(batch_size=2, pad={"audio": 110})
    np.testing.assert_array_equal(longer["audio"][1, :101], SAMPLES / np.float32(32768))


@pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF....WAVE", _wav(FORMAT)[:30], b"no sound"])
def test_what_is_not_sound_is_an_error(tmp_path, data):
    dataset = _opened(tmp_path / "a", [data])

    with pytest.raises(trainer.TrainerError, match="'audio' of a record is not audio"):
        list(dataset.numpy())


def test_audio_of_several_rates_is_resampled_to_one(tmp_path):
    seconds, encodings = 0.5, {8000: "WAV", 16000: "FLAC", 44100: "WAV"}
    tones = {
        rate: np.sin(2 * np.pi * 440 * np.arange(int(rate * seconds)) / rate)[:, None] * 2**14
        for rate in encodings
    }
    encoded = [
        sound_bytes(tones[rate].astype(np.int16), encoding, rate=rate)
        for rate, encoding in encodings.items()
    ]
    dataset = _opened(tmp_path / "a", encoded, shape=[None, 1])
    (batch,) = dataset.batches(batch_size=3, audio_sample_rates={"audio": 16000})
    assert batch["audio"].shape == (3, 8000, 1)
    tone = np.sin(2 * np.pi * 440 * np.arange(8000) / 16000) / 2
    np.testing.assert_allclose(batch["audio"][1, :, 0], tone, atol=1e-3)  # unchanged
    for row in batch["audio"].numpy()[[0, 2], 100:-100, 0]:
        np.testing.assert_allclose(row, tone[100:-100], atol=0.02)
    for number, rate in enumerate(encodings):
        samples, _ = soundfile.read(io.BytesIO(encoded[number]))
        by_scipy = scipy.signal.resample(samples, 8000) if rate != 16000 else samples
        np.testing.assert_allclose(batch["audio"][number, :, 0], by_scipy, atol=1e-5)
