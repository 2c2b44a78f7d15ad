"""A page on a classifier's predictions: figures by class, confusion matrix, worst mistakes."""

import dataclasses
import heapq
import html
import io
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfrecord_dataset.page import data_uri
from trainer.tasks.ranking import AreaUnderCurve

_MOST_MISTAKES = 24
_IMAGE_SIDE = 160
# Of more classes the page has the most frequent confusions in the place of the matrix.
_FEW_COLUMNS, _MOST_COLUMNS = 8, 40


class ClassReport:
    """Counts predictions of one class per record, and keeps the worst mistakes.

    Args:
        classes: By number.
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        size = len(classes)
        self.classes = classes
        self.confusion = np.zeros((size, size), np.int64)  # [true class, predicted class]
        self._ranking = AreaUnderCurve(size)
        self._mistakes: list[tuple[float, int, Mistake]] = []
        self._numbers = itertools.count()

    def add(self, true: int, probabilities: Any, source: str, image: bytes | None) -> None:
        """Adds a record.

        Args:
            true: Its class.
            probabilities: float [classes].
            source: What it is called.
            image: Its encoded image, if it has one.
        """
        predicted = int(np.argmax(probabilities))
        self.confusion[true, predicted] += 1
        self._ranking.update([true], {"probabilities": [probabilities]})
        if predicted != true:
            mistake = Mistake(
                source=source,
                true=self.classes[true],
                predicted=self.classes[predicted],
                of_true=float(probabilities[true]),
                of_predicted=float(probabilities[predicted]),
                image=image,
            )
            # The least bad one is the first to go; the number keeps mistakes from being compared.
            heapq.heappush(self._mistakes, (-mistake.of_true, next(self._numbers), mistake))
            if len(self._mistakes) > _MOST_MISTAKES:
                heapq.heappop(self._mistakes)

    @property
    def mistakes(self) -> "list[Mistake]":
        """The worst first: those whose true class was thought the least probable."""
        return [mistake for _, _, mistake in sorted(self._mistakes, reverse=True)]

    @property
    def confusions(self) -> list[tuple[str, str, int]]:
        """(true class, predicted class, records), the most frequent first."""
        wrong = self.confusion * ~np.eye(len(self.classes), dtype=bool)
        pairs = sorted(zip(*np.nonzero(wrong), strict=True), key=lambda pair: -wrong[pair])
        return [
            (self.classes[true], self.classes[predicted], int(wrong[true, predicted]))
            for true, predicted in pairs
        ]

    @property
    def accuracy(self) -> float:
        """The share of records whose class is predicted."""
        return float(np.trace(self.confusion) / max(1, self.confusion.sum()))

    def figures(self) -> "list[Figures]":
        """Of each class."""
        right = np.diag(self.confusion)
        records, predicted = self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        return [
            Figures(
                name=name,
                records=int(records[number]),
                precision=_share(right[number], predicted[number]),
                recall=_share(right[number], records[number]),
                f1=_share(2 * right[number], records[number] + predicted[number]),
                auc=auc,
            )
            for number, (name, auc) in enumerate(
                zip(self.classes, self._ranking.by_class, strict=True)
            )
        ]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A record with another class than the predicted one.

    Attributes:
        source: What the record is called.
        true: Its class.
        predicted: The class that was predicted.
        of_true: The probability of its class.
        of_predicted: The probability of the predicted class.
        image: Its encoded image, if it has one.
    """

    source: str
    true: str
    predicted: str
    of_true: float
    of_predicted: float
    image: bytes | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How well a class is told from the others; NaN where there is nothing to count.

    Attributes:
        name: The class.
        records: That have it.
        precision: The share of records predicted as this class that have it.
        recall: The share of records with this class that are predicted so.
        f1: The harmonic mean of precision and recall.
        auc: The chance that a record with this class gets a higher probability of it than one
            without.
    """

    name: str
    records: int
    precision: float
    recall: float
    f1: float
    auc: float


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else float("nan")


def write_page(report: ClassReport, title: str, about: str, file: Path) -> None:
    """Writes the page: one HTML file that needs nothing else.

    Args:
        report: What it tells.
        title: Its heading.
        about: A line below it.
        file: In a folder that exists.
    """
    mistakes = "".join(map(_figure, report.mistakes)) or "<p>None.</p>"
    is_small = len(report.classes) <= _MOST_COLUMNS
    file.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }}
div {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: 1em 0 }}
td, th {{ border: 1px solid #ccc; padding: .25em .7em; text-align: right }}
th {{ background: #f4f4f4; font-weight: 600; white-space: nowrap }}
.wide td, .wide th {{ padding: .2em .35em }}
.wide tr:first-child th {{ writing-mode: vertical-rl }}
.none {{ color: #bbb }}
figure {{ display: inline-block; margin: .5em; vertical-align: top; width: {_IMAGE_SIDE}px }}
img {{ display: block; max-height: {_IMAGE_SIDE}px; object-fit: contain; width: 100% }}
figcaption {{ font-size: 12px; overflow-wrap: anywhere }}
</style></head><body>
<h1>{html.escape(title)}</h1>
<p>{html.escape(about)}</p>
<p>{int(report.confusion.sum())} records, accuracy {report.accuracy:.4f}</p>
<h2>By class</h2>
<div>{_by_class(report.figures())}</div>
<h2>Confusion</h2>
{_matrix(report) if is_small else _pairs(report)}
<h2>Worst mistakes</h2>
<p>The class, the predicted class, and their probabilities.</p>
{mistakes}
</body></html>
""",
        encoding="utf-8",
    )


