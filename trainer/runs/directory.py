"""The directory of a training run: its files, which stay consistent when a run is killed."""

import csv
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from trainer.errors import ConfigError, UnknownNameError

Row = dict[str, float]


class RunDirectory:
    """The paths in RUN, and their reading and writing; each file is complete or missing.

    config.json    every option, and the identity of the data
    task.json      the task, its statistics of the train split, and its features
    history.csv    one row per validation: epoch (from 1), step, loss, the metrics, val_…
    checkpoints/   the last few, to resume from
    logs/          for TensorBoard
    best.keras     the model of the epoch with the lowest val_loss (loss without validation)
    model.keras    the model at the end
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.config_file = self.path / "config.json"
        self.task_file = self.path / "task.json"
        self.history_file = self.path / "history.csv"
        self.checkpoints = self.path / "checkpoints"
        self.logs = self.path / "logs"
        self.best_model = self.path / "best.keras"
        self.model = self.path / "model.keras"

    def holds_run(self) -> bool:
        """Whether a run was started here."""
        return self.config_file.exists()

    def check_writable(self) -> None:
        """Raises ConfigError if no run can be written here: now rather than after an epoch."""
        try:
            existing = next(
                each for each in (self.path, *self.path.absolute().parents) if each.exists()
            )
            with tempfile.TemporaryDirectory(prefix=".writable-", dir=existing):
                pass
        except OSError as error:
            raise ConfigError(
                f"--output {self.path} cannot be written: {error.strerror}; name another directory"
            ) from error

    def clear(self) -> None:
        """Removes the files of a run, and nothing else."""
        files = (self.config_file, self.task_file, self.history_file, self.best_model, self.model)
        for file in files:
            file.unlink(missing_ok=True)
        for directory in (self.checkpoints, self.logs):
            shutil.rmtree(directory, ignore_errors=True)

    def write_config(self, config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
        """Writes task.json, then config.json, which makes this directory a run."""
        self.path.mkdir(parents=True, exist_ok=True)
        _write_whole(self.task_file, json.dumps(task, ensure_ascii=False) + "\n")
        _write_whole(self.config_file, json.dumps(config, indent=2) + "\n")

    def read_config(self) -> dict[str, Any]:
        """config.json, as `write_config` wrote it.

        Raises:
            ConfigError: There is no run here.
        """
        return self._read(self.config_file)

    def read_task(self) -> dict[str, Any]:
        """task.json, as `write_config` wrote it.

        Raises:
            ConfigError: There is no run here.
        """
        return self._read(self.task_file)

    def trained_model(self, which: str) -> Path:
        """The file of the model at the end ("final"), or after the best epoch ("best").

        Raises:
            UnknownNameError: `which` is something else.
            ConfigError: There is none yet.
        """
        files = {"final": self.model, "best": self.best_model}
        if which not in files:
            raise UnknownNameError(f"model of {self.path}", which, files)
        file = files[which]
        if not file.exists():
            self.read_config()
            raise ConfigError(
                f"{self.path} has no {file.name}: its training did not finish; continue it with "
                "`python -m trainer train --resume`"
            )
        return file

    def _read(self, file: Path) -> dict[str, Any]:
        if not file.exists():
            raise ConfigError(
                f"{self.path} does not hold a run: it has no {file.name}; check --run"
            )
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return record

    def write_history(self, rows: Sequence[Row]) -> None:
        """Writes history.csv."""
        partial = _partial(self.history_file)
        columns = dict.fromkeys(name for row in rows for name in row)
        with partial.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        partial.replace(self.history_file)

    def read_history(self) -> list[Row]:
        """The rows; none without a history."""
        if not self.history_file.exists():
            return []
        with self.history_file.open(newline="") as handle:
            return [
                {
                    name: int(value) if name in ("epoch", "step") else float(value)
                    for name, value in row.items()
                    if value
                }
                for row in csv.DictReader(handle)
            ]

    def save_model(self, model: keras.Model, file: Path) -> None:
        """Saves the model without its optimizer and loss, which only training needs.

        The optimizer is in the checkpoints, and the loss is code of this package, which
        `keras.models.load_model` would need.
        """
        partial = file.with_name(f"partial-{file.name}")  # Keras decides by the suffix
        compiled, optimizer = model.compiled, getattr(model, "optimizer", None)
        model.compiled, model.optimizer = False, None
        try:
            model.save(partial)
        finally:
            model.compiled, model.optimizer = compiled, optimizer
        partial.replace(file)


def _write_whole(file: Path, text: str) -> None:
    partial = _partial(file)
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)


def _partial(file: Path) -> Path:
    return file.with_name(f"{file.name}.partial")
