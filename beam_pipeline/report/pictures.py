"""Pictures and sounds of a report: the choice of records, and their rendering."""

import collections
import contextlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import soundfile
from PIL import Image

from beam_pipeline.describe.record_text import as_text
from beam_pipeline.errors import RecordError
from beam_pipeline.report import figures
from beam_pipeline.report.drawing import draw_example
from beam_pipeline.report.sample import Sampled, of_keys
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.page import data_uri
from tfrecord_dataset.records.contents import Contents
from tfrecord_dataset.shown_text import shown

_SIDE = 360  # pixels
_QUALITY = 72
_POINTS = 240  # of a waveform
_WINDOW_S = 0.03  # of a spectrogram column, approximately
_ROWS = 128
_MOST_AUDIO_BYTES = 250_000

_PICTURES = 120
# Records per class, so that all classes together have this many.
_AT_LEAST = 48
_EACH_CLASS = 6
_GROUPS, _OF_A_GROUP = 24, 4

Group = Mapping[str, Any]


def gallery(
    features: Sequence[Feature], found: Mapping[str, Any], records: Sequence[Sampled]
) -> Iterator[dict[str, Any]]:
    """Choose pictures: rare classes and images without objects first, some of each class."""
    if not any(feature.kind == "image" for feature in features):
        return
    totals: dict[str, int] = {}  # the least of the features that share a name
    for row in (row for each in found["classes"] for row in each["rows"]):
        totals[row["name"]] = min(row["total"], totals.get(row["name"], row["total"]))
    number = sum(1 for each in found["classes"] for row in each["rows"] if row["total"])
    each_class = max(_EACH_CLASS, _AT_LEAST // max(1, number))
    seen: collections.Counter[str] = collections.Counter()
    chosen: dict[tuple[str, int], tuple[int, Sampled, list[str]]] = {}
    for record in sorted(records, key=lambda each: each.number):  # alternates between splits
        classes = _classes(features, record)
        least = min((seen[name] for name in classes), default=seen[""])
        if least < each_class and (record.split, record.number) not in chosen:
            seen.update(classes or [""])
            rank = min((totals.get(name, 0) for name in classes), default=0)
            chosen[record.split, record.number] = (rank, record, classes)
    for _, record, classes in sorted(chosen.values(), key=lambda each: each[0])[:_PICTURES]:
        (source,) = record.example.get("image/filename", [])[:1] or [b""]
        facts = _shown(features, record, classes)
        if facts["picture"] is not None:
            text = as_text(record.example, features)
            yield {**facts, "source": shown(source.decode(errors="replace")), "text": text}


def side_by_side(dataset: Contents, *kinds: Sequence[Group]) -> list[list[list[dict[str, Any]]]]:
    """Show the first groups of each kind, which metadata.json lists with "keys".

    Omits records that were not written or are not in the index.
    """
    named = [[each["keys"][:_OF_A_GROUP] for each in groups[:_GROUPS]] for groups in kinds]
    keys = {key for kind in named for group in kind for key in group}
    records = of_keys(dataset, keys)
    features = list(dataset.features.values())
    drawn = {key: _named(key, record, features) for key, record in records.items()}
    together = [[[drawn[key] for key in group if key in drawn] for group in kind] for kind in named]
    return [[group for group in kind if len(group) > 1] for kind in together]


def _named(key: str, record: Sampled, features: Sequence[Feature]) -> dict[str, Any]:
    facts = _shown(features, record, list(dict.fromkeys(_classes(features, record))))
    return {**facts, "picture": facts["picture"] or "", "key": shown(key)}


def _classes(features: Sequence[Feature], record: Sampled) -> list[str]:
    """A record's distinct classes by feature."""
    labelled = (feature for feature in features if feature.kind in figures.LABELLED)
    return [name for each in labelled for name in dict.fromkeys(figures.names(each, record))]


def _shown(features: Sequence[Feature], record: Sampled, classes: Sequence[str]) -> dict[str, Any]:
    """Show a record; the picture is None if it is damaged, which `verify` reports."""
    picture = None
    with contextlib.suppress(RecordError):
        picture = thumbnail(features, record)
    return {
        "picture": picture,
        "split": record.split,
        "number": record.number,
        "classes": [shown(name) for name in classes],
    }


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
