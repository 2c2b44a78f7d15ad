"""Predictions as rows, and the files that hold them."""

import csv
import json
from typing import Protocol, TextIO

from trainer.errors import ConfigError
from trainer.tasks import Task
from trainer.tasks.targets import Document, Row


class Writer(Protocol):
    """Writes rows to a file."""

    def write(self, row: Row) -> None:
        """Adds a row."""

    def close(self) -> None:
        """Writes what is left."""


def create_writer(format_name: str, task: Task, file: TextIO) -> Writer:
    """The writer of `jsonl` (a line a record), `csv` (a line or more a record), or a document.

    Raises:
        ConfigError: The task has no such document.
    """
    if format_name == "jsonl":
        return _JsonLines(file)
    if format_name == "csv":
        return _Csv(task, file)
    document = task.goal.documents.get(format_name)
    if document is not None:
        return _Document(document, file)
    raise ConfigError(
        f"--format {format_name} is not for this model, whose task is {task.name}; use jsonl or csv"
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


class _Document:
    def __init__(self, document: Document, file: TextIO) -> None:
        self._document = document
        self._file = file
        self._rows: list[Row] = []

    def write(self, row: Row) -> None:
        self._rows.append(row)

    def close(self) -> None:
        self._file.write(json.dumps(self._document(self._rows)) + "\n")
