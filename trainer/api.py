"""The Python API of training: `trainer.train`, `evaluate`, `predict`."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

import keras

from tfrecord_dataset.errors import raise_together
from tfrecord_dataset.options import checked, takes_options
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.input_pipeline.tensorflow_errors import readable_errors
from trainer.metrics import Metric
from trainer.options.command_options import EvaluateConfig, PredictConfig
from trainer.options.train_arguments import TrainArguments
from trainer.options.train_options import TrainConfig, option
from trainer.parsing import Augment
from trainer.predicting import predicted_rows
from trainer.runs.folds import train as run_train
from trainer.runs.preparing import LossFn, OptimizerFn, OwnParts
from trainer.runs.trained import Run, open_run
from trainer.runs.trained import evaluate as run_evaluate
from trainer.tasks.own_functions import path_of
from trainer.tasks.task import Task

Path = str | os.PathLike[str]


@takes_options(TrainConfig)
def train(
    data: Path | Dataset,
    output: Path,
    *,
    model: str | Callable[[Task], keras.Model] | None = None,
    loss: LossFn | None = None,
    metrics: Mapping[str, LossFn | Metric] | Sequence[str] = (),
    augment: str | Augment = "auto",
    optimizer: str | keras.optimizers.Optimizer | OptimizerFn = "adam",
    schedule: str | keras.optimizers.schedules.LearningRateSchedule | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    **options: Unpack[TrainArguments],
) -> dict[str, float]:
    """Train a model like `beam-tfrecords-train train`, bit for bit with the same options.

    If `output` contains a run, the same call continues it.

        >>> row = trainer.train("data/cells", "runs/cells", epochs=1, image_size=16, batch_size=9)
        >>> row["epoch"], row["step"]
        (1, 2)

    Args:
        data: A dataset from `trainer.open`, or its path.
        output: The directory for the run.
        model: A name as for `--model`, or a function from the task to the model.
        loss: Function of a batch's (target, outputs) that returns each example's loss, float32 [b];
            None for the task's.
        metrics: Additional metrics by name: functions like `loss`, whose values are averaged, or
            a `trainer.Metric`, which says which value is better; or names as for `--metrics`.
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
        ConfigError: An option does not exist, or its value is invalid.
        TrainerError: See the tree in errors.py.
    """
    own = {"model": model, "loss": loss, "augment": augment}
    own |= {"optimizer": optimizer, "schedule": schedule}
    with readable_errors():
        _check_parts(own, metrics)
        dataset = data if isinstance(data, Dataset) else None
        given = {"data": dataset.path if dataset else data, "output": output, **options}
        given |= {name: part for name, part in own.items() if isinstance(part, str)}
        if not isinstance(metrics, Mapping):
            given["metrics"], metrics = tuple(metrics), {}
        parts: dict[str, Any] = {name: part for name, part in own.items() if name not in given}
        if parts.get("model") is not None:
            given["model_fn"] = path_of(model)
        parts |= {"callbacks": list(callbacks), "metrics": dict(metrics)}
        if "learning_rate" in options and isinstance(optimizer, keras.optimizers.Optimizer):
            raise ConfigError(
                f"{option('learning_rate')} is the optimizer's own; set it there, or give a "
                "function that takes it"
            )
        return dict(run_train(checked(TrainConfig, given), dataset, OwnParts(**parts)))


def _check_parts(own: Mapping[str, Any], metrics: Any) -> None:
    """Raise one ConfigError for all parts of a wrong type."""
    wrong = []
    for name, part in own.items():
        is_function = callable(part) and not isinstance(part, keras.Model)
        is_name = isinstance(part, str) and name != "loss"
        is_object = isinstance(part, keras.optimizers.Optimizer)
        if not (part is None or is_function or is_name or is_object):
            names = "" if name == "loss" else " or a name"
            wrong.append(f"{name}={part!r}: give a function{names}")
    if not isinstance(metrics, Mapping | list | tuple):
        wrong.append(f"metrics={metrics!r} is not a dict; give functions by name")
    raise_together([ConfigError(sentence) for sentence in wrong])


def evaluate(
    run: Path | Run,
    dataset: Path | Dataset | None = None,
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
        dataset: A dataset from `trainer.open`, or its path; by default that of the run.
        split: By default "test", else the share held out if the data is the run's own, else the
            only split.
        which: "best" or "last", if `run` is a directory.
        batch_size: Records per step; by default as in training.
        devices: As for `--devices`.
        quiet: Print nothing on stderr.

    Returns:
        Loss and metrics by name, those of a trivial baseline (`baseline_…`), and `num_records`.

    Raises:
        ConfigError: The run or split does not exist, or the features differ from the run's.
        TrainerError: See the tree in errors.py.
    """
    chosen = run if isinstance(run, Run) else open_run(run, which=which)
    opened = dataset if isinstance(dataset, Dataset) else None
    config = EvaluateConfig(
        data=opened.path if opened else os.fspath(dataset or ""),  # type: ignore[arg-type]
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
    threshold: str | None = None,
    batch_size: int = 32,
) -> list[dict[str, Any]]:
    """Predict for a dataset, for files and folders, or for rows of values.

        >>> rows = trainer.predict("runs/cells", "data/cells", split="test")
        >>> sorted(rows[0])
        ['prediction', 'probabilities', 'probability', 'source']

    Args:
        run: A run, or its directory.
        inputs: A dataset or its path; paths of files and folders; or rows, which map the names of
            the model's inputs to values, with images and audio as paths.
        split: Split of a dataset; by default as for `evaluate`.
        which: "best" or "last", if `run` is a directory.
        min_score: Omit boxes below this score; by default as for `--min-score`.
        threshold: As for `--threshold`.
        batch_size: Records per step.

    Returns:
        One row per record, as the command writes to JSON lines; for a file or row that cannot be
        read, its `source` and `error`.

    Raises:
        ConfigError: The run or split does not exist, or the features differ from the run's.
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
        if not listed or any(isinstance(each, Mapping) for each in listed):
            given = listed
        paths = [] if given is not None else [*map(os.fspath, listed)]
    config = PredictConfig(
        inputs=paths,  # type: ignore[arg-type]
        run_path=chosen.path,
        split=split,
        which=chosen.which,
        model_fn=chosen.model_fn,
        min_score=min_score,
        threshold=threshold,
        batch_size=batch_size,
    )
    with readable_errors():
        return [*predicted_rows(chosen, config, given)]
