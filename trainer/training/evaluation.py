"""Loss and metrics over a whole split, with every record counted exactly once."""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from trainer.errors import DatasetDamagedError
from trainer.input_pipeline import with_mask
from trainer.tasks.figures import Accumulator
from trainer.tasks.targets.results import results_of
from trainer.tasks.task import Task
from trainer.training.layers import equaliser
from trainer.training.loop import example_sums, metric_names
from trainer.training.strategy import distributed, has_other_workers


def evaluator(
    task: Task,
    model: keras.Model,
    strategy: tf.distribute.Strategy,
    batches: Callable[..., tf.data.Dataset],
    batch_size: int,
    num_records: int,
) -> Callable[..., dict[str, float]]:
    """Make a function that evaluates the current state of `model` on `batches`.

    The last batch is padded and masked so that each replica gets a part of it; there `Model.fit`
    and `Model.evaluate` fail or count the padding. Several workers share every batch.

    Args:
        batches: Takes `worker` and `num_workers`, and returns one pass of (inputs, target) with
            that worker's part of each global batch; all workers get as many.
        batch_size: Examples per global batch; a multiple of the number of replicas.
        num_records: Total number of records over all workers.

    Returns:
        The function; it returns the means over all examples by name, "loss" first, and
            raises DatasetDamagedError if their number is not `num_records`. Given a number of
            batches, it evaluates only these; given accumulators, it fills them instead of new ones.
    """
    is_shared = has_other_workers(strategy)

    def masked(worker: int = 0, num_workers: int = 1) -> tf.data.Dataset:
        own = batches(worker=worker, num_workers=num_workers)
        return with_mask(own, batch_size // num_workers)

    whole = distributed(strategy, masked, batch_size)
    names = metric_names(task)
    new_accumulators = results_of(task.goal).accumulators

    def replica_step(inputs: Any, target: Any, mask: Any) -> Any:
        outputs = model(task.prepare(inputs), training=False)
        losses = task.loss(task.goal.with_totals(target), outputs)
        sums = example_sums(task, losses, target, outputs, mask)
        records = (target, task.goal.predict(outputs), mask)
        if is_shared:
            records = tf.nest.map_structure(_of_all_workers, records)
        return tf.concat([sums, [tf.reduce_sum(mask)]], axis=0), records

    equalise = equaliser(model, strategy)

    # Takes the iterator, since a batch argument would retrace for each sequence length.
    @tf.function(autograph=False)
    def evaluate_step(iterator: Any) -> Any:
        sums, records = strategy.run(replica_step, args=next(iterator))
        sums = strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)
        return sums, _gathered(strategy, records, is_shared=is_shared)

    def evaluate(
        num_batches: int | None = None, accumulators: Sequence[Accumulator] | None = None
    ) -> dict[str, float]:
        of_batches = []
        accumulators = new_accumulators() if accumulators is None else accumulators
        equalise()
        iterator = iter(whole)
        for _ in itertools.count() if num_batches is None else range(num_batches):
            try:
                sums, records = evaluate_step(iterator)
            except tf.errors.OutOfRangeError:
                break
            of_batches.append(sums)  # read at the end, so the next batch starts at once
            target, predictions = _without_padding(*records)
            for accumulator in accumulators:
                accumulator.update(target, predictions)
        result = _means(names, of_batches, num_records if num_batches is None else None)
        return functools.reduce(operator.or_, (each.result() for each in accumulators), result)

    return evaluate


def _gathered(strategy: tf.distribute.Strategy, records: Any, *, is_shared: bool) -> Any:
    """Gather the records of all replicas; with several workers, every replica gets all."""
    local = strategy.experimental_local_results
    if is_shared:
        return tf.nest.map_structure(lambda value: local(value)[0], records)
    return tf.nest.map_structure(lambda value: tf.concat(local(value), axis=0), records)


def _means(
    names: Sequence[str], of_batches: Sequence[Any], num_records: int | None
) -> dict[str, float]:
    """Compute means over all records from sums per batch, which end with the count.

    Raises:
        DatasetDamagedError: The count is not `num_records`.
    """
    totals = np.zeros(len(names) + 1)
    for sums in of_batches:
        totals += sums.numpy()
    *sums, count = totals.tolist()
    if num_records is not None and count != num_records:
        raise DatasetDamagedError(
            f"evaluation read {count:.0f} records, but the split has {num_records}; run "
            "`beam-tfrecords verify` on the dataset"
        )
    return {name: value / count for name, value in zip(names, sums, strict=True)}


def _of_all_workers(values: Any) -> Any:
    """Gather the values of a batch's records from all workers, inside `strategy.run`.

    Values that workers padded to the longest of their own records are padded further with -1, as
    in the input pipeline.
    """
    context = tf.distribute.get_replica_context()
    if values.dtype in (tf.bool, tf.uint8):  # not supported by collectives
        return tf.cast(_of_all_workers(tf.cast(values, tf.int32)), values.dtype)
    for axis, length in enumerate(values.shape):
        if axis and length is None:
            own = tf.shape(values)[axis]
            longest = tf.reduce_max(context.all_gather(own[None], axis=0))
            missing = tf.one_hot(axis, len(values.shape), dtype=tf.int32) * (longest - own)
            behind = tf.stack([tf.zeros_like(missing), missing], axis=1)
            values = tf.pad(values, behind, constant_values=tf.cast(-1, values.dtype))
    return context.all_gather(tf.identity(values), axis=0)  # on the replica's device


def _without_padding(target: Any, predictions: Any, mask: Any) -> Any:
    """Return the unpadded records of a batch as NumPy arrays."""
    is_record = mask.numpy() > 0
    return tf.nest.map_structure(lambda value: value.numpy()[is_record], (target, predictions))
