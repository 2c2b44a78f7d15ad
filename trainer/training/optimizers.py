"""Keras's optimizers, learning rates by step, and fine-tuning of pretrained weights.

Fine-tuning trains first only the new head, then
the whole model: at the usual rate, the first gradients of a random head damage the pretrained
weights.
"""

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from trainer.errors import ConfigError
from trainer.options.train_options import USUAL_LEARNING_RATE, TrainConfig

OPTIMIZERS: Mapping[str, type[keras.optimizers.Optimizer]] = {
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.AdamW,
    "sgd": keras.optimizers.SGD,
}

_CLIPS = (
    "clips each replica's gradients before they are summed; use --clip-norm, which clips their sum"
)
_FAILS = "fails under MirroredStrategy; leave it out, or use a larger --batch-size"
# Settings of Keras's optimizers that fail or differ with several replicas.
_FAULTS: Mapping[str, str] = {
    "clipnorm": _CLIPS,
    "global_clipnorm": _CLIPS,
    "clipvalue": _CLIPS,
    "gradient_accumulation_steps": _FAILS,
    "ema_overwrite_frequency": _FAILS,
}


HEAD_EPOCHS = 2
RATE_SHARE = 0.1
# Adam's averages of squares start at zero for the newly trained layers; until they converge, its
# steps are up to six times as long.
WARM_UP_STEPS = 200


def check_optimizer(optimizer: keras.optimizers.Optimizer) -> None:
    """Raise ConfigError for a user's optimizer that does not support several replicas."""
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise ConfigError(
            "LossScaleOptimizer looks for overflow on the first replica only; give the "
            "optimizer inside it with --precision mixed_float16, or use mixed_bfloat16"
        )
    for setting, fault in _FAULTS.items():
        if getattr(optimizer, setting, None) is not None:
            raise ConfigError(f"the optimizer's {setting} {fault}")


