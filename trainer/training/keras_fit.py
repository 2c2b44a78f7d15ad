"""`Model.fit` under a strategy, protected against its silent faults.

The faults of Keras 3 under MirroredStrategy, and the remedies here:

| fault | remedy |
|---|---|
| a finite dataset of unknown size runs too many steps | endless data, `steps_per_epoch` |
| `clipnorm` and similar options clip each replica's part | refused; `SumThenClip` |
| `LossScaleOptimizer` looks at the first replica only | refused; bfloat16 needs no scaling |
| plain BatchNormalization differs by replica | synchronised |
| a last batch that splits unevenly weighs its examples wrongly | all batches are full |
| a target of several tensors is taken for several outputs | refused |
| a replica without examples fails, or gives NaN | all batches are full; `evaluation.py` |
| `steps_per_execution`, `jit_compile` fail | off |
| gradient accumulation, overwriting by an average (EMA) fail | refused |
| the end of `fit` overwrites the weights by their average | `averaging.py` |
"""

from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.tasks.image_models import synchronize_batch_normalization
from trainer.training.fine_tuning import frozen
from trainer.training.loop import Follower, Plan, metric_names
from trainer.training.strategy import check_global_batch


def check(plan: Plan) -> None:
    """Raises ConfigError for a training that `fit` gets wrong."""
    check_optimizer(plan.optimizer)
    check_global_batch(plan.batch_size, plan.strategy.num_replicas_in_sync)
    if plan.accumulate_steps > 1 or plan.jit_compile:
        raise ConfigError(
            "--accumulate-steps and --jit-compile do not work with --loop fit under a strategy; "
            "leave them out, or use --loop custom"
        )
    if isinstance(plan.batches_from(0).element_spec[1], dict):
        raise ConfigError(
            f"--loop fit takes the parts of the target {plan.task.target!r} for the targets of "
            "several outputs; use --loop custom"
        )


def run(plan: Plan, follower: Follower) -> None:
    """Trains with `Model.fit`, like `training.run`, what `check` has let pass."""
    synchronize_batch_normalization(plan.model)
    # Else `fit` ends with the average of the weights (EMA), from which the next epoch goes on.
    plan.optimizer.finalize_variable_values = lambda variables: None
    if follower.step < plan.head_steps:
        with frozen(plan.backbones):
            _fit(plan, follower, plan.head_steps)
    _fit(plan, follower)


def _fit(plan: Plan, follower: Follower, last_step: int | None = None) -> None:
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
    while not follower.is_done and (last_step is None or follower.step < last_step):
        # Endless: (inputs, target) or (inputs, target, weight). An epoch may begin in its middle.
        batches = plan.batches_from(follower.step)
        plan.model.fit(
            batches.map(lambda inputs, *others: (plan.task.prepare(inputs), *others)),
            epochs=1,
            steps_per_epoch=plan.steps_per_epoch - follower.step % plan.steps_per_epoch,
            shuffle=False,  # the dataset shuffles
            verbose=0,
            callbacks=[_Reporter(plan, follower)],
        )


def check_optimizer(optimizer: keras.optimizers.Optimizer) -> None:
    """Raises ConfigError for optimizer settings that fail on several replicas."""
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise ConfigError(
            "LossScaleOptimizer looks for overflow on the first replica only; use "
            "--loop custom, or --precision mixed_bfloat16, which needs no loss scaling"
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
    """Tells the follower of each step of one epoch of `fit`."""

    def __init__(self, plan: Plan, follower: Follower) -> None:
        super().__init__()
        self._batch_size = plan.batch_size
        self._names = metric_names(plan.task)
        self._follower = follower
        self._sums = [0.0] * len(self._names)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        means = [float(logs[name]) for name in self._names]  # since `fit` began
        sums = [mean * (batch + 1) * self._batch_size for mean in means]
        added = [now - before for now, before in zip(sums, self._sums, strict=True)]
        self._sums = sums
        self._follower.advance(1, added, ends=self._follower.is_asked_to_end)
