"""Renders the page of a run."""

import dataclasses
import itertools
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tfrecord_dataset.options import fields_of
from tfrecord_dataset.page import rendered
from tfrecord_dataset.shown_text import number_text, shown
from trainer.metrics import Metric, is_by_class, metric_named
from trainer.options.train_options import TrainConfig, as_typed, options_that
from trainer.report.history import Best, Row, curves, saved_place

Points = Sequence[tuple[float, float]]

# Facts for a page without a training.
_NO_TRAINING = {"facts": (), "command": (), "curves": ()}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """A record to show."""

    pictures: Mapping[str, str]  # data URIs by title, such as "true" and "predicted"; may be empty
    text: str
    source: str = ""  # the file, or the file and line
    values: Mapping[str, str] = dataclasses.field(default_factory=dict)  # inputs without a picture


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """Results of a validation in addition to its metrics; empty for none."""

    batch: Sequence[Pictured] = ()  # the first batch as the model saw it
    split: str = ""  # of the figures and examples
    model: str = ""  # of the figures and examples, such as "model.keras of epoch 3"
    awaited: str = ""  # a sentence on figures that are not computed yet
    data_report: str = ""  # URL relative to the page
    figures: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # by section
    examples: Sequence[Pictured] = ()  # worst first


def html(
    name: str,
    options: TrainConfig,
    history: Sequence[Row],
    best: Best,
    *,
    sentence: str,
    task: str,
    facts: Sequence[str] = (),
    rates: Points = (),
    sections: Sections | None = None,
    added: Mapping[str, Metric] = MappingProxyType({}),
) -> str:
    """Render the page of a run.

    Args:
        name: Name of the run's directory.
        options: Options of the training.
        history: Rows so far, at least one.
        best: Criterion of the best row.
        sentence: How the training went.
        task: Name of the task.
        facts: Further facts for the head.
        rates: Learning rates by epoch, if they change.
        sections: Results of the saved model's validation.
        added: Metrics in addition to the target's, by name.
    """
    saved = history[saved_place(history, best)]["epoch"]
    of_training = {
        "title": shown(name),
        "task": task,
        "facts": facts,
        "command": command(options),
        "saved": saved,
        "verdict": sentence,
        "curves": [
            chart(metric_named(metric, added).title, lines, saved, whole=True)
            for metric, lines in curves(history).items()
            if not is_by_class(metric)  # which a table shows
        ]
        + [chart("learning rate", {"train": rates}, saved, whole=True)],
    }
    return _rendered(of_training, sections or Sections())


def html_of_predictions(title: str, about: str, sentence: str, sections: Sections) -> str:
    """Render the page on a dataset's predictions: a run's page without the training."""
    return _rendered({"title": shown(title), "task": about, "verdict": sentence}, sections)


def _rendered(head: Mapping[str, Any], sections: Sections) -> str:
    shown_fields = ("batch", "split", "model", "awaited", "data_report", "examples")
    context = {
        **_NO_TRAINING,
        **head,
        **{name: getattr(sections, name) for name in shown_fields},
        **{name: sections.figures.get(name) for name in ("classes", "boxes", "numbers", "maps")},
        "charts": _charts(sections.figures),
    }
    return rendered(Path(__file__).with_name("templates"), "run.html.j2", context)


def _charts(figures: Mapping[str, Any]) -> dict[str, Any]:
    charts: dict[str, Any] = {}
    unit = (0.0, 1.0, 0.0, 1.0)
    if classes := figures.get("classes"):
        charts["precision"] = chart("precision by recall", classes["curves"], bounds=unit)
    if boxes := figures.get("boxes"):
        charts["box_precision"] = chart("precision by recall", boxes["curves"], bounds=unit)
        mark = boxes["best"] and boxes["best"][1]
        charts["f1"] = chart("F1 by least score", {"all classes": boxes["f1"]}, mark, unit)
    if numbers := figures.get("numbers"):
        charts["numbers"] = [_scatter(column["points"]) for column in numbers]
    return charts