def _by_class(figures: list[Figures]) -> str:
    def row(name: str, records: object, values: Iterable[float]) -> str:
        cells = "".join(f"<td>{_text(value)}</td>" for value in values)
        return f"<tr><th>{html.escape(name)}</th><td>{records}</td>{cells}</tr>"

    columns = [(each.precision, each.recall, each.f1, each.auc) for each in figures]
    rows = [
        row(each.name, each.records, values) for each, values in zip(figures, columns, strict=True)
    ]
    means = [_mean(values) for values in zip(*columns, strict=True)]
    names = ("records", "precision", "recall", "F1", "AUC")
    head = "".join(f"<th>{name}</th>" for name in ("", *names))
    return f"<table><tr>{head}</tr>{''.join(rows)}{row('mean', '', means)}</table>"


def _matrix(report: ClassReport) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in report.classes)
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th>"
        + "".join(
            _cell(int(count), int(counts.sum()), true == number)
            for number, count in enumerate(counts)
        )
        + "</tr>"
        for true, (name, counts) in enumerate(zip(report.classes, report.confusion, strict=True))
    )
    shape = ' class="wide"' if len(report.classes) > _FEW_COLUMNS else ""
    return (
        "<p>Rows: the class; columns: the predicted class. Colours: the share of the row.</p>"
        f"<div><table{shape}><tr><th></th>{head}</tr>{rows}</table></div>"
    )


def _cell(count: int, of_row: int, is_right: bool) -> str:
    if not count:
        return '<td class="none">0</td>'
    color = "60, 160, 90" if is_right else "220, 80, 60"
    return f'<td style="background: rgba({color}, {0.1 + 0.7 * count / of_row:.2f})">{count}</td>'


def _pairs(report: ClassReport) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(true)}</td><td>{html.escape(predicted)}</td><td>{count}</td></tr>"
        for true, predicted, count in report.confusions[:_MOST_COLUMNS]
    )
    return (
        f"<p>The most frequent of {len(report.confusions)} confusions.</p>"
        f"<table><tr><th>class</th><th>predicted</th><th>records</th></tr>{rows}</table>"
    )


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _text(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _figure(mistake: Mistake) -> str:
    picture = ""
    if mistake.image is not None:
        address = data_uri("image/png", _thumbnail(mistake.image))
        picture = f'<img alt="" src="{address}">'
    return (
        f"<figure>{picture}<figcaption><b>{html.escape(mistake.true)}</b> ({mistake.of_true:.2f}), "
        f"predicted {html.escape(mistake.predicted)} ({mistake.of_predicted:.2f})<br>"
        f"{html.escape(mistake.source)}</figcaption></figure>"
    )


def _thumbnail(encoded: bytes) -> bytes:
    from PIL import Image

    with Image.open(io.BytesIO(encoded)) as image:
        small = image.convert("RGB")
    small.thumbnail((_IMAGE_SIDE, _IMAGE_SIDE))
    output = io.BytesIO()
    small.save(output, "PNG")
    return output.getvalue()
