"""A trained run, as `evaluate`, `predict` and `export` use it: nothing in its files is executed."""

import dataclasses
import functools
import math
import shlex
import textwrap
import zipfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tfrecord_dataset import regular_files
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.shown_text import counted
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.options.commands import EvaluateConfig
from trainer.options.shared import parse_devices
from trainer.options.train import TrainConfig
from trainer.progress import Progress, as_text
from trainer.report.page import html_of_predictions
from trainer.runs.choices import best_of, of_run, open_given
from trainer.runs.directory import Row, RunConfig, RunDirectory, damaged
from trainer.runs.run_page import say_comparison, sections_of
from trainer.tasks import Task, models
from trainer.tasks.baselines import Baseline
from trainer.tasks.choice import shorten
from trainer.tasks.inputs import keras_inputs
from trainer.tasks.reading import check_memory_of_batch, evaluation_batches
from trainer.tasks.targets.results import results_of
from trainer.tasks.task_json import check_same_records
from trainer.training.evaluation import evaluator
from trainer.training.strategy import check_global_batch, create_strategy

_REMEDY = "copy it back, or let its training write it again: `beam-tfrecords-train train --resume`"
_LONGEST_REASON = 300


def load_model(file: Path, task: Task, remedy: str) -> keras.Model:
    """The model of a run, in Keras's safe mode.

    Raises:
        RunDamagedError: The file is not as Keras wrote it.
        ConfigError: Keras refuses it, or it does not fit the task.
    """
    check_model_file(file)
    try:
        model = keras.models.load_model(file, compile=False, safe_mode=True)
    except Exception as error:  # whatever Keras raises of what somebody has put together
        _, _, reason = str(error).rpartition("Exception encountered: ")
        reason, _, _ = reason.partition("If you trust the source")  # how to execute it
        reason = textwrap.shorten(reason, _LONGEST_REASON, placeholder="…").rstrip(".")
        raise ConfigError(f"{file} cannot be loaded: {reason}; {remedy}") from error
    models.outputs_of(model, keras_inputs(task.inputs), task, str(file))
    return model


