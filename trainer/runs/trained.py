"""Finished runs and their models, loaded without executing code; the command `evaluate`."""

import dataclasses
import functools
import os
import shlex
import textwrap
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tfrecord_dataset import durable, regular_files
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.records.opening import check_exists
from tfrecord_dataset.shown_text import counted, listed
from trainer.dataset import Dataset
from trainer.errors import ConfigError, NotADatasetError
from trainer.metrics import added_metrics
from trainer.options import parse_devices
from trainer.options.command_options import EvaluateConfig
from trainer.progress import Progress, as_text
from trainer.raw_rows import RowOptions
from trainer.report.history import Best, saved_place
from trainer.report.page import html_of_predictions
from trainer.runs.choices import is_data_of, of_run, open_given, training_part, with_targets
from trainer.runs.directory import Row, RunConfig, RunDirectory, damaged
from trainer.runs.run_page import sections_of
from trainer.tasks import Task, boosted_trees, models
from trainer.tasks.figures import intervals, lowest_recalls
from trainer.tasks.inputs import keras_inputs
from trainer.tasks.own_functions import find_function
from trainer.tasks.reading import check_memory_of_batch
from trainer.tasks.task_json import check_same_records
from trainer.training.evaluation import evaluator
from trainer.training.strategy import check_global_batch, create_strategy

_REMEDY = "copy it back, or let its training write it again: `beam-tfrecords-train train --resume`"
_LONGEST_REASON = 300


def load_model(file: Path, task: Task, remedy: str) -> keras.Model:
    """Load the model of a run in Keras's safe mode.

    Raises:
        RunDamagedError: The file is not what Keras wrote.
        ConfigError: Keras rejects the model, or it does not fit the task.
    """
    check_model_file(file)
    try:
        model = keras.models.load_model(file, compile=False, safe_mode=True)
    except Exception as error:  # Keras raises various types for manipulated files
        _, _, reason = str(error).rpartition("Exception encountered: ")
        reason, _, _ = reason.partition("If you trust the source")  # advises unsafe mode
        reason = textwrap.shorten(reason, _LONGEST_REASON, placeholder="…").rstrip(".")
        raise ConfigError(f"{file} cannot be loaded: {reason}; {remedy}") from error
    models.outputs_of(model, keras_inputs(task.inputs), task, str(file))
    return model


def check_model_file(file: Path) -> None:
    """Raise RunDamagedError unless a file is an intact zip archive as written by Keras."""
    try:
        with regular_files.opened(file) as handle, zipfile.ZipFile(handle) as archive:
            for name in archive.namelist():
                inner_path(name.removesuffix("/"), "the name of a part")
            num_bytes = sum(part.file_size for part in archive.infolist())
            if num_bytes > file.stat().st_size:
                raise ValueError(f"its parts have {num_bytes:,} bytes, more than the file itself")
            if (part := archive.testzip()) is not None:
                raise ValueError(f"the checksum of its part {part} is wrong")
    except Exception as error:  # zipfile raises various types for manipulated files
        raise damaged(file, error, _REMEDY) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """A finished training, from `trainer.open_run`.

    Attributes:
        path: The run's directory.
        task: Name of the task, such as "tabular_classification".
        inputs: Names of the model's input features.
        target: Name of the predicted feature.
        classes: Class names in the order of the model's outputs; empty if the target is numeric.
        which, model_fn: See `open_run`.
        file: Path of the model file.
        config: Options of the training, and its data.
        learned: The trained task with its statistics.
        features: Features of the task by name.
    """

    path: str
    task: str
    inputs: tuple[str, ...]
    target: str
    classes: tuple[str, ...]
    which: str
    model_fn: str | None
    file: Path = dataclasses.field(repr=False)
    config: RunConfig = dataclasses.field(repr=False)
    learned: Task = dataclasses.field(repr=False)
    features: Mapping[str, Feature] = dataclasses.field(repr=False)

    @functools.cached_property
    def metrics(self) -> Row:
        """The model's row in the history: epoch, step, loss, metrics."""
        rows = RunDirectory(self.path).read_history()
        return row_of(rows, self.which, Best.parse(self.config.best)) if rows else {}

    @functools.cached_property
    def model(self) -> keras.Model:
        """The Keras model, which takes prepared inputs; loaded on first use."""
        remedy = "layers are those of Keras, or those that the module of --model-fn registers"
        if self.model_fn is not None:
            find_function(self.model_fn)  # no other function is imported
        elif (named := self.config.options.model_fn) is not None:
            remedy = f"if it has layers of its own, add --model-fn {shlex.quote(named)}"
        return load_model(self.file, self.learned, remedy)

    @functools.cached_property
    def step(self) -> Callable[[Any, Any], Mapping[str, Any]]:
        """The compiled function from (inputs, windows) of a batch to predictions."""
        model, task = self.model, self.learned  # load the model outside of the graph

        def predict(inputs: Any, windows: Any) -> Mapping[str, Any]:
            outputs = model(task.prepare(inputs), training=False)
            return task.goal.decode(outputs, windows)

        return tf.function(  # type: ignore[no-any-return]
            predict, autograph=False, reduce_retracing=True
        )

    @property
    def row_options(self) -> RowOptions:
        """How to read rows of files: as the build of the training data did."""
        return RowOptions.of_build(self.config.rows)

    def features_to_predict(self) -> dict[str, Feature]:
        """Return the input features as read from records to predict."""
        inputs = self.learned.inputs.values()
        return {each.name: each.to_predict(self.features[each.name]) for each in inputs}


