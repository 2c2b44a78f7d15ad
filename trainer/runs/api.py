"""`trainer.train`: the command `train`, with objects of Python in place of names."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import keras

from tfrecord_dataset.errors import raise_together
from tfrecord_dataset.options import checked, takes_options
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.input_pipeline.tensorflow_errors import readable_errors
from trainer.options.train import TrainConfig, option
from trainer.options.train_arguments import TrainArguments
from trainer.parsing import Augment
from trainer.runs.preparing import LossFn, OptimizerFn, OwnParts
from trainer.runs.train import train as run_train
from trainer.tasks.models import path_of
from trainer.tasks.task import Task


@takes_options(TrainConfig)
def train(
    data: str | os.PathLike[str] | Dataset,
    output: str | os.PathLike[str],
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
    """Trains a model like `python -m trainer train`, to the same bits with the same options.

    A run that is in `output` goes on with the same call.

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
        **options: The command's other options, such as `batch_size=64`: see below.

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
