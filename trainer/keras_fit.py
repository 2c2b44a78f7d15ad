"""`Model.fit` under a strategy, with its silent faults guarded against.

What goes wrong in Keras 3 under MirroredStrategy, and what is done about it here:

| fault | cure |
|---|---|
| a finite dataset of unknown size runs some steps too many | endless data, `steps_per_epoch` |
| `clipnorm` and its like clip each replica's part | refused; `SumThenClip` |
| `LossScaleOptimizer` looks at the first replica only | refused; bfloat16 needs no scaling |
| plain BatchNormalization differs by replica | made synchronised |
| a last batch that splits unevenly weighs its examples wrongly | all batches are full |
| a replica without work fails, or makes NaN | all batches are full; `evaluation.py` |
| `steps_per_execution`, `jit_compile` fail | off |
| gradient accumulation, overwriting by an average (EMA) fail | refused |
"""

from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.progress import Progress
from trainer.strategy import check_global_batch
from trainer.tasks.image_models import synchronize_batch_normalization
from trainer.training import EpochEnded, Plan, metric_names


def run_epochs(plan: Plan, epochs: range, epoch_ended: EpochEnded, progress: Progress) -> None:
    """Trains for `epochs`, numbered from 0, by `Model.fit`; as `training.run_epochs` does.

    Raises:
        ConfigError: The optimizer or the batch is one that `fit` gets wrong.
    """
    check_optimizer(plan.optimizer)
    check_global_batch(plan.batch_size, plan.strategy.num_replicas_in_sync)
    synchronize_batch_normalization(plan.model)
    with plan.strategy.scope():
        plan.model.compile(
            optimizer=plan.optimizer,
            loss=plan.task.loss,
            metrics=[
                keras.metrics.MeanMetricWrapper(metric, name=name)
                for name, metric in plan.task.metrics.items()
            ],
            jit_compile=False,
            steps_per_execution=1,
        )
    batches = plan.batches_from(epochs.start)  # endless: (inputs, target), a weight in some
    plan.model.fit(
        batches.map(lambda inputs, *others: (plan.task.prepare(inputs), *others)),
        initial_epoch=epochs.start,
        epochs=epochs.stop,
        steps_per_epoch=plan.steps_per_epoch,
        shuffle=False,  # the dataset shuffles
        verbose=0,
        callbacks=[_Reporter(plan, epochs.stop, epoch_ended, progress)],
    )


def check_optimizer(optimizer: keras.optimizers.Optimizer) -> None:
    """Raises ConfigError for the settings that `fit` gets wrong on several replicas."""
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise ConfigError(
            "LossScaleOptimizer looks for overflow on the first replica only; use "
            "--precision mixed_bfloat16, which needs no loss scaling"
        )
    for setting in ("clipnorm", "global_clipnorm", "clipvalue"):
        if getattr(optimizer, setting, None) is not None:
            raise ConfigError(
                f"the optimizer's {setting} clips each replica's gradients before they are "
                "summed; use --clip-norm, which clips their sum"
            )
    for setting in ("gradient_accumulation_steps", "ema_overwrite_frequency"):
        if getattr(optimizer, setting, None) is not None:
            raise ConfigError(
                f"the optimizer's {setting} fails under MirroredStrategy; leave it out, or "
                "use a larger --batch-size"
            )


class _Reporter(keras.callbacks.Callback):
    """Passes on what `fit` says of steps and epochs."""

    def __init__(
        self, plan: Plan, num_epochs: int, epoch_ended: EpochEnded, progress: Progress
    ) -> None:
        super().__init__()
        self._plan = plan
        self._num_epochs = num_epochs
        self._epoch_ended = epoch_ended
        self._progress = progress

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._progress.start(f"epoch {epoch + 1}/{self._num_epochs}", self._plan.steps_per_epoch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._progress.advance(1, logs or {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._progress.finish()
        means = {name: float(logs[name]) for name in metric_names(self._plan.task)}
        self._epoch_ended(epoch, means)
