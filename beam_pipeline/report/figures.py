"""Figures of a report: of all records where statistics.json or the index knows them."""

import collections
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from beam_pipeline.describe.index import MAX_CHARACTERS
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.images import size_in_file
from beam_pipeline.media.maps import IGNORED, read_numbers
from beam_pipeline.report.drawing import class_names
from beam_pipeline.report.rows import Rows, in_words
from beam_pipeline.report.sampled_records import Sampled
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.map_colors import as_css, class_name, is_drawn, palette
from tfrecord_dataset.records.contents import Contents
from tfrecord_dataset.shown_text import counted

# Kinds with classes.
LABELLED = ("class_label", "boxes")
_BINS = 20
_CELLS = 16  # of the heat map, per side
_WORDS = 30
_VALUES = 10
# Distinct texts whose words are counted.
_OF_WORDS = 5_000
_MOST_CLASSES = 1_000
_WORD = re.compile(r"[^\W\d_]{2,}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T].*)?")
Floats = npt.NDArray[np.float64]
Statistics = Mapping[str, Mapping[str, Mapping[str, Any]]]
_NONE = pyarrow.chunked_array([], pyarrow.null())


def figures(dataset: Contents, records: Sequence[Sampled], known: Rows) -> dict[str, Any]:
    """Compute all figures as JSON values."""
    statistics = dataset.read_statistics()
    stated: Statistics = {split: statistics.get(split, {}) for split in dataset.splits}
    of_kind = collections.defaultdict(list)
    for feature in dataset.features.values():
        of_kind[feature.kind].append(feature)
    name, correlate = target_of(dataset, stated, known) or ("", None)
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
        "classes": [
            classes(each, stated, records)
            for each in dataset.features.values()
            if each.kind in LABELLED
        ],
        "label": name,
        "numbers": [
            number
            for each in of_kind["scalar"]
            for number in numbers(each, stated, known, None if each.name == name else correlate)
        ],
        "lengths": [
            length for each in dataset.features.values() for length in lengths(each, stated)
        ],
        "images": [images(each, known) for each in of_kind["image"]],
        "objects": [objects(each, records) for each in of_kind["boxes"]],
        "maps": [maps(each, records) for each in of_kind["map"] if each.dtype == "uint8"],
        "texts": [texts(each, stated, known) for each in of_kind["text"]],
        "sequences": [sequences(each, records) for each in of_kind["sequence"]],
        "rows": known.of,
        "sampled": len(records),
        "sample": in_words(len(records), sum(map(dataset.num_records, dataset.splits))),
    }


def target_of(
    dataset: Contents, stated: Statistics, known: Rows
) -> tuple[str, Callable[[Floats], float | None]] | None:
    """Return what a model would predict, and the correlation of the rows' values with it.

    It is the only class label, else the only number that a whole split lacks.
    """
    if labels := labels_of(dataset, known):
        return labels[0], functools.partial(correlation, classes=labels[1])
    lacking = dataset.numbers_to_predict(stated)
    if len(lacking) != 1 or any(each.kind in LABELLED for each in dataset.features.values()):
        return None
    others = _floats(known.values.get(lacking[0], _NONE))
    return lacking[0], functools.partial(rank_correlation, others=others)


def labels_of(dataset: Contents, known: Rows) -> tuple[str, npt.NDArray[np.intp]] | None:
    """Return the name of the only class label, and the class of each row as a number."""
    labelled = [each for each in dataset.features.values() if each.kind in LABELLED]
    names, labels = known.classes
    if not names or [each.kind for each in labelled] != ["class_label"]:
        return None
    numbers = np.full(sum(known.splits.values()), len(names))  # for rows without a class
    numbers[labels[:, 0]] = labels[:, 1]
    return labelled[0].name, numbers


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


def numbers(
    feature: Feature,
    stated: Statistics,
    known: Rows,
    correlate: Callable[[Floats], float | None] | None,
) -> Iterator[dict[str, Any]]:
    """Range, mean and deviation by split, distribution, and correlation with the target."""
    rows: list[dict[str, Any]] = []
    for split, each in stated.items():
        facts = each.get(feature.name, {})
        if isinstance(facts.get("mean"), float | int):
            deviation = math.sqrt(max(0.0, facts.get("variance") or 0.0))
            kept = {name: facts.get(name) for name in ("minimum", "maximum", "mean", "missing")}
            rows.append({"split": split, "deviation": deviation, **kept})
    if not rows:
        return
    spread = max(row["deviation"] for row in rows)
    means = [row["mean"] for row in rows]
    values = _floats(known.values.get(feature.name, _NONE))
    yield {
        "feature": feature.name,
        "splits": rows,
        "drift": (max(means) - min(means)) / spread if spread else 0.0,
        "histogram": histogram(values[np.isfinite(values)], whole=feature.dtype == "int64"),
        "correlation": correlate(values) if correlate else None,
    }


def correlation(values: Floats, classes: npt.NDArray[np.intp]) -> float | None:
    """Return the correlation ratio (eta) of ranks and classes, 0 to 1; None if either is constant.

    Its square is the share of the ranks' variance that is between the classes, as in a
    Kruskal-Wallis test. Missing values are left out; equal ones have their mean rank.
    """
    there = np.isfinite(values)
    ranks = _ranks(values[there])
    _, number, counts = np.unique(classes[there], return_inverse=True, return_counts=True)
    if len(counts) < 2 or not ranks.std():
        return None
    means = np.bincount(number, ranks) / counts
    return round(float(means[number].std() / ranks.std()), 3)


