"""Predictions as rows, and the files that hold them."""

import csv
import json
from typing import Protocol, TextIO

from trainer.errors import ConfigError
from trainer.tasks import Task
from trainer.tasks.targets import Row


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
    if task.goal.has_boxes:
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
        self._goal = task.goal
        self._lines = csv.writer(file, lineterminator="\n")
        self._lines.writerow(["source", *task.goal.columns])

    def write(self, row: Row) -> None:
        self._lines.writerows([row["source"], *line] for line in self._goal.lines(row))

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
