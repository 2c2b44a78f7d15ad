"""`Model.fit` under a strategy: what Keras 3 gets wrong there is avoided, or refused.

Batches are full and endless, with `steps_per_epoch`: of finite data of unknown size `fit` runs too
many steps, an uneven last batch weighs its examples wrongly, and a replica without examples fails.
`check_optimizer` refuses optimizers.
"""

from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.training.fine_tuning import frozen
from trainer.training.follower import Done, Follower
from trainer.training.loop import Plan, metric_names
from trainer.training.optimizers import check_optimizer, inner_optimizer, learning_rate


def check(plan: Plan) -> None:
    """Raises ConfigError for a training that `fit` gets wrong."""
    check_optimizer(plan.optimizer)
    if plan.accumulate_steps > 1 or plan.jit_compile:
        raise ConfigError(
            "--accumulate-steps and --jit-compile do not work with --loop fit under a strategy; "
            "leave them out, or use --loop custom"
        )
    if inner_optimizer(plan.optimizer).use_ema:
        raise ConfigError(
            "--loop fit ends each epoch with the average of the weights (EMA), from which the next "
            "one goes on; leave --ema out, or use --loop custom"
        )
    if isinstance(plan.batches_from(0).element_spec[1], dict):
        raise ConfigError(
            f"--loop fit takes the parts of the target {plan.task.target!r} for the targets of "
            "several outputs; use --loop custom"
        )


def run(plan: Plan, follower: Follower) -> None:
    """Trains with `Model.fit`, like `training.run`, what `check` has let pass."""
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
        )
    while not follower.is_done and (last_step is None or follower.step < last_step):
        # An epoch may begin in its middle.
        batches = plan.batches_from(follower.step)
        plan.model.fit(
            batches.map(lambda inputs, *others: (plan.task.prepare(inputs), *others)),
            epochs=1,
            steps_per_epoch=plan.steps_per_epoch - follower.step % plan.steps_per_epoch,
            shuffle=False,  # the dataset shuffles
            verbose=0,
            callbacks=[_Reporter(plan, follower)],
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
        self._follower.advance(
            Done(
                steps=1,
                sums=added,
                learning_rate=learning_rate(self.model.optimizer),
                ends=self._follower.is_asked_to_end,
            )
        )
