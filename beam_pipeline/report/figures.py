"""Figures of a report, from statistics.json for all records and otherwise from a sample."""

import collections
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from beam_pipeline.media.images import size_in_file
from beam_pipeline.report.drawing import class_names
from beam_pipeline.report.sample import Sampled
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.records.contents import Contents
from tfrecord_dataset.shown_text import counted

# Kinds with classes.
LABELLED = ("class_label", "boxes")
_BINS = 20
_CELLS = 16  # of the heat map, per side
_WORDS = 30
_MOST_CLASSES = 1_000
_WORD = re.compile(r"[^\W\d_]{2,}")
Statistics = Mapping[str, Mapping[str, Mapping[str, Any]]]


def figures(dataset: Contents, records: Sequence[Sampled]) -> dict[str, Any]:
    """Compute all figures as JSON values."""
    statistics = dataset.read_statistics()
    stated: Statistics = {split: statistics.get(split, {}) for split in dataset.splits}
    features = list(dataset.features.values())
    num_records = sum(map(dataset.num_records, dataset.splits))
    return {
        "splits": [
            {
                "name": name,
                "records": dataset.num_records(name),
                "bytes": split.num_bytes,
                "shards": len(split.files),
            }
            for name, split in dataset.splits.items()
        ],
        "classes": [classes(one, stated, records) for one in features if one.kind in LABELLED],
        "numbers": [number for one in features for number in numbers(one, stated)],
        "lengths": [length for one in features for length in lengths(one, stated)],
        "images": [images(one, records) for one in features if one.kind == "image"],
        "objects": [objects(one, records) for one in features if one.kind == "boxes"],
        "texts": [texts(one, records) for one in features if one.kind == "text"],
        "sequences": [sequences(one, records) for one in features if one.kind == "sequence"],
        "sampled": len(records),
        "sample": sample_in_words(len(records), num_records),
    }


def sample_in_words(sampled: int, num_records: int) -> str:
    """Return "all 60 records", or "a sample of 60 records" if there are more."""
    return f"{'all' if sampled == num_records else 'a sample of'} {counted(sampled, 'record')}"


def classes(feature: Feature, stated: Statistics, records: Sequence[Sampled]) -> dict[str, Any]:
    """Count each class by split, in the sample if statistics.json is missing."""
    by_split = {split: each.get(feature.name, {}).get("classes") for split, each in stated.items()}
    is_exact = all(each is not None for each in by_split.values())
    counts = {split: collections.Counter(each or {}) for split, each in by_split.items()}
    for record in () if is_exact else records:
        counts[record.split].update(names(feature, record))
    total = collections.Counter[str]()
    for some in counts.values():
        total.update(some)
    known = [*feature.classes, *sorted(total.keys() - set(feature.classes))]
    ordered = sorted(known, key=lambda name: -total[name])[:_MOST_CLASSES]
    return {
        "feature": feature.name,
        "of_objects": feature.kind == "boxes",
        "exact": is_exact,
        "number": len(known),
        "without": sum(1 for record in records if not names(feature, record)),
        "rows": [
            {
                "name": name,
                "total": total[name],
                "splits": [count[name] for count in counts.values()],
            }
            for name in ordered
        ],
    }


def names(feature: Feature, record: Sampled) -> list[str]:
    """Class names of a record, or of its objects."""
    labels = record.values.get("box_labels" if feature.kind == "boxes" else feature.name)
    return class_names(feature, [] if labels is None else labels)


def numbers(feature: Feature, stated: Statistics) -> Iterator[dict[str, Any]]:
    """Range, mean and deviation by split, and the distance between the splits' means."""
    rows: list[dict[str, Any]] = []
    for split, each in stated.items():
        facts = each.get(feature.name, {})
        if isinstance(facts.get("mean"), float | int):
            deviation = math.sqrt(max(0.0, facts.get("variance") or 0.0))
            kept = {name: facts.get(name) for name in ("minimum", "maximum", "mean", "missing")}
            rows.append({"split": split, "deviation": deviation, **kept})
    if rows and feature.kind == "scalar":
        spread = max(row["deviation"] for row in rows)
        means = [row["mean"] for row in rows]
        drift = (max(means) - min(means)) / spread if spread else 0.0
        yield {"feature": feature.name, "splits": rows, "drift": drift}