def check_model_file(file: Path) -> None:
    """Raise RunDamagedError unless a file is an intact zip archive, as Keras writes them."""
    try:
        with regular_files.opened(file) as handle, zipfile.ZipFile(handle) as archive:
            for name in archive.namelist():
                inner_path(name.removesuffix("/"), "the name of a part")
            num_bytes = sum(part.file_size for part in archive.infolist())
            if num_bytes > file.stat().st_size:
                raise ValueError(f"its parts have {num_bytes:,} bytes, more than the file itself")
            if (part := archive.testzip()) is not None:
                raise ValueError(f"the checksum of its part {part} is wrong")
    except Exception as error:  # whatever zipfile raises of what somebody has put together
        raise damaged(file, error, _REMEDY) from error


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A run and one of its models."""

    file: Path
    model: keras.Model
    config: RunConfig
    task: Task
    features: Mapping[str, Feature]

    @property
    def options(self) -> TrainConfig:
        """Of the training."""
        return self.config.options

    @functools.cached_property
    def step(self) -> Callable[[Any, Any], Mapping[str, Any]]:
        """The compiled function from (inputs, windows) of a batch to what is predicted."""

        def predict(inputs: Any, windows: Any) -> Mapping[str, Any]:
            outputs = self.model(self.task.prepare(inputs), training=False)
            return self.task.goal.decode(outputs, windows)

        compiled: Callable[[Any, Any], Mapping[str, Any]] = tf.function(
            predict, autograph=False, reduce_retracing=True
        )
        return compiled

    def features_of(self, names: Collection[str]) -> Mapping[str, Feature]:
        """Those of these names."""
        return {name: feature for name, feature in self.features.items() if name in names}

    def features_to_predict(self) -> dict[str, Feature]:
        """Those of the inputs, as they are read of records to predict for."""
        return {
            each.name: each.to_predict(self.features[each.name])
            for each in self.task.inputs.values()
        }


def validated(path: str, which: str, options: TrainConfig, metric: str) -> float | None:
    """A metric that one of a run's models had on the validation split; None if it has no number.

    Args:
        path: The run's directory.
        which: "best" or "last".
        options: Of the run.
        metric: Its name.

    Raises:
        RunDamagedError: The history is not what was written.
    """
    rows = RunDirectory(path).read_history()
    if not rows:
        return None
    is_best = which == "best" and "val_loss" in rows[-1]
    row = rows[best_of(options.best_by, rows).place(rows)] if is_best else rows[-1]
    value = row.get(f"val_{metric}")
    return value if value is not None and math.isfinite(value) else None


def load_run(path: str, which: str, model_fn: str | None) -> TrainedRun:
    """The run in a directory; to be called in the scope of the strategy that is to use its model.

    Args:
        path: The directory that `train` wrote.
        which: "best" or "last": the model of the best epoch, or at the end.
        model_fn: `package.module:function` that made the model, whose module has its own layers;
            or None. No function is imported that is not named here.

    Raises:
        ConfigError: There is no such run or model, or its model cannot be used.
        RunDamagedError: A file of the run is not what was written.
    """
    directory = RunDirectory(path)
    file = directory.trained_model(which)
    config = directory.read_config()
    options = config.options
    task, features = directory.read_task()
    remedy = "layers are those of Keras, or those that the module of --model-fn registers"
    if model_fn is not None:
        models.find_function(model_fn)
    elif options.model_fn is not None:
        remedy = f"if it has layers of its own, add --model-fn {shlex.quote(options.model_fn)}"
    model = load_model(file, task, remedy)
    return TrainedRun(file=file, model=model, config=config, task=task, features=features)


def evaluate(config: EvaluateConfig, dataset: Dataset | None = None) -> Row:
    """Loss and metrics of a trained model on one split; each record counts once.

    Args:
        config: The options.
        dataset: That of `data`, if it is open already.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    strategy = create_strategy(parse_devices(config.devices))
    with strategy.scope():
        run = load_run(config.run_path, config.which, config.model_fn)
    global_batch = config.batch_size or run.options.global_batch
    check_global_batch(global_batch, strategy.num_replicas_in_sync)
    if "loss" in run.config.own:
        progress.say(f"loss is that of the task, not the run's own, {run.config.own['loss']}")
    task, features = run.task, run.features_of(run.task.features)
    dataset = dataset or open_given(config, features)
    check_same_records(task, dataset.features, run.options)
    check_memory_of_batch(task, global_batch)
    dataset, split_name = of_run(dataset, run.config, config.split)
    batches = functools.partial(
        evaluation_batches, task, dataset, split_name, batch_size=global_batch
    )
    num_records = dataset.num_records(split_name)
    progress.say(f"evaluating {run.file} on the {num_records} records of {split_name!r}")
    evaluate_split = evaluator(task, run.model, strategy, batches, global_batch, num_records)
    results = results_of(task.goal)
    accumulators, baseline = results.accumulators(), results.baseline()
    result = evaluate_split(accumulators=[*accumulators, *([] if baseline is None else [baseline])])
    if baseline is not None:
        _compare(baseline, result, split_name, progress)
    if config.report is not None:
        title, about = f"Predictions of {task.target}", f"{run.file} on {config.data}"
        sections = sections_of(accumulators, task, dataset, split_name)
        page = html_of_predictions(title, about, as_text(result), sections)
        Path(config.report).write_text(page, encoding="utf-8")
    return {**result, "num_records": num_records}


def _compare(baseline: Baseline, result: Row, split: str, progress: Progress) -> None:
    """Say what a trivial guess reaches, and which classes the split lacks."""
    say_comparison(baseline, result, progress)
    if missing := baseline.missing:
        progress.warn(
            f"{split} has no record of {counted(len(missing), 'class')}, whose figures it cannot "
            f"tell: {shorten(missing)}"
        )