def inner_optimizer(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """Return the optimizer that updates the weights, without a loss scaling wrapper."""
    return getattr(optimizer, "inner_optimizer", optimizer)


@contextlib.contextmanager
def averaged(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """Use averaged weights in this context, if the optimizer keeps them."""
    optimizer = inner_optimizer(optimizer)
    if not optimizer.use_ema:
        yield
        return
    variables = optimizer._trainable_variables  # includes frozen ones
    weights = [variable.numpy() for variable in variables]
    optimizer.finalize_variable_values(variables)
    try:
        yield
    finally:
        for variable, value in zip(variables, weights, strict=True):
            variable.assign(value)


def create_optimizer(
    name: str,
    learning_rate: float | keras.optimizers.schedules.LearningRateSchedule,
    *,
    weight_decay: float | None = None,
    ema: float | None = None,
) -> keras.optimizers.Optimizer:
    """Make the optimizer `name`: adam, adamw or sgd (with momentum 0.9).

    `ema` is the momentum of the weights' moving average.
    """
    base = OPTIMIZERS[name]
    settings: dict[str, Any] = {"momentum": 0.9} if name == "sgd" else {}
    if weight_decay is not None:
        settings["weight_decay"] = weight_decay
    if ema is not None:
        settings |= {"use_ema": True, "ema_momentum": ema}
    return base(learning_rate=learning_rate, **settings)


def learning_rate_schedule(
    name: str, learning_rate: float, warmup_steps: int, num_steps: int
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """Return the learning rate by step: a linear warm-up from 0, then `name`, constant or cosine.

    Raises:
        ConfigError: The warm-up is as long as the training.
    """
    if name == "constant" and not warmup_steps:
        return learning_rate
    if warmup_steps >= num_steps:
        raise ConfigError(
            f"--warmup-steps {warmup_steps} takes all of the training's {num_steps} steps; "
            "lower it, or raise --epochs"
        )
    return WarmUp(learning_rate, warmup_steps, num_steps if name == "cosine" else None)


@dataclasses.dataclass(eq=False)
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """A linear warm-up from 0, then constant, or half a cosine if the last step is given."""

    learning_rate: float
    warmup_steps: int
    num_steps: int | None

    def __call__(self, step: Any) -> Any:
        step = tf.cast(step, tf.float32)
        rate = tf.constant(self.learning_rate, tf.float32)
        if self.num_steps is not None:
            length = self.num_steps - self.warmup_steps
            done = tf.clip_by_value((step - self.warmup_steps) / length, 0.0, 1.0)
            rate *= 0.5 * (1.0 + tf.cos(math.pi * done))
        if not self.warmup_steps:
            return rate
        return tf.minimum(rate, self.learning_rate * (step + 1.0) / self.warmup_steps)

    def get_config(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclasses.dataclass(eq=False)
class HeadFirst(keras.optimizers.schedules.LearningRateSchedule):
    """A constant rate for the first steps, then another schedule from its start."""

    learning_rate: float
    head_steps: int
    then: float | keras.optimizers.schedules.LearningRateSchedule

    def __call__(self, step: Any) -> Any:
        step = tf.cast(step, tf.float32)
        after = self.then
        if callable(after):
            after = after(tf.maximum(step - self.head_steps, 0.0))
        return tf.where(step < self.head_steps, tf.constant(self.learning_rate), after)

    def get_config(self) -> dict[str, Any]:
        return dict(vars(self))


def head_steps(config: TrainConfig, steps_per_epoch: int) -> int:
    """Number of steps that train only the head; 0 without pretrained weights."""
    if config.weights is None:
        return 0
    epochs = HEAD_EPOCHS if config.head_epochs is None else config.head_epochs
    return epochs * steps_per_epoch


def schedule(
    config: TrainConfig, steps_per_epoch: int
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """Return the learning rate of the head, then of the whole model with a warm-up."""
    name, warm_up = config.schedule or "constant", config.warmup_steps or 0
    peak = config.learning_rate or USUAL_LEARNING_RATE
    first, last = head_steps(config, steps_per_epoch), (config.epochs or 0) * steps_per_epoch
    if config.weights is None:
        return learning_rate_schedule(name, peak, warm_up, last)
    if first >= last:
        return peak
    rate = RATE_SHARE * peak
    if first and not warm_up:
        warm_up = min(WARM_UP_STEPS, steps_per_epoch - 1)  # independent of the epochs
    then = learning_rate_schedule(name, rate, warm_up, last - first)
    return HeadFirst(peak, first, then) if first else then


def change_of_cosine(
    config: TrainConfig, previous: TrainConfig, steps_per_epoch: int, step: int
) -> Iterator[str]:
    """Yield a message if a new number of epochs changes a continued run's cosine."""
    now, before = (_rate_at(each, steps_per_epoch, step) for each in (config, previous))
    if config.schedule == "cosine" and not math.isclose(now, before, rel_tol=1e-6):
        yield (
            f"the cosine now ends with epoch {config.epochs}: the learning rate continues at "
            f"{now:.3g}, instead of {before:.3g}, and falls to 0"
        )


def _rate_at(config: TrainConfig, steps_per_epoch: int, step: int) -> float:
    rate = schedule(config, steps_per_epoch)
    return rate if isinstance(rate, float) else float(rate(step))


def leaves(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Yield the layers of a built-in model that have no others inside."""
    if not isinstance(layer, keras.Model):
        yield layer
        return
    for each in layer.layers:
        yield from leaves(each)


def backbones(model: keras.Model) -> list[keras.Model]:
    """Return the parts of a built-in model with pretrained weights."""
    return [layer for layer in model.layers if isinstance(layer, keras.Model)]


@contextlib.contextmanager
def frozen(layers: Sequence[keras.layers.Layer]) -> Iterator[None]:
    """Freeze layers in this context, including the statistics of their batch normalisation."""
    chosen = [each for layer in layers for each in leaves(layer) if each.trainable]
    for each in chosen:
        each.trainable = False
    try:
        yield
    finally:
        for each in chosen:
            each.trainable = True
