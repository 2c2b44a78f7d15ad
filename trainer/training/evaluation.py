"""Loss and metrics over a whole split: every record counts exactly once."""

import itertools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from trainer.errors import DatasetDamagedError
from trainer.input_pipeline import with_mask
from trainer.tasks.task import Task
from trainer.training.batch_normalization import equaliser
from trainer.training.loop import example_sums, metric_names
from trainer.training.strategy import read_workers


def evaluator(
    task: Task,
    model: keras.Model,
    strategy: tf.distribute.Strategy,
    batches: tf.data.Dataset,
    batch_size: int,
    num_records: int,
) -> Callable[..., dict[str, float]]:
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
        raises DatasetDamagedError if there are not `num_records` of them. With a number of
        batches, it takes only so many.
    """
    distributed = strategy.experimental_distribute_dataset(with_mask(batches, batch_size))
    names = metric_names(task)
    accumulates = bool(task.goal.accumulators())
    is_several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    num_workers = read_workers().count if is_several else 1

    def replica_step(inputs: Any, target: Any, mask: Any) -> Any:
        outputs = model(task.prepare(inputs), training=False)
        losses = task.loss(task.goal.with_totals(target), outputs)
        sums = example_sums(task, losses, target, outputs, mask)
        records = (target, task.goal.predict(outputs), mask) if accumulates else ()
        return tf.concat([sums, [tf.reduce_sum(mask)]], axis=0), records

    equalise = equaliser(model, strategy)

    # Takes the iterator, not a batch: a batch would be traced again for each length of sequences.
    @tf.function
    def evaluate_step(iterator: Any) -> Any:
        sums, records = strategy.run(replica_step, args=next(iterator))
        gathered = tf.nest.map_structure(
            lambda value: tf.concat(strategy.experimental_local_results(value), axis=0), records
        )
        return strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None), gathered

    def evaluate(num_batches: int | None = None) -> dict[str, float]:
        totals = [0.0] * (len(names) + 1)
        accumulators = task.goal.accumulators()
        equalise()
        iterator = iter(distributed)
        for _ in itertools.count() if num_batches is None else range(num_batches):
            try:
                sums, records = evaluate_step(iterator)
            except tf.errors.OutOfRangeError:
                break
            added = sums.numpy().tolist()
            totals = [total + more for total, more in zip(totals, added, strict=True)]
            if accumulates:
                target, predictions = _without_padding(*records)
                for accumulator in accumulators:
                    accumulator.update(target, predictions)
        # Where several workers train, each goes through the whole split.
        *sums, count = [total / num_workers for total in totals]
        if num_batches is None and count != num_records:
            raise DatasetDamagedError(
                f"evaluation read {count:.0f} records, but the split has {num_records}; run "
                "`python -m beam_pipeline verify` on the dataset"
            )
        result = {name: value / count for name, value in zip(names, sums, strict=True)}
        for accumulator in accumulators:
            result |= accumulator.result()
        return result

    return evaluate


def _without_padding(target: Any, predictions: Any, mask: Any) -> Any:
    """The records of a padded batch, as NumPy arrays."""
    is_record = mask.numpy() > 0
    return tf.nest.map_structure(lambda value: value.numpy()[is_record], (target, predictions))
