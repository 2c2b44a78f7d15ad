"""Inputs of varying length: ids, numbers, words and audio, encoded by masked convolutions.

Unlike a recurrent layer, convolutions run in parallel over time and give equal results on every
device. Padding does not change results: it is 0 before each convolution, and the mean and the
maximum over time ignore it.
"""

import dataclasses
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf
from keras import ops

from tfrecord_dataset.format.feature import STRINGS, Feature
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.options.train_options import TrainConfig
from trainer.tasks.inputs.base import Input, not_compared
from trainer.tasks.inputs.tabular import Measured, standardize
from trainer.tasks.statistics import LEAVE_OUT, Largest, Statistic, not_utf8

_WIDTH = 96
_WIDTH_OF_SERIES = 64
_KERNEL = 5
_DEPTH = 3
_EMBEDDING = 64


def encode_sequence(x: Any, mask: Any, *, is_series: bool = False) -> Any:
    """Encode each sequence as a vector of 192 numbers, or 128 for a series.

    Args:
        x: [b, time, size].
        mask: bool [b, time]; False for padding.
        is_series: Whether trends and waves over the whole sequence matter. If so, convolutions
            are dilated by 1, 2, 4 and 8, and see 61 steps and each step's relative position.
    """
    # Add a step of padding: the maximum over a batch of empty sequences needs one.
    x = ops.pad(x, [[0, 0], [0, 1], [0, 0]])
    weights = ops.expand_dims(ops.pad(ops.cast(mask, "float32"), [[0, 0], [0, 1]]), -1)
    x = keras.layers.Multiply()([x, weights])
    steps = ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0)  # 1 for empty sequences
    if is_series:
        place = weights * (2 * ops.cumsum(weights, axis=1) / steps - 1)
        x = keras.layers.Concatenate()([x, ops.cast(place, x.dtype)])
    width = _WIDTH_OF_SERIES if is_series else _WIDTH
    for number in range(_DEPTH + is_series):
        dilation = 2**number if is_series else 1
        y = keras.layers.Conv1D(
            width, _KERNEL, padding="same", dilation_rate=dilation, use_bias=False
        )(x)
        y = keras.layers.LayerNormalization()(y)  # per step, so padding does not matter
        y = keras.layers.ReLU()(y)
        y = keras.layers.Multiply()([y, weights])
        x = keras.layers.Add()([x, y]) if number else y
    x = ops.cast(x, "float32")
    mean = ops.sum(x, axis=1) / ops.squeeze(steps, -1)
    return keras.layers.Concatenate()([mean, ops.max(x, axis=1)])


def encode_tokens(tokens: Any, num_tokens: int) -> Any:
    """Encode sequences, int64 [b, time]: 0 is padding, all numbers are below `num_tokens`."""
    x = keras.layers.Embedding(num_tokens, _EMBEDDING)(tokens)
    return encode_sequence(x, ops.not_equal(tokens, 0))


def before_last_zeros(x: Any) -> Any:
    """Return the mask of [b, time, size]: bool [b, time], False for zeros at the end."""
    not_zero = ops.cast(ops.any(ops.not_equal(x, 0), axis=-1), "int32")
    return ops.greater(ops.flip(ops.cumsum(ops.flip(not_zero, axis=1), axis=1), axis=1), 0)


_MAX_IDS = 1_000_000


