"""Targets and predictions as rows, CSV lines, drawings and figures; one class per target."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import number_text
from trainer.tasks.baselines import Baseline, FrequentClasses, Median, MedianBoxes, MostFrequent
from trainer.tasks.drawing import in_colors, resized, with_boxes, with_map
from trainer.tasks.figures import Accumulator, ClassFigures, NumberFigures, Overlay
from trainer.tasks.inputs.image import size_of
from trainer.tasks.mean_average_precision import MeanAveragePrecision
from trainer.tasks.targets.boxes import BoxesTarget
from trainer.tasks.targets.classes import ManyClasses, MultiHot, OneClass
from trainer.tasks.targets.maps import MapTarget, PixelConfusion
from trainer.tasks.targets.numbers import NumberTarget
from trainer.tasks.targets.target import Target

# Prediction for one record, ready for JSON.
Row = dict[str, Any]
# Converts the rows of all records to one JSON document.
Document = Callable[[Iterable[Row]], Any]

_MOST_SHOWN = 5  # classes of a record in messages


class Results(abc.ABC):
    """Formats the predictions and values of one kind of target.

    Attributes:
        columns: Column names of `lines`.
        documents: Further formats of predictions by name.
        names_target: Whether the first column is the target's value.
    """

    columns: tuple[str, ...] = ("prediction",)
    documents: Mapping[str, Document] = MappingProxyType({})
    names_target = True

    def __init__(self, goal: Any) -> None:
        self.goal = goal

    @abc.abstractmethod
    def row(self, decoded: Mapping[str, Any], image: bytes | None, least: float) -> Row:
        """Return the prediction for one record, without scores below `least`.

        Of two classes the second is predicted from this probability, or, if it is 0, from 0.5.
        `decoded` has NumPy arrays from `decode`; `image` is encoded, if the target `needs_image`.
        """

    def draw(self, row: Row, decoded: Mapping[str, Any], image: Any) -> Any:
        """Draw predictions on a Pillow image in RGB, perhaps in place, and return it."""
        raise NotImplementedError

    def map_of(self, row: Row, decoded: Mapping[str, Any]) -> Any:
        """Return the map of classes as a Pillow image, if the target `makes_maps`."""
        raise NotImplementedError

    def lines(self, row: Row) -> list[list[Any]]:
        """Return a record's lines of a CSV file, without the source."""
        return [[row["prediction"]]]

    @abc.abstractmethod
    def shown(self, target: Any) -> tuple[str, Overlay]:
        """Return one record's target, perhaps smoothed or weighted, as text and as an overlay."""

    @abc.abstractmethod
    def accumulators(self) -> list[Accumulator]:
        """Return new metrics over whole splits, in addition to `metrics`; at least one."""

    @abc.abstractmethod
    def baseline(self) -> Baseline:
        """Return a new metric of a trivial guess."""


