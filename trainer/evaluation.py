"""Loss and metrics over a whole split: every record counts exactly once."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from trainer.errors import DatasetDamagedError
from trainer.input_pipeline import with_mask
from trainer.tasks.task import Task
from trainer.training import example_sums, metric_names


def evaluator(
    task: Task,
    model: keras.Model,
    strategy: tf.distribute.Strategy,
    batches: tf.data.Dataset,
    batch_size: int,
    num_records: int,
) -> Callable[[], dict[str, float]]:
    """A function that evaluates `model`, as it is when called, on `batches`.

    The last batch is padded and masked, so that each replica gets a part of it; `Model.fit`
    and `Model.evaluate` fail there, or count the padding.

    Args:
        task: Loss and metrics.
        model: Made in the strategy's scope.
        strategy: The replicas.
        batches: One pass of (inputs, target).
        batch_size: Examples per global batch; a multiple of the number of replicas.
        num_records: The number of records in `batches`.

    Returns:
        The function; it returns the means over all examples by name, "loss" first, and
        raises DatasetDamagedError if there are not `num_records` of them.
    """
    distributed = strategy.experimental_distribute_dataset(with_mask(batches, batch_size))
    names = metric_names(task)

    def replica_step(inputs: Any, target: Any, mask: Any) -> Any:
        outputs = model(task.prepare(inputs), training=False)
        sums = example_sums(task, task.loss(target, outputs), target, outputs, mask)
        return tf.concat([sums, [tf.reduce_sum(mask)]], axis=0)

    # Takes the iterator, not a batch: a batch would be traced again for each length of sequences.
    @tf.function
    def evaluate_step(iterator: Any) -> Any:
        by_replica = strategy.run(replica_step, args=next(iterator))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, by_replica, axis=None)

    def evaluate() -> dict[str, float]:
        totals = [0.0] * (len(names) + 1)
        iterator = iter(distributed)
        while True:
            try:
                added = evaluate_step(iterator).numpy().tolist()
            except tf.errors.OutOfRangeError:
                break
            totals = [total + more for total, more in zip(totals, added, strict=True)]
        *sums, count = totals
        if count != num_records:
            raise DatasetDamagedError(
                f"evaluation read {count:.0f} records, but the split has {num_records}; run "
                "`python -m beam_pipeline verify` on the dataset"
            )
        return {name: value / count for name, value in zip(names, sums, strict=True)}

    return evaluate