class VaryingInput(Input):
    """An input whose records vary in length, unless all are padded or cut to `length`."""

    __slots__ = ()

    varies: ClassVar[bool] = True
    length: int | None

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.length,)

    @property
    def pad_to(self) -> int | None:
        return self.length


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ids(VaryingInput):
    """A sequence of ids, integers from 0; the train split's are below `num_ids`.

    Models take int64 [length]: 0 is padding, id + 1 a known id, `num_ids` + 1 any other id.
    """

    kind: ClassVar[str] = "ids"
    group: ClassVar[str] = "sequence"
    dtype: ClassVar[str] = "int64"
    padding: ClassVar[int] = -1

    name: str
    length: int | None = None
    num_ids: int = not_compared(0)

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_list = feature.kind == "sequence" and len(feature.shape) == 1
        return is_list and feature.dtype == "int64"

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(name=feature.name, length=options.pad.get(feature.name))

    @property
    def num_tokens(self) -> int:
        """Number of tokens: padding, the ids, and any other id."""
        return self.num_ids + 2

    def statistic(self) -> Statistic:
        remedy = "number the ids again without gaps, or store measured values as float32"
        return Largest(self.name, "num_ids", limit=_MAX_IDS, remedy=remedy)

    def prepare(self, values: Any) -> Any:
        return tf.clip_by_value(tf.cast(values, tf.int64), -1, self.num_ids) + 1

    def encode(self, x: Any) -> Any:
        return encode_tokens(x, self.num_tokens)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Series(VaryingInput, Measured):
    """A sequence of numbers, or of rows of `size` numbers; models take float32 [length, size].

    Zeros at the end count as padding. `mean` and `variance` are those of the train split by column.
    """

    kind: ClassVar[str] = "series"
    group: ClassVar[str] = "sequence"
    padding: ClassVar[int] = 0

    name: str
    size: int
    length: int | None = None
    mean: tuple[float, ...] = not_compared()
    variance: tuple[float, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        are_numbers = feature.kind == "sequence" and feature.dtype not in STRINGS
        return are_numbers and not Ids.suits(feature)

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(
            name=feature.name,
            size=math.prod(size or 1 for size in feature.shape[1:]),
            length=options.pad.get(feature.name),
        )

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self.length, self.size)

    def prepare(self, values: Any) -> Any:
        batch, length = tf.shape(values)[0], tf.shape(values)[1]
        return tf.reshape(tf.cast(values, tf.float32), [batch, length, self.size])

    def encode(self, x: Any) -> Any:
        mask = before_last_zeros(x)
        return encode_sequence(standardize(x, self.mean, self.variance), mask, is_series=True)


