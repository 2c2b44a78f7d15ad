"""Renders single records for a report: small annotated images, and sounds."""

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import soundfile
from PIL import Image

from beam_pipeline.report.drawing import draw_example
from beam_pipeline.report.sample import Sampled
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.page import data_uri

_SIDE = 360  # pixels
_QUALITY = 72
_POINTS = 240  # of a waveform
_WINDOW_S = 0.03  # of a spectrogram column, approximately
_ROWS = 128
_MOST_AUDIO_BYTES = 250_000


def thumbnail(features: Sequence[Feature], record: Sampled) -> str:
    """Return a record's annotated image as a data URI; "" without an image."""
    unlabelled = [feature for feature in features if feature.kind != "class_label"]
    image = draw_example(unlabelled, record.example, _SIDE)
    if image is None:
        return ""
    return data_uri("image/jpeg", _encoded(image, "JPEG", quality=_QUALITY, optimize=True))


def audio(data: bytes) -> dict[str, Any]:
    """Render a sound as pictures and, if it is small, as a player.

    Returns:
        "seconds", "rate"; "waveform": lowest and highest value of 240 parts, in -1..1;
        "spectrogram": a data URI; "player": a data URI, or "" for a long sound.
    """
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    parts = np.array_split(mono, min(_POINTS, max(1, len(mono))))
    pairs = [[float(part.min()), float(part.max())] for part in parts if len(part)]
    return {
        "seconds": round(len(mono) / rate, 2),
        "rate": rate,
        "waveform": [[round(low, 3), round(high, 3)] for low, high in pairs],
        "spectrogram": data_uri("image/png", _spectrogram(mono, rate)),
        "player": data_uri(_media_type(data), data) if len(data) <= _MOST_AUDIO_BYTES else "",
    }


def _spectrogram(mono: Any, rate: int) -> bytes:
    """Decibels by time and frequency, up to half the rate, as a grey PNG; low at the bottom."""
    window = 1 << max(5, round(math.log2(max(1.0, rate * _WINDOW_S))))
    columns = min(_POINTS, max(2, 8 * len(mono) // window))
    padded = np.pad(mono, (0, max(0, window - len(mono))))
    starts = np.linspace(0, len(padded) - window, columns).astype(int)
    windows = padded[starts[:, None] + np.arange(window)] * np.hanning(window)
    power = np.abs(np.fft.rfft(windows, axis=1))[:, 1:]
    power = power.reshape(columns, min(_ROWS, window // 2), -1).mean(axis=-1)
    decibels = 20 * np.log10(power + 1e-6)
    top = decibels.max()
    grey = np.clip((decibels - top + 80) / 80 * 255, 0, 255).astype(np.uint8)
    return _encoded(Image.fromarray(grey.T[::-1]), "PNG", optimize=True)


def _media_type(data: bytes) -> str:
    kinds = {b"RIFF": "audio/wav", b"fLaC": "audio/flac", b"OggS": "audio/ogg"}
    return kinds.get(data[:4], "audio/mpeg")


def _encoded(image: Image.Image, encoding: str, **save: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, encoding, **save)
    return buffer.getvalue()
