"""Loss and metrics over a whole split, with every record counted exactly once."""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from trainer.dataset import Dataset
from trainer.errors import DatasetDamagedError
from trainer.image_cache import ImageCache
from trainer.input_pipeline import with_mask
from trainer.tasks.figures import Accumulator
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.task import Task
from trainer.training.hooks import EVALUATION, overrides
from trainer.training.layers import equaliser
from trainer.training.loop import example_sums, metric_names
from trainer.training.strategy import distributed, has_other_workers


def evaluator(
    task: Task,
    model: keras.Model,
    strategy: tf.distribute.Strategy,
    dataset: Dataset,
    split: str,
    batch_size: int,
    cache: ImageCache | str = "none",
) -> Callable[..., dict[str, float]]:
    """Make a function that evaluates the current state of `model` on a split.

    The last batch is padded and masked so that each replica gets a part of it; there `Model.fit`
    and `Model.evaluate` fail or count the padding. Several workers share every batch.

    Args:
        batch_size: Examples per global batch; a multiple of the number of replicas.
        cache: As for `Dataset.batches`.

    Returns:
        The function; it returns the means over all examples by name, "loss" first, and
            raises DatasetDamagedError unless it read all records of the split. Given a number of
            batches, it evaluates only these; given accumulators, it fills them instead of new ones;
            given callbacks, it calls their hooks of batches.
    """
    is_shared, num_records = has_other_workers(strategy), dataset.num_records(split)

    def masked(worker: int = 0, num_workers: int = 1) -> tf.data.Dataset:
        share = {"worker": worker, "num_workers": num_workers}
        own = evaluation_batches(task, dataset, split, batch_size=batch_size, cache=cache, **share)
        return with_mask(own, batch_size // num_workers)

    whole = distributed(strategy, masked, batch_size)
    names = metric_names(task)
    new_accumulators = task.goal.accumulators

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
        num_batches: int | None = None,
        accumulators: Sequence[Accumulator] | None = None,
        callbacks: keras.callbacks.CallbackList | None = None,
    ) -> dict[str, float]:
        accumulators = new_accumulators() if accumulators is None else accumulators
        totals = _Totals(names, -(-num_records // batch_size), callbacks)
        equalise()
        iterator = iter(whole)
        for number in itertools.count() if num_batches is None else range(num_batches):
            totals.begin(number)
            try:
                sums, records = evaluate_step(iterator)
            except tf.errors.OutOfRangeError:
                break
            totals.add(number, sums)
            target, predictions = _without_padding(*records)
            for accumulator in accumulators:
                accumulator.update(target, predictions)
        result = totals.means(num_records if num_batches is None else None)
        return functools.reduce(operator.or_, (each.result() for each in accumulators), result)

    return evaluate


def _gathered(strategy: tf.distribute.Strategy, records: Any, *, is_shared: bool) -> Any:
    """Gather the records of all replicas; with several workers, every replica gets all."""
    local = strategy.experimental_local_results
    if is_shared:
        return tf.nest.map_structure(lambda value: local(value)[0], records)
    return tf.nest.map_structure(lambda value: tf.concat(local(value), axis=0), records)


class _Totals:
    """Sums over the records of an evaluation, and the hooks of its batches.

    The sums of batches end with the number of records. Unless a hook asks for them, they are read
    at the end, so the next batch starts at once.
    """

    def __init__(
        self, names: Sequence[str], num_batches: int, callbacks: keras.callbacks.CallbackList | None
    ) -> None:
        self._names = names
        self._num_batches = num_batches
        is_called = callbacks and overrides(callbacks.callbacks, EVALUATION)
        self._callbacks = callbacks if is_called else None
        self._totals = np.zeros(len(names) + 1)
        self._unread: list[Any] = []

    def begin(self, number: int) -> None:
        """Call the hooks at the start of a batch."""
        if self._callbacks and number < self._num_batches:
            self._callbacks.on_test_batch_begin(number)

    def add(self, number: int, sums: Any) -> None:
        """Add a batch's sums, and call the hooks at its end."""
        self._unread.append(sums)
        if self._callbacks:
            self._callbacks.on_test_batch_end(number, self.means())

    def means(self, num_records: int | None = None) -> dict[str, float]:
        """Return the means over all records by name.

        Raises:
            DatasetDamagedError: Their number is not `num_records`.
        """
        for sums in self._unread:
            self._totals += sums.numpy()
        self._unread.clear()
        *sums, count = self._totals.tolist()
        if num_records is not None and count != num_records:
            raise DatasetDamagedError(
                f"evaluation read {count:.0f} records, but the split has {num_records}; run "
                "`beam-tfrecords verify` on the dataset"
            )
        return {name: value / count for name, value in zip(self._names, sums, strict=True)}


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
