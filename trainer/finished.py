"""`trainer.open_run`, `evaluate` and `predict`: a finished run in Python."""

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping
from typing import Any

import keras

from trainer.dataset import Dataset
from trainer.input_pipeline.tensorflow_errors import readable_errors
from trainer.options.commands import EvaluateConfig, PredictConfig
from trainer.predicting import predicted_rows
from trainer.runs.choices import best_of
from trainer.runs.directory import RunDirectory
from trainer.runs.trained import TrainedRun, load_run
from trainer.runs.trained import evaluate as run_evaluate

Path = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """A finished training. Made by `trainer.open_run`.

    Attributes:
        path: The directory that `train` wrote.
        task: Its name, such as "tabular_classification".
        inputs: The names of the features that the model learned from.
        target: The name of the feature that it predicts.
        classes: Their names, in the order of the model's outputs; none if the target is numbers.
        metrics: The row of the history of the model that is used: epoch, step, loss, metrics.
        which: The model that is used: "best" by validation, or "last".
        model_fn: `package.module:function` that made a model with layers of its own; or None.
    """

    path: str
    task: str
    inputs: tuple[str, ...]
    target: str
    classes: tuple[str, ...]
    metrics: Mapping[str, float]
    which: str = "best"
    model_fn: str | None = None

    @functools.cached_property
    def trained(self) -> TrainedRun:
        """The model with all that it needs, which is loaded on first use."""
        return load_run(self.path, self.which, self.model_fn)

    @property
    def model(self) -> keras.Model:
        """The Keras model. It takes prepared inputs."""
        return self.trained.model


def open_run(path: Path, *, which: str = "best", model_fn: str | None = None) -> Run:
    """Opens a finished run.

        >>> trainer.open_run("runs/cells").classes
        ('Platelets', 'RBC', 'WBC')

    Args:
        path: The directory that `train` wrote.
        which: "best", the model of the best validation, or "last".
        model_fn: `package.module:function` that made a model with layers of its own.

    Raises:
        ConfigError: There is no finished run.
        RunDamagedError: A file of the run is not what was written.
    """
    directory = RunDirectory(os.fspath(path))
    directory.trained_model(which)
    task, _ = directory.read_task()
    options, history = directory.read_config().options, directory.read_history()
    place = best_of(options.best_by, history).place(history) if which == "best" else -1
    return Run(
        path=os.fspath(path),
        task=task.name,
        inputs=tuple(each.name for each in task.inputs.values()),
        target=task.target,
        classes=task.classes,
        metrics=history[place] if history else {},
        which=which,
        model_fn=model_fn,
    )


def evaluate(
    run: Path | Run,
    dataset: Path | Dataset,
    *,
    split: str | None = None,
    which: str = "best",
    batch_size: int | None = None,
    devices: str = "auto",
    quiet: bool = False,
) -> dict[str, float]:
    """Evaluates a run's model on a split; every record counts once.

        >>> trainer.evaluate("runs/cells", "data/cells", quiet=True)["num_records"]
        6

    Args:
        run: A run, or its directory.
        dataset: A dataset that `trainer.open` opened, or what it opens.
        split: By default test, else in the run's own data the share that validated, else the only
            split.
        which: "best" or "last", where `run` is a directory.
        batch_size: Records per step; by default that of the training.
        devices: As for `--devices`.
        quiet: Print nothing on stderr.

    Returns:
        Loss and metrics by name, those of a trivial guess (`baseline_…`), and `num_records`.

    Raises:
        ConfigError: There is no such run or split, or the data has other features.
        TrainerError: See the tree in errors.py.
    """
    chosen = run if isinstance(run, Run) else open_run(run, which=which)
    opened = dataset if isinstance(dataset, Dataset) else None
    config = EvaluateConfig(
        data=opened.path if opened else os.fspath(dataset),  # type: ignore[arg-type]
        run_path=chosen.path,
        split=split,
        which=chosen.which,
        model_fn=chosen.model_fn,
        batch_size=batch_size,
        devices=devices,
        quiet=quiet,
    )
    with readable_errors():
        return run_evaluate(config, opened)


def predict(
    run: Path | Run,
    inputs: Path | Iterable[Path] | Iterable[Mapping[str, Any]] | Dataset,
    *,
    split: str | None = None,
    which: str = "best",
    min_score: float | None = None,
    batch_size: int = 32,
) -> list[dict[str, Any]]:
    """Predicts for a dataset, for files and folders, or for rows of values.

        >>> rows = trainer.predict("runs/cells", "data/cells", split="test")
        >>> sorted(rows[0])
        ['prediction', 'probabilities', 'probability', 'source']

    Args:
        run: A run, or its directory.
        inputs: A dataset or its path; paths of files and folders; or rows, each a mapping from the
            names of the model's inputs to values, an image or audio as a path.
        split: Of a dataset; by default as for `evaluate`.
        which: "best" or "last", where `run` is a directory.
        min_score: Leave out boxes below this score; by default as for `--min-score`.
        batch_size: Records at a time.

    Returns:
        A row for each record, as the command writes it in JSON lines.

    Raises:
        ConfigError: There is no such run or split, or the data has other features.
        TrainerError: See the tree in errors.py.
    """
    chosen = run if isinstance(run, Run) else open_run(run, which=which)
    given: Any = None
    paths: list[str] = []
    if isinstance(inputs, str | os.PathLike):
        paths = [os.fspath(inputs)]
    elif isinstance(inputs, Dataset):
        given = inputs
    else:
        listed: list[Any] = [*inputs]
        if any(isinstance(each, Mapping) for each in listed):
            given = listed
        paths = [] if given else [*map(os.fspath, listed)]
    config = PredictConfig(
        inputs=paths,  # type: ignore[arg-type]
        run_path=chosen.path,
        split=split,
        which=chosen.which,
        model_fn=chosen.model_fn,
        min_score=min_score,
        batch_size=batch_size,
    )
    with readable_errors():
        return [*predicted_rows(chosen.trained, config, given)]
