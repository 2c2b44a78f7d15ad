"""Fine-tuning of pretrained weights: first only the new head, then the whole model.

At the usual rate, the first gradients of a random head damage the pretrained weights.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence

import keras

from trainer.options.train import USUAL_LEARNING_RATE, TrainConfig
from trainer.training.optimizers import HeadFirst, learning_rate_schedule

# See docs/training.md for measurements.
HEAD_EPOCHS = 2
RATE_SHARE = 0.1
# Adam's averages of squares start at zero for the newly trained layers; until they converge, its
# steps are up to six times as long.
WARM_UP_STEPS = 200


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


def backbones(model: keras.Model) -> list[keras.Model]:
    """Return the parts of a built-in model with pretrained weights."""
    return [layer for layer in model.layers if isinstance(layer, keras.Model)]


@contextlib.contextmanager
def frozen(layers: Sequence[keras.layers.Layer]) -> Iterator[None]:
    """Freeze layers in this context, including the statistics of their batch normalisation."""
    parts = (each for layer in layers for each in layer._flatten_layers())
    chosen = [each for each in parts if each.trainable and not each._layers]
    for each in chosen:
        each.trainable = False
    try:
        yield
    finally:
        for each in chosen:
            each.trainable = True