def coco_results(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Convert to COCO results (https://cocodataset.org/#format-results), label_map.pbtxt's ids."""
    return [
        {
            "image_id": row["image_id"],
            "category_id": each["label"] + 1,
            "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
            "score": each["score"],
        }
        for row in rows
        for each in row["detections"]
        for xmin, ymin, xmax, ymax in [each["box"]]
    ]


class _BoxResults(Results):
    names_target = False
    columns = ("class", "score", "xmin", "ymin", "xmax", "ymax")
    documents = MappingProxyType({"coco": coco_results})

    def row(self, decoded: Mapping[str, Any], image: bytes | None, least: float) -> Row:
        assert image is not None
        size = size_of(image)
        is_shown = (decoded["labels"] >= 0) & (decoded["scores"] >= least)
        columns = [decoded[name][is_shown] for name in ("boxes", "labels", "scores", "classes")]
        scale = [size.width, size.height, size.width, size.height]
        detected = [
            {
                "class": name.decode(),
                "label": int(label),
                "score": float(score),
                "box": (box * scale).tolist(),  # xmin, ymin, xmax, ymax in pixels
            }
            for box, label, score, name in zip(*columns, strict=True)
        ]
        return {"width": size.width, "height": size.height, "detections": detected}

    def draw(self, row: Row, decoded: Mapping[str, Any], image: Any) -> Any:
        detections = row["detections"]  # the most probable first
        texts = [f"{each['class']} {each['score']:.2f}" for each in detections]
        boxes = [{**each, "text": text} for each, text in zip(detections, texts, strict=True)]
        return with_boxes(image, boxes)

    def lines(self, row: Row) -> list[list[Any]]:
        return [[each["class"], each["score"], *each["box"]] for each in row["detections"]]

    def shown(self, target: Any) -> tuple[str, Overlay]:
        boxes = [
            {"label": label, "text": self.goal.classes[label], "box": box}
            for box, label in zip(target["boxes"].tolist(), target["labels"].tolist(), strict=True)
            if label >= 0
        ]
        return f"boxes: {len(boxes)}", Overlay(boxes=boxes)

    def accumulators(self) -> list[Accumulator]:
        return [MeanAveragePrecision(self.goal.classes)]

    def baseline(self) -> Baseline:
        return MedianBoxes(self.goal.classes)


class _ClassResults(Results):
    def shown(self, target: Any) -> tuple[str, Overlay]:
        if not target.shape:
            return self.goal.classes[int(target)], Overlay()
        named = sorted(zip(target.tolist(), self.goal.classes, strict=True), reverse=True)
        parts = [
            name if share == 1 else f"{name} {share:.2f}" for share, name in named if share > 0
        ]
        return ", ".join(parts[:_MOST_SHOWN]), Overlay()

    def accumulators(self) -> list[Accumulator]:
        return [ClassFigures(self.goal.classes, has_one_class=self.goal.has_one_class)]


class _OneClassResults(_ClassResults):
    columns = ("prediction", "probability")

    def baseline(self) -> Baseline:
        return MostFrequent("accuracy", self.goal.classes)

    def row(self, decoded: Mapping[str, Any], image: bytes | None, least: float) -> Row:
        probabilities = _by_class(self.goal.classes, decoded["probabilities"])
        chosen = decoded["prediction"].decode()
        if least:
            first, second = probabilities
            chosen = second if probabilities[second] >= least else first
        probability = probabilities[chosen]
        return {"prediction": chosen, "probability": probability, "probabilities": probabilities}

    def lines(self, row: Row) -> list[list[Any]]:
        return [[row["prediction"], row["probability"]]]


class _ManyClassResults(_ClassResults):
    def baseline(self) -> Baseline:
        return FrequentClasses(self.goal.classes)

    def row(self, decoded: Mapping[str, Any], image: bytes | None, least: float) -> Row:
        probabilities = _by_class(self.goal.classes, decoded["probabilities"])
        chosen = [name for name, probability in probabilities.items() if probability > 0.5]
        return {"prediction": chosen, "probabilities": probabilities}

    def lines(self, row: Row) -> list[list[Any]]:
        return [[" ".join(row["prediction"])]]


class _MapResults(Results):
    names_target = False
    columns = ("class", "pixels")

    def row(self, decoded: Mapping[str, Any], image: bytes | None, least: float) -> Row:
        assert image is not None
        size = size_of(image)
        numbers = decoded["prediction"]
        shares = np.bincount(numbers.ravel(), minlength=len(self.goal.classes)) / numbers.size
        by_class = _by_class(self.goal.classes, shares)
        pixels = {name: share for name, share in by_class.items() if share > 0}
        return {"width": size.width, "height": size.height, "pixels": pixels}

    def draw(self, row: Row, decoded: Mapping[str, Any], image: Any) -> Any:
        return with_map(image, decoded["prediction"], self.goal.classes)

    def map_of(self, row: Row, decoded: Mapping[str, Any]) -> Any:
        return in_colors(resized(decoded["prediction"], ImageSize(row["height"], row["width"])))

    def lines(self, row: Row) -> list[list[Any]]:
        return [[name, share] for name, share in row["pixels"].items()]

    def shown(self, target: Any) -> tuple[str, Overlay]:
        numbers = target[..., 0] if target.ndim == 3 else target  # the rest are weights
        numbers = numbers.astype(np.uint8)
        known = np.unique(numbers[numbers < len(self.goal.classes)])
        return ", ".join(self.goal.classes[each] for each in known), Overlay(classes=numbers)

    def accumulators(self) -> list[Accumulator]:
        return [PixelConfusion(self.goal.classes)]

    def baseline(self) -> Baseline:
        return MostFrequent("mIoU", self.goal.classes)


class _NumberResults(Results):
    def __init__(self, goal: Any) -> None:
        super().__init__(goal)
        self.columns = (goal.name,)
        if goal.size > 1:
            self.columns = tuple(f"{goal.name}_{column}" for column in range(goal.size))

    def row(self, decoded: Mapping[str, Any], image: bytes | None, least: float) -> Row:
        return {"prediction": decoded["prediction"].tolist()}

    def lines(self, row: Row) -> list[list[Any]]:
        prediction = row["prediction"]
        return [prediction if isinstance(prediction, list) else [prediction]]

    def shown(self, target: Any) -> tuple[str, Overlay]:
        return ", ".join(map(number_text, target)), Overlay()

    def accumulators(self) -> list[Accumulator]:
        return [NumberFigures(self.goal.name, self.goal.size)]

    def baseline(self) -> Baseline:
        return Median()


def _by_class(classes: Sequence[str], shares: Any) -> dict[str, float]:
    return dict(zip(classes, shares.tolist(), strict=True))


_RESULTS: Mapping[str, type[Results]] = MappingProxyType(
    {
        BoxesTarget.kind: _BoxResults,
        ManyClasses.kind: _ManyClassResults,
        MapTarget.kind: _MapResults,
        MultiHot.kind: _ManyClassResults,
        NumberTarget.kind: _NumberResults,
        OneClass.kind: _OneClassResults,
    }
)


def results_of(goal: Target) -> Results:
    """Return the formatter for a target."""
    return _RESULTS[goal.kind](goal)