_MAX_WORDS = 20_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Words(VaryingInput):
    """The words of a text, or the strings of a sequence, as numbers.

    A text (`is_text`) is converted to lower case, stripped of punctuation and split at white space
    (`keras.layers.TextVectorization`); the strings of a sequence are used unchanged. Models take
    int64 [length]: 0 is padding, 1 an unknown word, and numbers from 2 are the `vocabulary`, the
    most frequent words of the train split in order of frequency.
    """

    kind: ClassVar[str] = "words"
    dtype: ClassVar[str] = "int64"

    name: str
    is_text: bool
    length: int | None = None
    vocabulary: tuple[str, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_list = feature.kind == "sequence" and len(feature.shape) == 1
        is_string = feature.kind == "scalar" and feature.dtype == "string"
        return feature.kind == "text" or is_string or (is_list and feature.dtype in STRINGS)

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(
            name=feature.name,
            is_text=feature.kind != "sequence",
            length=options.pad.get(feature.name),
        )

    @property
    def group(self) -> str:
        return "text" if self.is_text else "sequence"

    @property
    def suffixes(self) -> tuple[str, ...]:  # type: ignore[override]
        return (".txt",) if self.is_text else ()

    def of_file(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DatasetDamagedError(f"{file} is not UTF-8: {error}; save it as UTF-8") from error

    @property
    def pad_to(self) -> int | None:
        return None if self.is_text else self.length

    @property
    def padding(self) -> str | None:
        return None if self.is_text else ""

    @property
    def num_tokens(self) -> int:
        """Number of tokens: padding, the unknown word, and the vocabulary."""
        return len(self.vocabulary) + 2

    def statistic(self) -> Statistic:
        return _Frequencies(self.name, self.layer())

    def host_step(self) -> keras.Layer:
        return self.layer(list(self.vocabulary) or None)

    def layer(self, vocabulary: list[str] | None = None) -> keras.Layer:
        """Return the layer from strings, [b] (texts) or [b, n], to numbers, [b, length]."""
        if not self.is_text:
            return keras.layers.StringLookup(
                max_tokens=_MAX_WORDS, mask_token="", vocabulary=vocabulary
            )
        return keras.layers.TextVectorization(
            max_tokens=_MAX_WORDS, vocabulary=vocabulary, output_sequence_length=self.length
        )

    def prepare(self, values: Any) -> Any:
        return values

    def encode(self, x: Any) -> Any:
        return encode_tokens(x, self.num_tokens)


class _Frequencies:
    """Word frequencies, with words split by Keras's own layers."""

    def __init__(self, name: str, layer: keras.Layer) -> None:
        self._name = name
        self._layer = layer

    def take(self, facts: Mapping[str, Any]) -> bool:
        return False  # statistics.json has no words as Keras's layers split them

    def add(self, values: Any) -> None:
        self._layer.update_state(tf.constant(values, tf.string))

    def result(self) -> dict[str, Any]:
        self._layer.finalize_state()
        try:
            words = tuple(map(str, self._layer.get_vocabulary(include_special_tokens=False)))
        except UnicodeDecodeError as error:
            raise ConfigError(not_utf8(self._name, error, LEAVE_OUT)) from error
        if not words:
            raise ConfigError(
                f"{self._name!r} has no word in the train split; leave it out by --inputs"
            )
        return {"vocabulary": words}


DEFAULT_SAMPLE_RATE = 16_000

_FRAME_S, _STEP_S = 0.025, 0.010
_LEAST_SAMPLE_RATE = 100  # one sample per step
_MEL_BANDS = 40
# Added to the power of a band, so that near silence does not dominate the logarithm.
_FLOOR = 1e-3
# Scale of the mean spectrum: so small that it decides on stationary sounds, before the
# convolutions learn the training's noise by heart.
_SPREAD = 0.25


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AudioInput(VaryingInput):
    """Audio; models take float32 [samples] in -1..1, channels averaged.

    Samples are resampled to `sample_rate`; zeros at the end count as padding.
    """

    kind: ClassVar[str] = "audio"
    is_file: ClassVar[bool] = True
    suffixes: ClassVar[tuple[str, ...]] = (".wav", ".flac", ".ogg", ".mp3")

    name: str
    sample_rate: int = not_compared(DEFAULT_SAMPLE_RATE)  # others are resampled
    length: int | None = None

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return feature.kind == "audio"

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        rate = feature.sample_rate or DEFAULT_SAMPLE_RATE
        if rate < _LEAST_SAMPLE_RATE:
            raise ConfigError(
                f"audio {feature.name!r} has {rate} samples per second, but spectra need at least "
                f"{_LEAST_SAMPLE_RATE}; store it as a sequence of numbers"
            )
        return cls(
            name=feature.name,
            sample_rate=rate,
            length=options.pad.get(feature.name),
        )

    def assumed(self, feature: Feature) -> str | None:
        stated = f"{self.name} states no single sample rate: resampled to {self.sample_rate:,} Hz"
        return None if feature.sample_rate else stated

    def stored(self, value: Any, feature: Feature, folder: Path, source: str) -> list[Any]:
        import soundfile  # most models take no audio

        path = self.file_of(value, folder, source)
        try:
            soundfile.info(os.fspath(path))
        except soundfile.LibsndfileError as error:
            raise DatasetDamagedError(f"{path} is not readable audio: {error}") from error
        return [path.read_bytes()]

    def prepare(self, values: Any) -> Any:
        return tf.squeeze(values, axis=-1)

    def encode(self, x: Any) -> Any:
        """Encode changes over time, and the mean spectrum, all that stationary sounds have."""
        bands, mask, spectrum = log_mel(x, self.sample_rate)
        level = ops.mean(spectrum, axis=-1, keepdims=True)
        colour = (spectrum - level) / _SPREAD
        return keras.layers.Concatenate()([encode_sequence(bands, mask), colour])


def log_mel(samples: Any, sample_rate: int) -> tuple[Any, Any, Any]:
    """Compute the logarithms of 40 mel bands every 10 ms, minus their mean over time.

    Subtracting the mean removes loudness and the microphone's colouring.

    Returns:
        From float32 [b, samples]: float32 [b, frames, 40]; bool [b, frames], False where all
        samples are 0; and the subtracted means, float32 [b, 40].
    """
    frame = round(_FRAME_S * sample_rate)
    fft_length = 1 << (frame - 1).bit_length()
    # Pad by a frame of zeros: mirroring the ends needs more than half a frame.
    padded = ops.pad(samples, [[0, 0], [0, fft_length]])
    power = keras.layers.MelSpectrogram(
        fft_length=fft_length,
        sequence_length=frame,
        sequence_stride=round(_STEP_S * sample_rate),
        sampling_rate=sample_rate,
        num_mel_bins=_MEL_BANDS,
        power_to_db=False,  # decibels would depend on the loudest record of the batch
        dtype="float32",
    )(padded)  # [b, bands, frames]
    power = ops.transpose(power, [0, 2, 1])
    mask = ops.any(ops.greater(power, 0.0), axis=-1)
    weights = ops.expand_dims(ops.cast(mask, "float32"), -1)
    bands = ops.log(power + _FLOOR)
    frames = ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0)
    means = ops.sum(bands * weights, axis=1, keepdims=True) / frames
    return bands - means, mask, ops.squeeze(means, 1)
