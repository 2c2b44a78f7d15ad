"""Run directories, whose files are either complete and on disk, or missing."""

import contextlib
import csv
import dataclasses
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import keras

from tfrecord_dataset import durable, json_file, regular_files
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.json_file import parse_object, typed
from trainer.errors import ConfigError, RunDamagedError, UnknownNameError, not_a_run
from trainer.options.command_options import CONFIG_FILE
from trainer.options.train_options import TrainConfig
from trainer.tasks import Task
from trainer.tasks.task_json import task_from_json

Row = dict[str, float]
_Parsed = TypeVar("_Parsed")

_FORMAT_VERSION = 2
_MAX_BYTES, _MAX_HISTORY_BYTES = 1 << 28, 1 << 30
_COPY_BACK = "copy it back, or train again with --overwrite"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The parts of config.json that are needed to continue or use a run."""

    options: TrainConfig
    data: Mapping[str, Any]  # identity of the training data
    window: int  # records per shuffling window
    class_weights: tuple[float, ...]  # empty if all are 1
    own: Mapping[str, str]  # names of the user's loss, optimizer and augmentation
    best: str = "loss:min"  # what ranks validations
    group: int = 0  # shards that are shuffled together; 0 for all
    # How the build read rows of tables: fields of `RowOptions`.
    rows: Mapping[str, Any] = dataclasses.field(default_factory=dict)


_OPTIONS = {field.name for field in dataclasses.fields(TrainConfig)}
_FIELDS = {field.name for field in dataclasses.fields(RunConfig)}


def sealed(record: Mapping[str, Any]) -> bytes:
    """Serialize config.json or task.json as UTF-8, with a checksum."""
    return json_file.sealed({"format_version": _FORMAT_VERSION, **record}).encode()


def run_config(record: Mapping[str, Any]) -> RunConfig:
    """Parse config.json, ignoring fields of later versions.

    Raises:
        JsonError, ConfigError: A value is missing or wrong.
    """
    stated = {name: value for name, value in record.items() if name in _FIELDS}
    if isinstance(options := stated.get("options"), dict):
        stated["options"] = {name: value for name, value in options.items() if name in _OPTIONS}
    config: RunConfig = typed(stated, RunConfig)
    for name, value, least in (("window", config.window, 1), ("group", config.group, 0)):
        if value < least:
            raise ConfigError(f"{name} is {value}, not a whole number from {least}")
    return config


def damaged(file: Path, error: Exception, remedy: str = _COPY_BACK) -> RunDamagedError:
    """Return the error for a run's file that is unreadable or modified."""
    reason = error.strerror if isinstance(error, OSError) else error
    return RunDamagedError(f"{file} is damaged: {reason}; {remedy}")


