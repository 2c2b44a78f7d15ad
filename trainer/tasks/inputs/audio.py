"""Audio as log-mel spectra of short frames."""

import dataclasses
import os
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf
from keras import ops

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.options.train import TrainConfig
from trainer.tasks import sequence_models
from trainer.tasks.inputs.base import VaryingInput, not_compared

DEFAULT_SAMPLE_RATE = 16_000

_FRAME_S, _STEP_S = 0.025, 0.010
_LEAST_SAMPLE_RATE = 100  # one sample per step
_MEL_BANDS = 40
# Added to the power of a band, so that near silence does not dominate the logarithm.
_FLOOR = 1e-3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Audio(VaryingInput):
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
        return sequence_models.encode(*log_mel(x, self.sample_rate))


def log_mel(samples: Any, sample_rate: int) -> tuple[Any, Any]:
    """Compute the logarithms of 40 mel bands every 10 ms, minus their mean over time, and a mask.

    Subtracting the mean removes loudness and the microphone's colouring.

    Returns:
        From float32 [b, samples]: float32 [b, frames, 40], and bool [b, frames], False where all
        samples are 0.
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
    return bands - ops.sum(bands * weights, axis=1, keepdims=True) / frames, mask
