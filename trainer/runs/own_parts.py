"""Parts of a training that a user brings: objects of Python, or functions named on the command."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.options.train import TrainConfig, option
from trainer.parsing import Augment
from trainer.tasks import models
from trainer.tasks.task import Task
from trainer.training.optimizers import check_optimizer

LossFn = Callable[[Any, Any], Any]
OptimizerFn = Callable[[Any], keras.optimizers.Optimizer]

# Options that belong to the optimizer; one of the user's own has them inside.
_OF_OPTIMIZERS = ("weight_decay", "ema", "clip_norm")
# Parts that options name, too; `callback` names the callbacks.
_NAMED = ("model_fn", "loss_fn", "optimizer_fn", "augment_fn")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnParts:
    """What a user brings; None, or empty, for the trainer's.

    Attributes:
        model_fn: Takes the task, returns the model.
        loss_fn: Takes (target, outputs), returns the loss of each example, float32 [b].
        metrics: By name, as `loss_fn`: values of each example, whose mean is the metric.
        optimizer_fn: The optimizer, or a function that takes the learning rate (a number, or a
            schedule) and returns it.
        schedule: A learning rate by step.
        augment_fn: Takes an image of the training, uint8 [h, w, c], and a seed, int64 [2]; returns
            such an image.
        callbacks: Of Keras.
    """

    model_fn: models.ModelFn | None = None
    loss_fn: LossFn | None = None
    metrics: Mapping[str, LossFn] = dataclasses.field(default_factory=dict)
    optimizer_fn: keras.optimizers.Optimizer | OptimizerFn | None = None
    schedule: keras.optimizers.schedules.LearningRateSchedule | None = None
    augment_fn: Augment | None = None
    callbacks: Sequence[keras.callbacks.Callback] = ()

    def with_named(self, config: TrainConfig) -> "OwnParts":
        """With the functions that the options name, where there is no object.

        Raises:
            ConfigError: There is no such function.
        """
        found: dict[str, Any] = {}
        for name in _NAMED:
            path = getattr(config, name)
            if path is not None and getattr(self, name) is None:
                found[name] = models.find_function(path, option(name))
        if config.callback is not None and not self.callbacks:
            made = models.find_function(config.callback, option("callback"))()
            found["callbacks"] = made if isinstance(made, list | tuple) else [made]
        return dataclasses.replace(self, **found)

    def in_task(self, task: Task) -> Task:
        """The task with the loss and the metrics.

        Raises:
            ConfigError: A metric's name is taken.
        """
        taken = sorted({"loss", *task.metrics} & self.metrics.keys())
        if taken:
            raise ConfigError(f"the task has a metric {taken[0]!r} already; choose another name")
        return dataclasses.replace(task, loss_fn=self.loss_fn, more_metrics=self.metrics)

    def make_optimizer(
        self, config: TrainConfig, learning_rate: Any
    ) -> keras.optimizers.Optimizer | None:
        """The user's optimizer, checked, or for an object one like it; None if there is none.

        To be called in the strategy's scope, where an optimizer's variables have to be made.

        Raises:
            ConfigError: It is none, works wrongly on several replicas, or options are given that
                it has inside.
        """
        if self.optimizer_fn is None:
            return None
        given = [name for name in _OF_OPTIMIZERS if getattr(config, name) is not None]
        if given:
            raise ConfigError(
                f"{given[0]} is for the trainer's optimizers; set it in your own, or leave it out"
            )
        optimizer = self.optimizer_fn
        if isinstance(optimizer, keras.optimizers.Optimizer):
            optimizer = type(optimizer).from_config(optimizer.get_config())
        else:
            optimizer = optimizer(learning_rate)
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise ConfigError(
                f"--optimizer-fn {models.path_of(self.optimizer_fn)} returned "
                f"{type(optimizer).__name__}; return a keras.optimizers.Optimizer"
            )
        check_optimizer(optimizer)
        return optimizer


NOTHING_OWN = OwnParts()
