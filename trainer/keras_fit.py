"""`Model.fit` under a strategy, protected against its silent faults.

The faults of Keras 3 under MirroredStrategy, and the remedies here:

| fault | remedy |
|---|---|
| a finite dataset of unknown size runs too many steps | endless data, `steps_per_epoch` |
| `clipnorm` and similar options clip each replica's part | refused; `SumThenClip` |
| `LossScaleOptimizer` looks at the first replica only | refused; bfloat16 needs no scaling |
| plain BatchNormalization differs by replica | synchronised |
| a last batch that splits unevenly weighs its examples wrongly | all batches are full |
| a replica without examples fails, or gives NaN | all batches are full; `evaluation.py` |
| `steps_per_execution`, `jit_compile` fail | off |
| gradient accumulation, overwriting by an average (EMA) fail | refused |
"""

from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.progress import Progress
from trainer.strategy import check_global_batch
from trainer.tasks.image_models import synchronize_batch_normalization
from trainer.training import Plan, RecordEpoch, metric_names


def run_epochs(plan: Plan, epochs: range, record_epoch: RecordEpoch, progress: Progress) -> None:
    """Trains for `epochs`, numbered from 0, with `Model.fit`, like `training.run_epochs`.

    Raises:
        ConfigError: `fit` does not work with the optimizer or the batch size.
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
    batches = plan.batches_from(
        epochs.start
    )  # endless: (inputs, target) or (inputs, target, weight)
    plan.model.fit(
        batches.map(lambda inputs, *others: (plan.task.prepare(inputs), *others)),
        initial_epoch=epochs.start,
        epochs=epochs.stop,
        steps_per_epoch=plan.steps_per_epoch,
        shuffle=False,  # the dataset shuffles
        verbose=0,
        callbacks=[_Reporter(plan, epochs.stop, record_epoch, progress)],
    )


def check_optimizer(optimizer: keras.optimizers.Optimizer) -> None:
    """Raises ConfigError for optimizer settings that fail on several replicas."""
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
    """Reports the steps and epochs of `fit`."""

    def __init__(
        self, plan: Plan, num_epochs: int, record_epoch: RecordEpoch, progress: Progress
    ) -> None:
        super().__init__()
        self._plan = plan
        self._num_epochs = num_epochs
        self._record_epoch = record_epoch
        self._progress = progress

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._progress.start(f"epoch {epoch + 1}/{self._num_epochs}", self._plan.steps_per_epoch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._progress.advance(1, logs or {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._progress.finish()
        means = {name: float(logs[name]) for name in metric_names(self._plan.task)}
        self._record_epoch(epoch, means)
