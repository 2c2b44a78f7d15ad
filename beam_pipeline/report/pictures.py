"""What a report shows of single records: small images with what is drawn on them, and sounds."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import soundfile
from PIL import Image

from beam_pipeline.report.sample import Sampled
from beam_pipeline.showing.images import draw_example
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.page import data_uri

_SIDE = 360  # pixels
_QUALITY = 72
_POINTS = 240  # of a waveform
_WINDOW = 512  # samples of a column of a spectrogram
_MOST_AUDIO_BYTES = 250_000


def thumbnail(features: Sequence[Feature], record: Sampled) -> str:
    """A record's image with its objects and maps, as a data URI; "" without an image."""
    unlabelled = [feature for feature in features if feature.kind != "class_label"]
    image = draw_example(unlabelled, record.example, _SIDE)
    if image is None:
        return ""
    return _jpeg(image)


def small(image: Image.Image) -> str:
    """An image of any size as a small one, as a data URI."""
    image.thumbnail((_SIDE, _SIDE))
    return _jpeg(image)


def _jpeg(image: Image.Image) -> str:
    return data_uri("image/jpeg", _encoded(image, "JPEG", quality=_QUALITY, optimize=True))


def audio(data: bytes) -> dict[str, Any]:
    """A sound to look at and, where it is small, to play.

    Returns:
        "seconds", "rate"; "waveform": lowest and highest value of 240 parts, in -1..1;
        "spectrogram": a data URI; "player": a data URI, or "" of a long one.
    """
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    parts = np.array_split(mono, min(_POINTS, max(1, len(mono))))
    pairs = [[float(part.min()), float(part.max())] for part in parts if len(part)]
    return {
        "seconds": round(len(mono) / rate, 2),
        "rate": rate,
        "waveform": [[round(low, 3), round(high, 3)] for low, high in pairs],
        "spectrogram": data_uri("image/png", _spectrogram(mono)),
        "player": data_uri(_media_type(data), data) if len(data) <= _MOST_AUDIO_BYTES else "",
    }


def _spectrogram(mono: Any) -> bytes:
    """Decibels by time and frequency as a grey PNG, low frequencies below."""
    columns = max(2, min(_POINTS, len(mono) // (_WINDOW // 2)))
    padded = np.pad(mono, (0, max(0, _WINDOW - len(mono))))
    starts = np.linspace(0, len(padded) - _WINDOW, columns).astype(int)
    windows = padded[starts[:, None] + np.arange(_WINDOW)] * np.hanning(_WINDOW)
    power = np.abs(np.fft.rfft(windows, axis=1))[:, 1 : _WINDOW // 4 + 1]
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
