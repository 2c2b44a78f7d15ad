"""A trained run, as `evaluate`, `predict` and `export` use it."""

import dataclasses
import math
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path

import keras

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError
from trainer.options.train import TrainConfig
from trainer.runs import saved_models
from trainer.runs.best import best_of
from trainer.runs.directory import RunDirectory
from trainer.tasks import Task, models


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRun:
    """A run and one of its models.

    Attributes:
        file: Of the model.
        model: From the file.
        options: Of the training.
        task: What the model was trained for.
        features: Those of the task, by name.
        own_loss: The name of the user's loss that it was trained with, or None.
    """

    file: Path
    model: keras.Model
    options: TrainConfig
    task: Task
    features: Mapping[str, Feature]
    own_loss: str | None = None

    def features_of(self, names: Collection[str]) -> Mapping[str, Feature]:
        """Those of these names."""
        return {name: each for name, each in self.features.items() if name in names}

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


def open_run(path: str, which: str, model_fn: str | None) -> TrainedRun:
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
    version = directory.version()
    file = directory.trained_model(which)
    config = directory.read_config()
    options = config.options
    task, features = directory.read_task()
    remedy = "layers are those of Keras, or those that the module of --model-fn registers"
    if model_fn is not None:
        models.find_function(model_fn)
    elif options.model_fn is not None:
        remedy = f"if it has layers of its own, add --model-fn {shlex.quote(options.model_fn)}"
    model = saved_models.load(file, task, remedy)
    if directory.version() != version:
        raise ConfigError(f"a training replaced the run in {path} while it was read; try again")
    return TrainedRun(
        file=file,
        model=model,
        options=options,
        task=task,
        features=features,
        own_loss=config.own.get("loss"),
    )