def rank_correlation(values: Floats, others: Floats) -> float | None:
    """Return Spearman's correlation without its sign, 0 to 1; None if either is constant."""
    there = np.isfinite(values) & np.isfinite(others)
    one, other = (_ranks(each[there]) for each in (values, others))
    if not one.size or not one.std() or not other.std():
        return None
    return round(abs(float(np.corrcoef(one, other)[0, 1])), 3)


def _ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values have their mean rank."""
    _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[number]
    return ranks


def _floats(column: pyarrow.ChunkedArray) -> Floats:
    """Convert a column of numbers; a missing one is NaN."""
    values: Floats = column.cast(pyarrow.float64(), safe=False).to_numpy()
    return values


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


def images(feature: Feature, known: Rows) -> dict[str, Any]:
    """Sizes and aspect ratios of the images."""
    sides = (side.to_pylist() for side in known.sizes[feature.name])
    sizes = collections.Counter(zip(*sides, strict=True))
    sizes.pop((None, None), None)  # records without an image
    ratios = [width / height for (width, height), count in sizes.items() for _ in range(count)]
    return {
        "feature": feature.name,
        "sizes": [[*size, count] for size, count in sizes.most_common(200)],
        "number": len(sizes),
        "aspect": histogram(ratios, log=True),
    }


def objects(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Objects per record, their sizes and shapes, and where their centres are, in the sample."""
    counts, areas, ratios = [], [], []
    cells = np.zeros((_CELLS, _CELLS), np.int64)
    for record in records:
        boxes = np.asarray(record.values["boxes"]).reshape(-1, 4)
        counts.append(len(boxes))
        sizes = np.clip(boxes[:, 2:] - boxes[:, :2], 0, 1)
        areas += np.sqrt(sizes[:, 0] * sizes[:, 1]).tolist()
        ratios += _aspects(record, sizes)
        centers = np.clip((boxes[:, :2] + boxes[:, 2:]) / 2, 0, 0.999999)
        np.add.at(cells, tuple((centers[:, ::-1] * _CELLS).astype(int).T), 1)
    return {
        "feature": feature.name,
        "empty": sum(1 for count in counts if not count),
        "a_record": histogram(counts, whole=True),
        "sides": histogram(areas),
        "aspect": histogram(ratios, log=True),
        "centers": cells.tolist(),
    }


def _aspects(record: Sampled, sizes: npt.NDArray[Any]) -> list[float]:
    """Widths by heights of boxes in pixels; of fractions if the record has no image."""
    image = record.values.get("image")
    size = size_in_file(image) if isinstance(image, bytes) else None
    factor = size.width / size.height if size else 1.0
    there = sizes[(sizes > 0).all(axis=-1)]
    ratios: list[float] = (there[:, 0] / there[:, 1] * factor).tolist()
    return ratios


def maps(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Share of the pixels by class in the sampled maps, and the class's colour."""
    pixels = np.zeros(256, np.int64)
    for record in records:
        numbers = read_numbers(record.values[feature.name], DECODER_MAX_PIXELS)
        pixels += np.bincount(numbers.reshape(-1), minlength=256)
    return {
        "feature": feature.name,
        "rows": [
            {
                "name": "ignored" if number == IGNORED else class_name(feature.classes, number),
                "color": as_css(palette()[number]),
                "is_drawn": is_drawn(feature.classes, number),
                "share": int(pixels[number]) / int(pixels.sum()),
            }
            for number in np.flatnonzero(pixels).tolist()
        ],
    }


def texts(feature: Feature, stated: Statistics, known: Rows) -> dict[str, Any]:
    """Values of a text with their counts, the range of dates, or lengths and words of others."""
    of_splits = [each.get(feature.name, {}).get("strings") for each in stated.values()]
    is_exact = all(each is not None for each in of_splits)
    column = known.values.get(feature.name, _NONE).cast(pyarrow.string())
    texts = column.drop_null()
    counts = collections.Counter[str]()
    for some in of_splits if is_exact else [texts.to_pylist()]:
        counts.update(some)
    number, words = counts.total(), collections.Counter[str]()
    for text, count in itertools.islice(counts.items(), _OF_WORDS):
        for word in _WORD.findall(text):
            words[word.lower()] += count
    dates = sorted(counts) if counts and all(map(_DATE.fullmatch, counts)) else []
    are_few = len(counts) <= number / 2 and not dates
    return {
        "feature": feature.name,
        "of": f"all {counted(number, 'record')}" if is_exact else known.of,
        "number": len(counts),
        "values": counts.most_common(_VALUES) if are_few else [],
        "others": number - sum(count for _, count in counts.most_common(_VALUES)),
        "total": number,
        "dates": [dates[0], dates[-1]] if dates else [],
        "lengths_of": _with_texts(texts, column, known),
        "lengths": histogram(pyarrow.compute.utf8_length(texts).to_numpy(), whole=True),
        "words": words.most_common(_WORDS),
    }


def _with_texts(texts: pyarrow.ChunkedArray, column: pyarrow.ChunkedArray, known: Rows) -> str:
    """Describe the rows whose texts the index has."""
    if not column.null_count:
        return known.of
    count = f"{len(texts):,} of {counted(len(column), 'record')}"
    return f"{count}; texts of more than {MAX_CHARACTERS:,} characters are left out"


def sequences(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Lengths of the sampled sequences."""
    lengths = [len(np.atleast_1d(record.values[feature.name])) for record in records]
    return {"feature": feature.name, "lengths": histogram(lengths, whole=True)}


def histogram(
    values: Sequence[float] | Floats, *, whole: bool = False, log: bool = False
) -> dict[str, Any]:
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
