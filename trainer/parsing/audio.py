"""Encoded audio."""

import functools
import io
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tfrecord_dataset.feature import Feature
from trainer.parsing.reader import Decoding, Output, Reader, Tensors
from trainer.tensors import check

# RIFF, file size, WAVE, "fmt ", 16, coding and channels, Hz, bytes per second, bytes per frame and
# bits per sample, data, data size: four bytes each, little-endian.
_HEADER_BYTES = 44
_CONSTANT_WORDS = np.frombuffer(b"RIFFWAVEfmt \x10\0\0\0data", "<i4")


class Audio(Reader):
    """Audio (WAV, FLAC, OGG, and other formats of libsndfile), decoded.

    Output: float32 [samples, channels] in -1..1, at the stored sample rate; on demand
    one channel, the mean of all.
    """

    reads_batches: ClassVar[bool] = False

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        return [
            Output(
                name=feature.name,
                feature=feature,
                dtype=tf.float32,
                shape=(feature.shape[0], 1) if decoding.audio_mono else feature.shape,
                padding=0.0,
            )
        ]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        encoded = parsed[feature.key]
        if decoding.portable:
            samples = _decode_wav(feature, encoded)
        else:
            by_library = functools.partial(_decode_by_library, feature.name)
            samples = tf.cond(
                is_plain_wav(encoded),
                lambda: tf.audio.decode_wav(encoded).audio,
                lambda: tf.numpy_function(by_library, [encoded], tf.float32, stateful=False),
            )
        samples = tf.ensure_shape(samples, feature.shape)
        if decoding.audio_mono:
            samples = tf.reduce_mean(samples, axis=-1, keepdims=True)
        return {feature.name: samples}


def is_plain_wav(encoded: Any) -> Any:
    """Whether bytes are 16-bit PCM after a plain header of 44 bytes, and nothing else: bool.

    TensorFlow's decoder fails on WAVE_FORMAT_EXTENSIBLE, chunks of an odd length, bytes
    after the samples, and the lengths in files that were written to a pipe.
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


def _decode_wav(feature: Feature, encoded: Any) -> Any:
    """Samples of a 16-bit WAV file, which must have the feature's sample rate if it states one."""
    samples, rate = tf.audio.decode_wav(encoded)
    if not feature.sample_rate:
        return samples
    message = f"{feature.name} must have {feature.sample_rate} samples per second; resample"
    is_right = check(rate == feature.sample_rate, f"{message} from", rate)
    with tf.control_dependencies([is_right]):
        return tf.identity(samples)


def _decode_by_library(name: str, encoded: bytes) -> Any:
    import soundfile  # here, since most datasets have no audio

    try:
        samples, _ = soundfile.read(io.BytesIO(encoded), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(
            f"{name!r} of a record is not audio that libsndfile can read: {error.error_string}; it "
            f"starts with {encoded[:12]!r}"
        ) from error
    return samples