def row_of(history: Sequence[Row], which: str, best: Best) -> Row:
    """Return the row of the "best" or the "last" model."""
    place = saved_place(history, best) if which == "best" else -1
    return history[place]


def open_run(
    path: str | os.PathLike[str], *, which: str = "best", model_fn: str | None = None
) -> Run:
    """Open a finished run.

        >>> trainer.open_run("runs/cells").classes
        ('Platelets', 'RBC', 'WBC')

    Args:
        path: The run's directory.
        which: Model to use: "best", of the best validation, or "last".
        model_fn: `package.module:function` that made a model with layers of its own.

    Raises:
        ConfigError: The directory contains no finished run.
        RunDamagedError: A file of the run is not what was written.
    """
    directory = RunDirectory(os.fspath(path))
    file = directory.trained_model(which)
    config = directory.read_config()
    task, features = directory.read_task()
    return Run(
        path=os.fspath(path),
        task=task.name,
        inputs=tuple(each.name for each in task.inputs.values()),
        target=task.target,
        classes=task.classes,
        which=which,
        model_fn=model_fn,
        file=file,
        config=config,
        learned=task,
        features=features,
    )


def _data_of(run: Run) -> str:
    """Return the path of the dataset that a run was trained on."""
    path = run.config.options.data
    try:
        check_exists(path)
    except NotADatasetError as error:
        raise ConfigError(
            f"{run.path} was trained on {path}, which is not there; name the dataset with --data"
        ) from error
    return path


def _warn_if_changed(run: Run, dataset: Dataset, split: str, progress: Progress) -> None:
    """Warn if the dataset at the training's path, or in that folder, has changed since."""
    place = os.path.abspath(run.config.options.data)
    is_at_place = Path(os.path.abspath(dataset.path)).is_relative_to(place)
    if is_at_place and not is_data_of(dataset, run.config):
        progress.warn(
            f"{dataset.path} has changed since {run.path} was trained: records of {split!r} may be "
            "among those it learned; name the dataset of the training (--data), or train again"
        )


def evaluate(config: EvaluateConfig, dataset: Dataset | None = None) -> dict[str, Any]:
    """Compute a trained model's loss and metrics on one split; each record counts once.

    Args:
        config: The options.
        dataset: Dataset of `data`, if already open.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    if config.report is not None:  # rather than fail once all is evaluated
        durable.make_folders(os.path.dirname(os.path.abspath(config.report)))
    strategy = create_strategy(parse_devices(config.devices))
    run = open_run(config.run_path, which=config.which, model_fn=config.model_fn)
    with strategy.scope():
        model, task = run.model, run.learned
    added = added_metrics(run.config.options.metrics, task.goal.learns)
    task = dataclasses.replace(task, more_metrics=added)
    global_batch = config.batch_size or run.config.options.global_batch
    check_global_batch(global_batch, strategy.num_replicas_in_sync)
    if "loss" in run.config.own:
        progress.say(f"loss is that of the task, not the run's own, {run.config.own['loss']}")
    if not config.data and dataset is None:
        config = dataclasses.replace(config, data=_data_of(run))
        progress.say(f"dataset: {config.data}, that of the run (--data)")
    features = {name: each for name, each in run.features.items() if name in task.features}
    dataset = dataset or open_given(config, features)
    check_same_records(task, dataset.features, run.config.options)
    check_memory_of_batch(task, global_batch)
    dataset, split_name = of_run(dataset, run.config, config.split)
    _warn_if_changed(run, dataset, split_name, progress)
    dataset = with_targets(dataset, task, {split_name: "--split"}, progress)
    num_records = dataset.num_records(split_name)
    flag = "" if config.split else " (--split)"
    progress.say(f"evaluating {run.file} on the {num_records:,} records of {split_name!r}{flag}")
    evaluate_split = evaluator(task, model, strategy, dataset, split_name, global_batch)
    accumulators, baseline = task.goal.accumulators(), task.goal.baseline()
    result = evaluate_split(accumulators=[*accumulators, baseline])
    say = progress.say if baseline.is_beaten_by(result) else progress.warn
    say(baseline.compare(result))
    if boosted_trees.are_possible(task) and (known := training_part(dataset, task, run.config)):
        of_trees, line = boosted_trees.reference(task, *known, split_name)
        result |= of_trees
        progress.say(line)
    for line in lowest_recalls(accumulators):
        progress.say(line)
    if missing := baseline.missing:
        progress.warn(
            f"{split_name} has no records of {counted(len(missing), 'class')}, which its metrics "
            f"do not measure: {listed(missing)}"
        )
    if config.report is not None:
        epoch = f" of epoch {run.metrics['epoch']:.0f}" if run.metrics else ""
        title, about = f"Predictions of {task.target}", f"{run.file}{epoch} on {config.data}"
        sections = sections_of(accumulators, task, dataset, split_name)
        page = html_of_predictions(title, about, as_text(result, added), sections)
        Path(config.report).write_text(page, encoding="utf-8")
    details = {name: each for one in accumulators for name, each in one.details().items()}
    of_metrics = intervals(accumulators).items()
    details |= {f"{name}_interval": ends for name, ends in of_metrics}
    return {**result, **details, "num_records": num_records}