def lengths(feature: Feature, stated: Statistics) -> Iterator[dict[str, Any]]:
    """Heights, lengths and numbers of samples: least, mean and most by split."""
    measures: dict[str, list[dict[str, Any]]] = {}
    for split, each in stated.items():
        facts = each.get(feature.name, {})
        for name, value in facts.items():
            if isinstance(value, Mapping) and value.keys() == {"minimum", "maximum", "total"}:
                mean = value["total"] / max(1, facts["num_values"])
                row = {"split": split, "minimum": value["minimum"], "mean": mean}
                measures.setdefault(name, []).append(row | {"maximum": value["maximum"]})
    for name, rows in measures.items():
        yield {"feature": feature.name, "what": name.replace("_", " "), "splits": rows}


def images(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Sizes and aspect ratios of the sampled images."""
    stored_sizes = (size_in_file(record.values[feature.name]) for record in records)
    sizes = collections.Counter((size.width, size.height) for size in stored_sizes)
    ratios = [width / height for (width, height), count in sizes.items() for _ in range(count)]
    return {
        "feature": feature.name,
        "sizes": [[*size, count] for size, count in sizes.most_common(200)],
        "aspect": histogram(ratios, log=True),
    }


def objects(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Objects per record, their areas, and the positions of their centres, in the sample."""
    counts, areas = [], []
    cells = np.zeros((_CELLS, _CELLS), np.int64)
    for record in records:
        boxes = np.asarray(record.values["boxes"]).reshape(-1, 4)
        counts.append(len(boxes))
        sizes = np.clip(boxes[:, 2:] - boxes[:, :2], 0, 1)
        areas += np.sqrt(sizes[:, 0] * sizes[:, 1]).tolist()
        centers = np.clip((boxes[:, :2] + boxes[:, 2:]) / 2, 0, 0.999999)
        np.add.at(cells, tuple((centers[:, ::-1] * _CELLS).astype(int).T), 1)
    return {
        "feature": feature.name,
        "empty": sum(1 for count in counts if not count),
        "a_record": histogram(counts, whole=True),
        "sides": histogram(areas),
        "centers": cells.tolist(),
    }


def texts(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Lengths and frequent words of the sampled texts, or how often each of few values occurs."""
    of_records = [record.values[feature.name] for record in records]
    decoded = [each.decode(errors="replace") for each in of_records if isinstance(each, bytes)]
    words = collections.Counter(word.lower() for text in decoded for word in _WORD.findall(text))
    values = collections.Counter(decoded)
    are_few = len(values) <= min(_WORDS, len(decoded) / 2)
    return {
        "feature": feature.name,
        "values": values.most_common() if are_few else [],
        "lengths": histogram([len(text) for text in decoded], whole=True),
        "words": words.most_common(_WORDS),
    }


def sequences(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Lengths of the sampled sequences."""
    lengths = [len(np.atleast_1d(record.values[feature.name])) for record in records]
    return {"feature": feature.name, "lengths": histogram(lengths, whole=True)}


def histogram(values: Sequence[float], *, whole: bool = False, log: bool = False) -> dict[str, Any]:
    """Count values in 20 bins: of equal width, at whole numbers, or (log) of equal ratios."""
    if not len(values):
        return {"edges": [], "counts": []}
    change: Callable[[Any], Any] = np.log if log else np.asarray
    low, high = float(np.min(change(values))), float(np.max(change(values)))
    if whole:
        step = max(1, math.ceil((high - low + 1) / _BINS))
        edges = np.arange(low, high + 1 + step, step)
    else:
        edges = np.linspace(low, high if high > low else low + 1e-9, _BINS + 1)
    counts, edges = np.histogram(change(values), edges)
    shown = np.exp(edges) if log else edges
    shown = shown.astype(int) if whole else np.round(shown.astype(float), 4)
    return {"edges": shown.tolist(), "counts": counts.tolist()}
