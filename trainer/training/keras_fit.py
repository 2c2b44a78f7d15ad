"""`Model.fit` under a strategy, which `check` refuses for what Keras 3 gets wrong there.

Batches are full and endless, with `steps_per_epoch`: of finite data of unknown size `fit` runs too
many steps, an uneven last batch weighs its examples wrongly, and a replica without examples fails.
"""

from typing import Any

import keras

from trainer.autograph import unconverted
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
    if found := [fault for fault, is_there in faults.items() if is_there]:
        raise ConfigError(f"--loop fit does not suit this training: {found[0]}; use --loop custom")


def run(plan: Plan, follower: Follower) -> None:
    """Trains with `Model.fit`, like `loop.run`, what `check` has let pass."""
    task, names, sums = plan.task, metric_names(plan.task), [0.0]

    def report(batch: int, logs: Any) -> None:  # whose means are those since `fit` began
        before = [*sums] if batch else [0.0] * len(names)
        sums[:] = [float(logs[name]) * (batch + 1) * plan.batch_size for name in names]
        added = [now - then for now, then in zip(sums, before, strict=True)]
        rate, ends = learning_rate(plan.optimizer), follower.is_asked_to_end
        follower.advance(Done(steps=1, sums=added, learning_rate=rate, ends=ends))

    with plan.strategy.scope():  # metrics made outside of it count one replica alone, unsaid
        means = [keras.metrics.MeanMetricWrapper(task.metrics[name], name) for name in names[1:]]
        plan.model.compile(plan.optimizer, task.loss, metrics=means, jit_compile=False)

    @unconverted
    def prepared(inputs: Any, *others: Any) -> tuple[Any, ...]:
        return task.prepare(inputs), *others

    while not follower.is_done:  # an epoch may begin in its middle
        batches = plan.batches_from(follower.step)
        plan.model.fit(
            batches.map(prepared),
            steps_per_epoch=plan.steps_per_epoch - follower.step % plan.steps_per_epoch,
            shuffle=False,  # the dataset shuffles
            verbose=0,
            callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=report)],
        )
