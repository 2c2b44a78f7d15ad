"""The trainer's own loop: GradientTape under `strategy.run`, several steps per `tf.function`."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from trainer.progress import Progress
from trainer.tasks.task import Task

# Called after each epoch with its number, from 0, and its metrics by name.
RecordEpoch = Callable[[int, dict[str, float]], None]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a training loop needs.

    Attributes:
        task: Loss, metrics, and the preparation of inputs on the device.
        model: Made in the strategy's scope.
        optimizer: Made and built in the strategy's scope.
        strategy: The replicas.
        batches: Takes the number of records used so far, and returns the endless dataset of
            global batches after them: (inputs, target), or (inputs, target, weight).
        batch_size: Examples per step, over all replicas.
        steps_per_epoch: Steps.
        steps_per_call: Steps per call of a `tf.function`; more of them reduce the cost of the
            work between calls (Python, progress).
    """

    task: Task
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    strategy: tf.distribute.Strategy
    batches: Callable[[int], tf.data.Dataset]
    batch_size: int
    steps_per_epoch: int
    steps_per_call: int = 8

    def batches_from(self, epoch: int) -> tf.data.Dataset:
        """The batches after `epoch` epochs."""
        return self.batches(epoch * self.steps_per_epoch * self.batch_size)


def run_epochs(plan: Plan, epochs: range, record_epoch: RecordEpoch, progress: Progress) -> None:
    """Trains for `epochs`, numbered from 0; earlier ones are finished."""
    train_steps = train_function(plan)
    batches = iter(plan.strategy.experimental_distribute_dataset(plan.batches_from(epochs.start)))
    for epoch in epochs:
        progress.start(f"epoch {epoch + 1}/{epochs.stop}", plan.steps_per_epoch)
        sums = dict.fromkeys(metric_names(plan.task), 0.0)
        done = 0
        while done < plan.steps_per_epoch:
            steps = min(plan.steps_per_call, plan.steps_per_epoch - done)
            added = train_steps(batches, tf.constant(steps)).numpy().tolist()
            sums = {name: sums[name] + more for name, more in zip(sums, added, strict=True)}
            done += steps
            means = {name: value / (done * plan.batch_size) for name, value in sums.items()}
            progress.advance(steps, means)
        progress.finish()
        record_epoch(epoch, means)


def metric_names(task: Task) -> list[str]:
    """The names of the sums that steps return, in order."""
    return ["loss", *task.metrics]


def train_function(plan: Plan) -> Callable[[Any, Any], Any]:
    """The function (iterator of distributed batches, number of steps) that trains.

    It returns the sums over all examples of those steps, float32 [1 + metrics], in the
    order of `metric_names`. Weights only affect the loss.
    """
    strategy, model, optimizer = plan.strategy, plan.model, plan.optimizer

    def replica_step(inputs: Any, target: Any, weight: Any = 1.0) -> Any:
        with tf.GradientTape() as tape:
            outputs = model(plan.task.prepare(inputs), training=True)
            losses = plan.task.loss(target, outputs) * weight
            # Divided by the global batch regardless of weights, as in `Model.fit`: the sum
            # over replicas is then the global mean.
            loss = tf.nn.compute_average_loss(losses, global_batch_size=plan.batch_size)
            if model.losses:
                loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
        gradients = tape.gradient(loss, model.trainable_variables)
        # Sums over the replicas, then clips (optimizers.py), then updates: one reduction.
        optimizer.apply(gradients, model.trainable_variables)
        return example_sums(plan.task, losses, target, outputs)

    def train_steps(batches: Any, steps: Any) -> Any:
        sums = tf.zeros([len(metric_names(plan.task))])
        for _ in tf.range(steps):
            by_replica = strategy.run(replica_step, args=next(batches))
            sums += strategy.reduce(tf.distribute.ReduceOp.SUM, by_replica, axis=None)
        return sums

    compiled: Callable[[Any, Any], Any] = tf.function(train_steps)
    return compiled


def example_sums(task: Task, losses: Any, target: Any, outputs: Any, mask: Any = None) -> Any:
    """Sums over the examples where `mask` is 1, float32 [1 + metrics], as `metric_names`."""
    columns = [losses, *(metric(target, outputs) for metric in task.metrics.values())]
    values = tf.stack([tf.cast(column, tf.float32) for column in columns])  # [1 + metrics, b]
    if mask is not None:  # not a product: the padding of a batch may give NaN
        values = tf.where(mask > 0, values, 0.0)
    return tf.reduce_sum(values, axis=1)
