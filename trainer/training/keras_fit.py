"""`Model.fit` under a strategy, which `check` refuses for what Keras 3 gets wrong there.

Batches are full and endless, with `steps_per_epoch`: of finite data of unknown size `fit` runs too
many steps, an uneven last batch weighs its examples wrongly, and a replica without examples fails.
"""

from typing import Any

import keras

from trainer.errors import ConfigError
from trainer.training.follower import Done, Follower
from trainer.training.loop import Plan, metric_names
from trainer.training.optimizers import check_optimizer, inner_optimizer, learning_rate


def check(plan: Plan) -> None:
    """Raises ConfigError for a training that `fit` gets wrong."""
    check_optimizer(plan.optimizer)
    averages = inner_optimizer(plan.optimizer).use_ema
    faults = {
        "Keras would choose the parts of several workers (TF_CONFIG)": plan.has_other_workers,
        "--accumulate-steps fails under a strategy": plan.accumulate_steps > 1,
        "--jit-compile fails under a strategy": plan.jit_compile,
        "each epoch would go on from the average of --ema": averages,
        "it has no --head-epochs (with --weights, give 0 of them)": plan.head_steps > 0,
        f"it takes the parts of {plan.task.target!r} for several outputs": plan.task.goal.in_parts,
    }
    for fault, is_there in faults.items():
        if is_there:
            raise ConfigError(f"--loop fit does not suit this training: {fault}; use --loop custom")


def run(plan: Plan, follower: Follower) -> None:
    """Trains with `Model.fit`, like `loop.run`, what `check` has let pass."""
    task = plan.task
    with plan.strategy.scope():  # metrics made outside of it count one replica alone, unsaid
        metrics = [
            keras.metrics.MeanMetricWrapper(each, name=n) for n, each in task.metrics.items()
        ]
        plan.model.compile(plan.optimizer, task.loss, metrics=metrics, jit_compile=False)
    while not follower.is_done:  # an epoch may begin in its middle
        batches = plan.batches_from(follower.step)
        plan.model.fit(
            batches.map(lambda inputs, *others: (task.prepare(inputs), *others)),
            steps_per_epoch=plan.steps_per_epoch - follower.step % plan.steps_per_epoch,
            shuffle=False,  # the dataset shuffles
            verbose=0,
            callbacks=[_Reporter(plan, follower)],
        )


class _Reporter(keras.callbacks.Callback):
    """Tells the follower of each step of one epoch of `fit`."""

    def __init__(self, plan: Plan, follower: Follower) -> None:
        super().__init__()
        self._plan, self._follower = plan, follower
        self._sums = [0.0] * len(metric_names(plan.task))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        means = [float(logs[name]) for name in metric_names(self._plan.task)]  # since `fit` began
        sums = [mean * (batch + 1) * self._plan.batch_size for mean in means]
        added = [now - before for now, before in zip(sums, self._sums, strict=True)]
        self._sums = sums
        rate, ends = learning_rate(self.model.optimizer), self._follower.is_asked_to_end
        self._follower.advance(Done(steps=1, sums=added, learning_rate=rate, ends=ends))
