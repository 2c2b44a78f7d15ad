"""Trainings and their runs in Python: `trainer.train`, `open_run`, `evaluate`, `predict`."""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

import keras

from tfrecord_dataset.errors import raise_together
from tfrecord_dataset.options import checked, takes_options
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.input_pipeline.tensorflow_errors import readable_errors
from trainer.options.commands import EvaluateConfig, PredictConfig
from trainer.options.train import TrainConfig, option
from trainer.options.train_arguments import TrainArguments
from trainer.parsing import Augment
from trainer.predicting import predicted_rows
from trainer.runs.choices import best_of
from trainer.runs.directory import RunDirectory
from trainer.runs.preparing import LossFn, OptimizerFn, OwnParts
from trainer.runs.train import train as run_train
from trainer.runs.trained import TrainedRun, load_run
from trainer.runs.trained import evaluate as run_evaluate
from trainer.tasks.models import path_of
from trainer.tasks.task import Task

Path = str | os.PathLike[str]


@takes_options(TrainConfig)
def train(
    data: Path | Dataset,
    output: Path,
    *,
    model: str | Callable[[Task], keras.Model] = "small",
    loss: LossFn | None = None,
    metrics: Mapping[str, LossFn] | None = None,
    augment: str | Augment = "auto",
    optimizer: str | keras.optimizers.Optimizer | OptimizerFn = "adam",
    schedule: str | keras.optimizers.schedules.LearningRateSchedule | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    **options: Unpack[TrainArguments],
) -> dict[str, float]:
    """Train a model like `beam-tfrecords-train train`, to the same bits with the same options.

    The same call continues a run that is in `output`.

        >>> row = trainer.train("data/cells", "runs/cells", epochs=1, image_size=16, batch_size=9)
        >>> row["epoch"], row["step"]
        (1, 2)

    Args:
        data: A dataset that `trainer.open` opened, or what it opens.
        output: The directory for the run.
        model: A name as for `--model`, or a function that takes the task and returns the model.
        loss: Takes (target, outputs) of a batch, and returns each example's loss, float32 [b];
            None for the task's.
        metrics: More of them by name: functions as `loss`; the metric is the mean of their values.
        augment: A name as for `--augment`, or a function of an image, uint8 [h, w, c], and a seed,
            int64 [2], that returns such an image.
        optimizer: A name as for `--optimizer`; an optimizer, or a function that takes the learning
            rate and returns one.
        schedule: A name as for `--schedule`, or a learning rate by step; None for the plan's.
        callbacks: Called as by `Model.fit`.
        **options: Other options of the command, listed below, such as `batch_size=64`.

    Returns:
        The last row of the run's history: epoch, step, loss, metrics.

    Raises:
        ConfigError: There is no such option, or it cannot have its value.
        TrainerError: See the tree in errors.py.
    """
    own = {"model": model, "loss": loss, "augment": augment, "optimizer": optimizer}
    with readable_errors():
        _check_parts({**own, "schedule": schedule}, metrics)
        dataset = data if isinstance(data, Dataset) else None
        given = {"data": dataset.path if dataset else data, "output": output, **options}
        parts: dict[str, Any] = {"callbacks": list(callbacks), "metrics": dict(metrics or {})}
        for name, value in {**own, "schedule": schedule}.items():
            if isinstance(value, str):
                given[name] = value
            elif value is not None:
                parts[name] = value
                if name == "model":
                    given["model_fn"] = path_of(value)
        if "learning_rate" in options and isinstance(optimizer, keras.optimizers.Optimizer):
            raise ConfigError(
                f"{option('learning_rate')} is the optimizer's own; set it there, or give a "
                "function that takes it"
            )
        return dict(run_train(checked(TrainConfig, given), dataset, OwnParts(**parts)))


def _check_parts(own: Mapping[str, Any], metrics: Any) -> None:
    """Raise ConfigError for a part of another type, one error for all of them."""
    wrong = []
    for name, part in own.items():
        if isinstance(part, keras.Model):
            wrong.append(f"{name} is a model; give a function that takes the task and returns it")
        elif name == "loss" and isinstance(part, str):
            wrong.append(f"loss={part!r} is a text; give a function, such as one of keras.losses")
        elif not (
            part is None or isinstance(part, str | keras.optimizers.Optimizer) or callable(part)
        ):
            wrong.append(f"{name}={part!r} is neither a function nor a name; give one of them")
    if metrics is not None and not isinstance(metrics, Mapping):
        wrong.append(f"metrics={metrics!r} is not a dict; give functions by name")
    raise_together([ConfigError(sentence) for sentence in wrong])


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
    """Open a finished run.

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
    """Evaluate a run's model on a split; every record counts once.

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
    """Predict for a dataset, for files and folders, or for rows of values.

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
