"""Pictures and sounds of a report: the choice of records, and their rendering."""

import collections
import contextlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import soundfile
from PIL import Image

from beam_pipeline.describe.record_text import as_text
from beam_pipeline.errors import RecordError
from beam_pipeline.report import figures
from beam_pipeline.report.drawing import color_of, draw_example
from beam_pipeline.report.rows import Rows
from beam_pipeline.report.sampled_records import Sampled, of_keys, read
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.map_colors import as_css
from tfrecord_dataset.page import data_uri
from tfrecord_dataset.records.contents import Contents
from tfrecord_dataset.shown_text import shown

_SIDE = 360  # pixels
_QUALITY = 72
_POINTS = 240  # of a waveform
_WINDOW_S = 0.03  # of a spectrogram column, approximately
_ROWS = 128
_MOST_AUDIO_BYTES = 250_000

_PICTURES, _SOUNDS = 120, 12
# Records per class; more if all classes together have fewer than this many.
_EACH_CLASS, _FEW_PICTURES = 6, 48
# Limits of the records that are read for classes of which a sample has too few.
_MOST_RARE, _MOST_RARE_BYTES = 60, 8 << 20
_GROUPS, _OF_A_GROUP = 24, 4

Group = Mapping[str, Any]


def with_rare(dataset: Contents, known: Rows, records: Sequence[Sampled]) -> list[Sampled]:
    """Add records that the index knows of classes with fewer than six, the rarest first."""
    total = sum(map(dataset.num_records, dataset.splits))
    num_bytes = sum(split.num_bytes or 0 for split in dataset.splits.values())
    most = min(_MOST_RARE, _MOST_RARE_BYTES * total // max(1, num_bytes))
    features = list(dataset.features.values())
    seen = collections.Counter(name for each in records for name in {*_classes(features, each)})
    starts = itertools.accumulate(known.splits.values(), initial=0)
    firsts = dict(zip(known.splits, starts, strict=False))
    sampled = {
        firsts[each.split] + each.number
        for each in records
        if each.number < known.splits.get(each.split, 0)
    }
    names, labels = known.classes
    by_class = labels[np.argsort(labels[:, 1], kind="stable"), 0]
    ends = np.cumsum(np.bincount(labels[:, 1], minlength=len(names)))
    wanted: dict[int, None] = {}
    for number in np.argsort(np.diff(ends, prepend=0), kind="stable").tolist():
        start = ends[number - 1] if number else 0
        # Any sixth record that is added of a class follows at most all that are sampled.
        rows = by_class[start : min(ends[number], start + _EACH_CLASS + len(sampled))].tolist()
        others = [row for row in rows if row not in sampled]
        wanted |= dict.fromkeys(others[: max(0, _EACH_CLASS - seen[names[number]])])
        if len(wanted) >= most:
            break
    more = list(records)
    for split, first in firsts.items():
        size = known.splits[split]
        numbers = sorted(row - first for row in [*wanted][:most] if first <= row < first + size)
        if not dataset.splits[split].compression:  # else no record can be read by number
            more += read(dataset, split, numbers)
    return more


def _chosen(
    features: Sequence[Feature],
    found: Mapping[str, Any],
    records: Sequence[Sampled],
    *,
    each_class: int,
    few: int,
) -> list[tuple[Sampled, list[str]]]:
    """Choose records of each class, with their classes: rare classes and none first."""
    totals: dict[str, int] = {}  # the least of the features that share a name
    for row in (row for each in found["classes"] for row in each["rows"]):
        totals[row["name"]] = min(row["total"], totals.get(row["name"], row["total"]))
    number = sum(1 for each in found["classes"] for row in each["rows"] if row["total"])
    each_class = max(each_class, few // max(1, number))
    seen: collections.Counter[str] = collections.Counter()
    ranked: dict[tuple[str, int], tuple[int, Sampled, list[str]]] = {}
    for record in sorted(records, key=lambda each: each.number):  # alternates between splits
        classes = _classes(features, record)
        least = min((seen[name] for name in classes), default=seen[""])
        if least < each_class and (record.split, record.number) not in ranked:
            seen.update(classes or [""])
            rank = min((totals.get(name, 0) for name in classes), default=0)
            ranked[record.split, record.number] = (rank, record, classes)
    ordered = sorted(ranked.values(), key=lambda each: each[0])
    return [(record, classes) for _, record, classes in ordered]


def gallery(
    features: Sequence[Feature], found: Mapping[str, Any], records: Sequence[Sampled]
) -> Iterator[dict[str, Any]]:
    """Draw images: rare classes and images without objects first, some of each class."""
    if not any(feature.kind == "image" for feature in features):
        return
    drawn = _chosen(features, found, records, each_class=_EACH_CLASS, few=_FEW_PICTURES)
    for record, classes in drawn[:_PICTURES]:
        (source,) = record.example.get("image/filename", [])[:1] or [b""]
        facts = _shown(features, record, classes)
        if facts["picture"] is not None:
            text = as_text(record.example, features)
            yield {**facts, "source": shown(source.decode(errors="replace")), "text": text}


def sounds(
    features: Sequence[Feature], found: Mapping[str, Any], records: Sequence[Sampled]
) -> Iterator[dict[str, Any]]:
    """Render sounds: at least one of each class, the rarest first."""
    for feature in features:
        if feature.kind == "audio":
            rendered = _chosen(features, found, records, each_class=1, few=_SOUNDS)
            for record, classes in rendered[:_SOUNDS]:
                facts = {**audio(record.values[feature.name]), **_named_as(record, classes)}
                yield {**facts, "text": as_text(record.example, features)}


def side_by_side(dataset: Contents, *kinds: Sequence[Group]) -> list[list[list[dict[str, Any]]]]:
    """Show the first groups of each kind, which metadata.json lists with "keys", in their order.

    Omits records that were not written or are not in the index.
    """
    named = [[each["keys"][:_OF_A_GROUP] for each in groups[:_GROUPS]] for groups in kinds]
    keys = {key for kind in named for group in kind for key in group}
    records = of_keys(dataset, keys)
    features = list(dataset.features.values())
    drawn = {key: _named(key, record, features) for key, record in records.items()}
    return [[[drawn[key] for key in group if key in drawn] for group in kind] for kind in named]


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
    colors = {
        name: as_css(color_of(name, feature.classes))
        for feature in features
        if feature.kind == "boxes"
        for name in figures.names(feature, record)
    }
    return {"picture": picture, "colors": colors, **_named_as(record, classes)}


def _named_as(record: Sampled, classes: Sequence[str]) -> dict[str, Any]:
    return {
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
        "seconds", "rate"; "waveform": lowest and highest value of 240 parts, in -1..1; "peak";
        "spectrogram": a data URI; "player": a data URI, or "" for a long sound.
    """
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    parts = np.array_split(mono, min(_POINTS, max(1, len(mono))))
    pairs = [[float(part.min()), float(part.max())] for part in parts if len(part)]
    return {
        "seconds": round(len(mono) / rate, 2),
        "rate": rate,
        "peak": round(float(np.abs(mono).max(initial=0)), 2),
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
