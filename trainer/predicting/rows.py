"""Predictions as rows, and the files that hold them."""

import csv
import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TextIO

import numpy as np

from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tasks import Task
from trainer.tasks.targets import BoxesTarget, NumberTarget, OneClass

Row = dict[str, Any]


def row_of(
    task: Task, predictions: Mapping[str, Any], image_size: ImageSize | None, least: float
) -> Row:
    """What is predicted for one record, ready for JSON.

    Args:
        task: The model's.
        predictions: Of `task.predict`, for one record, as NumPy arrays.
        image_size: Of the record's image, for boxes.
        least: Boxes with a lower score are left out.
    """
    goal = task.goal
    if isinstance(goal, BoxesTarget):
        assert image_size is not None
        return {
            "width": image_size.width,
            "height": image_size.height,
            "detections": _detections(goal, predictions, image_size, least),
        }
    if isinstance(goal, NumberTarget):
        values = np.atleast_1d(predictions["values"]).tolist()
        return {"prediction": values[0] if goal.size == 1 else values}
    probabilities = dict(zip(goal.classes, predictions["probabilities"].tolist(), strict=True))
    if isinstance(goal, OneClass):
        best = max(probabilities, key=lambda name: probabilities[name])
        return {
            "prediction": best,
            "probability": probabilities[best],
            "probabilities": probabilities,
        }
    chosen = [name for name, probability in probabilities.items() if probability > 0.5]
    return {"prediction": chosen, "probabilities": probabilities}


def _detections(
    goal: BoxesTarget, predictions: Mapping[str, Any], size: ImageSize, least: float
) -> list[Row]:
    scale = [size.width, size.height, size.width, size.height]
    found = (predictions["labels"] >= 0) & (predictions["scores"] >= least)
    return [
        {
            "class": goal.classes[label],
            "label": int(label),
            "score": float(score),
            "box": (box * scale).tolist(),  # xmin, ymin, xmax, ymax in pixels
        }
        for box, label, score in zip(
            predictions["boxes"][found],
            predictions["labels"][found],
            predictions["scores"][found],
            strict=True,
        )
    ]


class Writer(Protocol):
    """Writes rows to a file."""

    def write(self, row: Row) -> None:
        """Adds a row."""

    def close(self) -> None:
        """Writes what is left."""


def create_writer(format_name: str, task: Task, file: TextIO) -> Writer:
    """The writer of `jsonl` (a line a record), `csv` (the same, or a line a box), or `coco`.

    Raises:
        ConfigError: The task has no boxes, which `coco` needs.
    """
    if format_name == "jsonl":
        return _JsonLines(file)
    if format_name == "csv":
        return _Csv(task, file)
    if isinstance(task.goal, BoxesTarget):
        return _Coco(file)
    raise ConfigError(
        f"--format coco is for boxes, but the model's task is {task.name}; use jsonl or csv"
    )


class _JsonLines:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: Row) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def close(self) -> None:
        pass


class _Csv:
    def __init__(self, task: Task, file: TextIO) -> None:
        self._task = task
        self._lines = csv.writer(file, lineterminator="\n")
        self._lines.writerow(_columns(task))

    def write(self, row: Row) -> None:
        self._lines.writerows(_csv_lines(self._task, row))

    def close(self) -> None:
        pass


class _Coco:
    """COCO's results: https://cocodataset.org/#format-results.

    A category's id is that of label_map.pbtxt, from 1.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._results: list[Row] = []

    def write(self, row: Row) -> None:
        for each in row["detections"]:
            xmin, ymin, xmax, ymax = each["box"]
            self._results.append(
                {
                    "image_id": row["image_id"],
                    "category_id": each["label"] + 1,
                    "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
                    "score": each["score"],
                }
            )

    def close(self) -> None:
        self._file.write(json.dumps(self._results) + "\n")


def _columns(task: Task) -> list[str]:
    goal = task.goal
    if isinstance(goal, BoxesTarget):
        return ["source", "class", "score", "xmin", "ymin", "xmax", "ymax"]
    if isinstance(goal, OneClass):
        return ["source", "prediction", "probability"]
    if isinstance(goal, NumberTarget) and goal.size > 1:
        return ["source", *(f"prediction_{column}" for column in range(goal.size))]
    return ["source", "prediction"]


def _csv_lines(task: Task, row: Row) -> Iterator[list[Any]]:
    if isinstance(task.goal, BoxesTarget):
        for each in row["detections"]:
            yield [row["source"], each["class"], each["score"], *each["box"]]
        return
    prediction = row["prediction"]
    if isinstance(task.goal, NumberTarget):
        values = prediction if isinstance(prediction, list) else [prediction]
    elif isinstance(prediction, list):
        values = [" ".join(prediction)]
    else:
        values = [prediction, row["probability"]]
    yield [row["source"], *values]
