"""Decodes and resamples audio."""

import functools
import io
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.parsing.reader import Decoding, FeatureReader, Output, Tensors

# RIFF, file size, WAVE, "fmt ", 16, coding and channels, Hz, bytes per second, bytes per frame and
# bits per sample, data, data size: four bytes each, little-endian.
_HEADER_BYTES = 44
_CONSTANT_WORDS = np.frombuffer(b"RIFFWAVEfmt \x10\0\0\0data", "<i4")


class AudioReader(FeatureReader):
    """Decoded audio (WAV, FLAC, OGG, and other formats of libsndfile).

    Output: float32 [samples, channels] in -1..1, at the stored sample rate; optionally
    averaged to one channel, and resampled to one rate.
    """

    reads_batches: ClassVar[bool] = False

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        return [Output(feature.name, feature, tf.float32, _shape(feature, decoding), padding=0.0)]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        encoded = parsed[feature.key]
        if decoding.portable:
            samples, rate = tf.audio.decode_wav(encoded)
        else:
            by_library = functools.partial(_decode_by_library, feature.name)
            types = (tf.float32, tf.int32)
            samples, rate = tf.cond(
                is_plain_wav(encoded),
                lambda: tuple(tf.audio.decode_wav(encoded)),
                lambda: tuple(tf.numpy_function(by_library, [encoded], types, stateful=False)),
            )
        wanted = decoding.audio_sample_rates.get(feature.name)
        if not wanted:
            samples = tf.ensure_shape(samples, feature.shape)
        if decoding.audio_mono:
            samples = tf.reduce_mean(samples, axis=-1, keepdims=True)
        if wanted:
            samples = tf.cond(
                rate == wanted, lambda: samples, lambda: resample(samples, rate, wanted)
            )
            samples = tf.ensure_shape(samples, _shape(feature, decoding))
        return {feature.name: samples}


def _shape(feature: Feature, decoding: Decoding) -> tuple[int | None, int | None]:
    """Return (samples, channels); None for samples if lengths or rates vary."""
    wanted = decoding.audio_sample_rates.get(feature.name)
    number = feature.shape[0] if wanted in (None, feature.sample_rate) else None
    return number, 1 if decoding.audio_mono else feature.shape[1]


def resample(samples: Any, rate: Any, wanted: int) -> Any:
    """Resample audio by its discrete Fourier transform, as `scipy.signal.resample` does.

    Returns:
        From float32 [n, channels] at an int32 `rate`: float32 [n * wanted / rate, channels], the
        length rounded up.
    """
    before = tf.shape(samples, tf.int64)[0]
    rate = tf.maximum(tf.cast(rate, tf.int64), 1)
    after = -(-before * wanted // rate)
    spectrum = tf.signal.rfft(tf.transpose(samples))
    resampled = tf.signal.irfft(spectrum, [tf.cast(after, tf.int32)])
    return tf.transpose(resampled) * (tf.cast(after, tf.float32) / tf.cast(before, tf.float32))


def is_plain_wav(encoded: Any) -> Any:
    """Whether bytes are 16-bit PCM with a plain header of 44 bytes, and nothing else: bool.

    TensorFlow's decoder fails on WAVE_FORMAT_EXTENSIBLE, chunks of an odd length, bytes
    after the samples, and the lengths in piped files.
    """
    header = tf.strings.substr(encoded, 0, _HEADER_BYTES)
    words = tf.io.decode_raw(header, tf.int32, fixed_length=_HEADER_BYTES)
    halves = tf.cast(tf.io.decode_raw(header, tf.uint16, fixed_length=_HEADER_BYTES), tf.int32)
    coding, channels, frame_bytes, bits = halves[10], halves[11], halves[16], halves[17]
    num_bytes = words[10]
    facts = [
        tf.reduce_all(tf.gather(words, [0, 2, 3, 4, 9]) == _CONSTANT_WORDS),
        (coding == 1) & (bits == 16) & (channels > 0) & (frame_bytes == 2 * channels),
        words[7] == words[6] * frame_bytes,  # bytes per second, samples per second
        num_bytes == tf.strings.length(encoded) - _HEADER_BYTES,
        num_bytes % tf.maximum(frame_bytes, 1) == 0,
    ]
    return tf.reduce_all(facts)


def _decode_by_library(name: str, encoded: bytes) -> tuple[Any, np.int32]:
    import soundfile  # most datasets have no audio

    try:
        samples, rate = soundfile.read(io.BytesIO(encoded), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(
            f"{name!r} of a record is not audio that libsndfile can read: {error.error_string}; it "
            f"starts with {encoded[:12]!r}"
        ) from error
    return samples, np.int32(rate)
