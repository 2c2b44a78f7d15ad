"""Parts of a training that a user brings: objects of Python, and a model's function by name."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.options.train import TrainConfig
from trainer.parsing import Augment
from trainer.tasks import models
from trainer.tasks.task import Task
from trainer.training.optimizers import check_optimizer

LossFn = Callable[[Any, Any], Any]
OptimizerFn = Callable[[Any], keras.optimizers.Optimizer]

# Options that belong to the optimizer; one of the user's own has them inside.
_OF_OPTIMIZERS = ("weight_decay", "ema", "clip_norm")
# Parts that decide what is trained, and that a run records by name; `model` is an option.
_RECORDED = ("loss", "optimizer", "augment")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnParts:
    """The user's parts; None, or empty, for the trainer's.

    Attributes:
        model: Takes the task, returns the model.
        loss: Takes (target, outputs), returns the loss of each example, float32 [b].
        metrics: By name, as `loss`: values of each example, whose mean is the metric.
        optimizer: The optimizer, or a function that takes the learning rate (a number, or a
            schedule) and returns it.
        schedule: A learning rate by step.
        augment: Takes an image of the training, uint8 [h, w, c], and a seed, int64 [2]; returns
            such an image.
        callbacks: Of Keras.
    """

    model: models.ModelFn | None = None
    loss: LossFn | None = None
    metrics: Mapping[str, LossFn] = dataclasses.field(default_factory=dict)
    optimizer: keras.optimizers.Optimizer | OptimizerFn | None = None
    schedule: keras.optimizers.schedules.LearningRateSchedule | None = None
    augment: Augment | None = None
    callbacks: Sequence[keras.callbacks.Callback] = ()

    def with_named(self, config: TrainConfig) -> "OwnParts":
        """With the model's function that the options name, where there is no object.

        Raises:
            ConfigError: There is no such function.
        """
        if config.model_fn is None or self.model is not None:
            return self
        return dataclasses.replace(self, model=models.find_function(config.model_fn))

    def recorded(self) -> dict[str, str]:
        """The names of the parts that a run records, as `models.path_of` has them."""
        parts = {name: getattr(self, name) for name in _RECORDED}
        return {name: models.path_of(part) for name, part in parts.items() if part is not None}

    def in_task(self, task: Task) -> Task:
        """The task with the loss and the metrics.

        Raises:
            ConfigError: A metric's name is taken.
        """
        taken = sorted({"loss", *task.metrics} & self.metrics.keys())
        if taken:
            raise ConfigError(f"the task has a metric {taken[0]!r} already; choose another name")
        return dataclasses.replace(task, loss_fn=self.loss, more_metrics=self.metrics)

    def make_optimizer(
        self, config: TrainConfig, learning_rate: Any
    ) -> keras.optimizers.Optimizer | None:
        """The user's optimizer, checked, or for an object one like it; None if there is none.

        To be called in the strategy's scope, where an optimizer's variables have to be made.

        Raises:
            ConfigError: It is none, works wrongly on several replicas, or options are given that
                it has inside.
        """
        if self.optimizer is None:
            return None
        given = [name for name in _OF_OPTIMIZERS if getattr(config, name) is not None]
        if given:
            raise ConfigError(
                f"{given[0]} is for the trainer's optimizers; set it in your own, or leave it out"
            )
        optimizer = self.optimizer
        if isinstance(optimizer, keras.optimizers.Optimizer):
            optimizer = type(optimizer).from_config(optimizer.get_config())
        else:
            optimizer = optimizer(learning_rate)
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise ConfigError(
                f"optimizer {models.path_of(self.optimizer)} returned "
                f"{type(optimizer).__name__}; return a keras.optimizers.Optimizer"
            )
        check_optimizer(optimizer)
        return optimizer


NOTHING_OWN = OwnParts()
