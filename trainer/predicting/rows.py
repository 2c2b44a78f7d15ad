"""Predictions as rows, and the files that hold them."""

import csv
import json
from collections.abc import Iterable
from typing import TextIO

from trainer.errors import ConfigError
from trainer.tasks import Task
from trainer.tasks.targets import Row


def check_format(format_name: str, task: Task) -> None:
    """Raises ConfigError unless predictions of a task can be written as `write_rows` does."""
    if format_name not in ("jsonl", "csv", *task.goal.documents):
        raise ConfigError(
            f"--format {format_name} is not for this model, whose task is {task.name}; use jsonl "
            "or csv"
        )


def write_rows(format_name: str, task: Task, rows: Iterable[Row], file: TextIO) -> None:
    """Writes rows: `jsonl`, a line a record; `csv`, some lines a record; or the task's document."""
    if format_name == "jsonl":
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif format_name == "csv":
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["source", *task.goal.columns])
        for row in rows:
            lines.writerows([row["source"], *line] for line in task.goal.lines(row))
    else:
        file.write(json.dumps(task.goal.documents[format_name](rows)) + "\n")