class RunDirectory:
    """Reads and writes the files of a run, each of which is complete or missing.

    config.json    every option, and the identity of the data
    task.json      the task, its statistics of the train split, and its features
    history.csv    one row per validation: epoch (from 1), step, loss, metrics, val_…
    checkpoints/   the latest ones, to resume from
    logs/          for TensorBoard
    model.keras    the model of the best validation, by --best-by; without any, the last
    last.keras     the model at the end
    report.html    a page for people; no command reads it
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()
        self.config_file = self.path / CONFIG_FILE
        self.task_file = self.path / "task.json"
        self.history_file = self.path / "history.csv"
        self.checkpoints = self.path / "checkpoints"
        self.logs = self.path / "logs"
        self.model = self.path / "model.keras"
        self.last_model = self.path / "last.keras"
        self.report = self.path / "report.html"

    def holds_run(self) -> bool:
        """Whether the directory contains a run.

        Raises:
            RunDamagedError: Files of a run exist, but not config.json.
        """
        if os.path.lexists(self.config_file):
            return True
        rest = (self.history_file, self.checkpoints, self.model, self.last_model)
        if existing := [file.name for file in rest if file.exists()]:
            raise RunDamagedError(
                f"{self.path} has {', '.join(existing)}, but no {self.config_file.name}; copy it "
                "back, or train again with --overwrite"
            )
        return False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the directory against other trainings on this machine in this context.

        Creates the directory if it is missing, and removes it if it remains empty.

        Raises:
            ConfigError: Another training has the lock, or the directory is not writable.
        """
        busy = ConfigError(
            f"another training is writing {self.path}; wait for it, or name another --output"
        )
        path = self.path.absolute()
        made: list[Path] = []
        with contextlib.ExitStack() as held:
            try:
                made += [parent for parent in (path, *path.parents) if not parent.exists()]
                held.enter_context(durable.exclusive(os.fspath(path), busy))
                with tempfile.TemporaryFile(dir=path):
                    pass
            except OSError as error:
                _remove_empty(made)
                raise ConfigError(
                    f"--output {self.path} cannot be written: {error.strerror}; name another "
                    "directory"
                ) from error
            held.callback(_remove_empty, made)  # before another training can lock it
            yield

    def clear(self) -> None:
        """Remove only the files of a run, config.json first and durably."""
        self.config_file.unlink(missing_ok=True)
        durable.sync(os.fspath(self.path))
        models = (self.model, self.last_model)
        for file in (self.task_file, self.history_file, *models, self.report):
            file.unlink(missing_ok=True)
        for directory in (self.checkpoints, self.logs):
            shutil.rmtree(directory, ignore_errors=True)

    def write_config(self, config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
        """Write task.json if it changed, then config.json, which marks the run as started."""
        text = sealed(task)
        if not self.task_file.exists() or self.task_file.read_bytes() != text:
            durable.write(os.fspath(self.task_file), text)
        durable.write(os.fspath(self.config_file), sealed(config))

    def read_config(self) -> RunConfig:
        """Read config.json without comparing its checksum, since users may edit it.

        Raises:
            ConfigError: The directory contains no run.
            RunDamagedError: The file is unreadable, or a value is missing or invalid.
        """
        return self._read(self.config_file, run_config)

    def read_task(self) -> tuple[Task, Mapping[str, Feature]]:
        """Read the task and its features from task.json, with the errors of `read_config`."""
        return self._read(self.task_file, task_from_json, is_sealed=True)

    def _read(
        self,
        file: Path,
        parse: Callable[[Mapping[str, Any]], _Parsed],
        *,
        is_sealed: bool = False,
    ) -> _Parsed:
        try:
            data = regular_files.read_bytes(file, _MAX_BYTES)
            record = parse_object(data)
            if is_sealed:
                json_file.check_seal(data)
            return parse(record)
        except FileNotFoundError as error:
            raise not_a_run(self.path, file.name) from error
        except (OSError, ValueError, ConfigError) as error:
            if is_sealed:
                raise damaged(file, error) from error
            reason = error.strerror if isinstance(error, OSError) else error
            raise RunDamagedError(
                f"{file}: {reason}; correct it or copy it back, or train again with --overwrite"
            ) from error

    def trained_model(self, which: str) -> Path:
        """Return the model file of the best epoch ("best") or the last one ("last").

        Raises:
            UnknownNameError: `which` is neither.
            ConfigError: The run has no model yet.
        """
        files = {"best": self.model, "last": self.last_model}
        if which not in files:
            raise UnknownNameError(f"model of {self.path}", which, files)
        file = files[which]
        if not file.exists():
            self.read_config()
            raise ConfigError(
                f"{self.path} has no {file.name}: its training did not finish; continue it with "
                "`beam-tfrecords-train train --resume`"
            )
        return file

    def write_history(self, rows: Sequence[Row]) -> None:
        """Write history.csv."""
        columns = dict.fromkeys(name for row in rows for name in row)
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        durable.write(os.fspath(self.history_file), text.getvalue().encode())

    def write_report(self, page: str) -> None:
        """Write report.html without waiting until it is on disk."""
        with durable.replacing(os.fspath(self.report), synced=False) as handle:
            handle.write(page.encode())

    def read_history(self) -> list[Row]:
        """Read the rows of history.csv; none if it does not exist.

        Raises:
            RunDamagedError: The file does not match what `write_history` wrote.
        """
        try:
            return _rows(regular_files.read_bytes(self.history_file, _MAX_HISTORY_BYTES).decode())
        except FileNotFoundError:
            return []
        except (OSError, ValueError, csv.Error) as error:
            raise damaged(
                self.history_file, error, "delete it to go on without its rows, or copy it back"
            ) from error

    def save_model(self, model: keras.Model, file: Path) -> None:
        """Save the model without its optimizer and loss.

        Only training needs them: checkpoints contain the optimizer, and loading the loss would
        require this package.
        """
        partial = file.with_name(f"partial-{file.name}")  # Keras chooses the format by the suffix
        with _without_optimizer(model):
            model.save(partial)
        durable.sync(os.fspath(partial))
        durable.rename(os.fspath(partial), os.fspath(file))

    def load_best_weights(self, model: keras.Model) -> None:
        """Give the training's model the weights of model.keras; raises RunDamagedError."""
        try:
            with _without_optimizer(model):
                model.load_weights(self.model)
        except Exception as error:  # Keras raises various types for manipulated files
            raise damaged(self.model, error) from error


@contextlib.contextmanager
def _without_optimizer(model: keras.Model) -> Iterator[None]:
    """Context in which a model is saved and loaded without its optimizer and loss."""
    compiled, optimizer = model.compiled, getattr(model, "optimizer", None)
    model.compiled, model.optimizer = False, None
    try:
        yield
    finally:
        model.compiled, model.optimizer = compiled, optimizer


def _rows(text: str) -> list[Row]:
    """Parse history.csv; a row omits the values that are empty."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    rows = []
    for cells in reader:
        try:
            row: Row = {
                name: int(cell) if name in ("epoch", "step") else float(cell)
                for name, cell in cells.items()
                if cell != ""
            }
        except (TypeError, ValueError) as error:
            raise ValueError(f"line {reader.line_num} is not a row of numbers: {error}") from error
        if not {"epoch", "step", "loss"} <= row.keys():
            raise ValueError(f"line {reader.line_num} has no epoch, step or loss")
        rows.append(row)
    if not rows or not text.endswith("\n"):
        raise ValueError("it has no rows" if not rows else "its last line is cut off")
    return rows


def _remove_empty(folders: Sequence[Path]) -> None:
    """Delete empty folders, innermost first, and stop at one in use."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