def _scatter(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Plot predicted over true values, on axes with equal ends."""
    values = [value for point in points for value in point if abs(value) < float("inf")]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    drawn = chart(
        "predicted by true", {"equal": [(low, low), (high, high)]}, bounds=(low, high, low, high)
    )
    span = (high - low) or 1.0
    dots = [(WIDTH * (x - low) / span, HEIGHT * (1 - (y - low) / span)) for x, y in points]
    return drawn | {"scatter": [(round(x, 1), round(y, 1)) for x, y in dots if x == x and y == y]}


def command(options: TrainConfig) -> list[str]:
    """Return the words of the command that repeats a training; the page replaces RUN."""
    words = ["--data", shown(options.data), "--output", "RUN"]
    left_out = {"output", "resume", "overwrite", "quiet", "cache_dir", *options_that("names_place")}
    for name, field in fields_of(TrainConfig).items():
        value = getattr(options, name)
        if name not in left_out and value not in (field.default, None, ()):
            words += [field.flag] if value is True else [field.flag, as_typed(value)]
    return ["beam-tfrecords-train", "train", *map(shlex.quote, words)]


WIDTH, HEIGHT = 300, 110
_MOST_POINTS = 300
# Beyond these, axis arithmetic overflows or underflows.
_LARGEST, _SMALLEST_STEP = 1e300, 1e-300


def chart(
    title: str,
    lines: Mapping[str, Points],
    mark: float | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    *,
    whole: bool = False,
) -> dict[str, Any]:
    """Prepare a chart for the template, without lines if there are no points.

    Args:
        title: Title of the chart.
        lines: Points (x, y) by line name; points beyond 1e300 or not finite are left out.
        mark: The x of a vertical line.
        bounds: (least x, most x, least y, most y); None for those of the points.
        whole: Whether x has whole numbers, such as epochs.
    """
    kept = {
        name: thinned([each for each in points if all(abs(value) <= _LARGEST for value in each)])
        for name, points in lines.items()
    }
    kept = {name: points for name, points in kept.items() if points}
    every = [point for points in kept.values() for point in points]
    if not every:
        return {"title": title, "lines": [], "mark": None, "x": (), "y": ()}
    left, right, low, high = bounds or (
        *(change(x for x, _ in every) for change in (min, max)),
        *_rounded(*(change(y for _, y in every) for change in (min, max))),
    )

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - left) / (right - left) if right > left else 0.5
        up = (y - low) / (high - low) if high > low else 0.5
        return round(WIDTH * across, 1), round(HEIGHT * (1 - up), 1)

    return {
        "title": title,
        "lines": [
            {
                "name": name,
                "points": " ".join(f"{x:g},{y:g}" for x, y in (place(*each) for each in points)),
                "dots": [
                    {
                        "at": place(*each),
                        "text": f"{name}: {number_text(each[1])} at {number_text(each[0])}",
                    }
                    for each in (points if len(points) <= WIDTH // 10 else [])
                ],
            }
            for name, points in kept.items()
        ],
        "mark": None if mark is None else place(mark, low)[0],
        "x": [(place(x, low)[0], number_text(x)) for x in ticks(left, right, whole=whole)],
        "y": [(place(left, y)[1], _tick_text(y)) for y in ticks(low, high)],
    }


def _tick_text(y: float) -> str:
    """Format a number for the narrow margin of a chart."""
    return number_text(y) if abs(y) < 1e6 else f"{y:.3g}".replace("e+0", "e")


def ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return at most six round numbers in a range, equally spaced."""
    step = max(1.0, _step(low, high)) if whole else _step(low, high)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _step(low: float, high: float) -> float:
    """Return the tick distance: 1, 2 or 5 times a power of ten, at least a fifth of the range."""
    least = max((high - low) / 5 or abs(high) / 5 or 1.0, _SMALLEST_STEP)
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least * (1 - 1e-9))


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Widen a range to end at ticks."""
    step = _step(low, high)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first == last:
        first, last = (first - 1, last) if last else (0, 1)
    return first * step, last * step


def thinned(points: Points, most: int = _MOST_POINTS) -> Points:
    """Reduce points to at most `most` by averaging neighbours."""
    if len(points) <= most:
        return points
    ends = [round(place * len(points) / most) for place in range(most + 1)]
    return [
        (sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part))
        for part in (points[start:end] for start, end in itertools.pairwise(ends))
    ]
