"""Reads the records of a window with `tf.data`: runs of neighbours, in parallel and in order.

A window is a set of record numbers. Its numbers are sorted and cut into runs; each run is a
`TFRecordDataset` that starts at a byte offset, and `interleave` reads runs in parallel and yields
their records in order. Python's lock is held once per window, not per record.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfrecord_dataset.records.index import RecordIndex

# Measured: a run costs 250 us; an unwanted record 3 us, and 1 us per kilobyte.
_RUN_COST_BYTES = 250_000
_RECORD_COST_BYTES = 3_000
_RUN_BYTES = 1 << 20
# TensorFlow's read-ahead after a run.
_SPARE_BYTES = 1 << 12
_PART_BYTES = 1 << 20
# Number of megabyte runs to read in parallel.
CYCLE_LENGTH = 16


class Runs(NamedTuple):
    """Ranges of records in shards, and the positions of the wanted records among all read."""

    shards: Any  # int64 [runs]
    offsets: Any  # int64 [runs]: bytes from the start of the shard to the first record
    counts: Any  # int64 [runs]: records
    num_bytes: Any  # int64 [runs]: size of these records with their frames
    places: Any  # int64 [n]: position of each wanted record among those of all runs


def runs_of(index: RecordIndex, numbers: Any) -> Runs:
    """Make the runs for records of these numbers, int64 [n], in any order, with repeats."""
    wanted, places = np.unique(numbers, return_inverse=True)
    if not len(wanted):
        none = np.zeros(0, np.int64)
        return Runs(none, none, none, none, none)
    shards, starts, ends = index.locate(wanted)
    part = np.cumsum(ends - starts) // _RUN_BYTES
    is_first = np.ones(len(wanted), bool)
    skipped = starts[1:] - ends[:-1] + _RECORD_COST_BYTES * (np.diff(wanted) - 1)
    is_first[1:] = (skipped > _RUN_COST_BYTES) | (np.diff(shards) > 0) | (np.diff(part) > 0)
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(wanted)) - 1
    counts = wanted[last] - wanted[first] + 1
    run = np.cumsum(is_first) - 1
    in_all = (np.cumsum(counts) - counts)[run] + wanted - wanted[first][run]
    return Runs(shards[first], starts[first], counts, ends[last] - starts[first], in_all[places])


class WindowReader:
    """Reader of a split's windows in TensorFlow's threads.

    `read` returns the serialized records of numbers, int64 [n], as objects [n]. It is called for a
    window that TensorFlow did not read completely, and raises the reason.
    """

    def __init__(self, index: RecordIndex, read: Callable[[Any], Any]) -> None:
        self._index = index
        self._files = index.shards.plain
        self._read = read
        mean_bytes = index.num_bytes // max(1, index.num_records)
        self._part_records = max(1, _PART_BYTES // max(1, mean_bytes))

    def windows(self, keys: tf.data.Dataset) -> tf.data.Dataset:
        """Read records and keys (`tf.string` [n], int64 [n, 2]) for windows' keys, int64 [n, 2].

        Each window comes in parts, which are copied on demand while the next window is read.
        """
        plans = keys.map(self._plan, num_parallel_calls=1, deterministic=True)
        return plans.flat_map(self._window).prefetch(1).flat_map(self._parts)

    def _plan(self, keys: Any) -> tuple[Any, ...]:
        # Not stateful: a deterministic run would make plans one by one instead of ahead.
        paths, *numbers = tf.numpy_function(
            self._planned, [keys[:, 1]], [tf.string, *[tf.int64] * 4], stateful=False
        )
        for tensor in (paths, *numbers):
            tensor.set_shape([None])
        return (paths, *numbers, keys)

    def _planned(self, numbers: Any) -> tuple[Any, ...]:
        runs = runs_of(self._index, numbers)
        needed = np.unique(runs.shards).tolist()
        paths = dict(zip(needed, map(str.encode, self._files.paths(needed)), strict=True))
        by_run = np.array([paths[shard] for shard in runs.shards.tolist()], object)
        return (by_run, runs.offsets, runs.counts, runs.num_bytes, runs.places)

    def _window(
        self, paths: Any, offsets: Any, counts: Any, num_bytes: Any, places: Any, keys: Any
    ) -> tf.data.Dataset:
        runs = tf.data.Dataset.from_tensor_slices((paths, offsets, counts, num_bytes))
        records = runs.interleave(
            _records_of_run,
            cycle_length=CYCLE_LENGTH,
            block_length=tf.reduce_max(tf.concat([counts, [1]], 0)),  # whole runs
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
        total = tf.reduce_sum(counts)
        # An unreadable window yields one element, too.
        end = tf.data.Dataset.from_tensors((tf.constant(0, tf.int64), tf.constant(b"")))

        def checked(_: Any, records: Any) -> tuple[Any, Any, Any]:
            whole, order = tf.cond(
                tf.equal(tf.size(records, tf.int64), total + 1),
                lambda: (records, places),
                lambda: (self._read_again(keys), tf.range(tf.shape(keys, tf.int64)[0])),
            )
            return tf.ensure_shape(whole, [None]), tf.ensure_shape(order, [None]), keys

        return records.concatenate(end).batch(total + 1).map(checked)

    def _read_again(self, keys: Any) -> Any:
        return tf.numpy_function(self._read, [keys[:, 1]], tf.string, stateful=False)

    def _parts(self, records: Any, places: Any, keys: Any) -> tf.data.Dataset:
        """Yield the records `found` at `places` in parts, with their keys."""
        parts = tf.data.Dataset.from_tensor_slices((places, keys)).batch(self._part_records)
        return parts.map(lambda places, keys: (tf.gather(records, places), keys))


def _records_of_run(path: Any, offset: Any, count: Any, num_bytes: Any) -> tf.data.Dataset:
    """Read the records of a run with their positions; fewer if the file is damaged or missing."""
    # tf.data.TFRecordDataset does not support offsets (TensorFlow 2.21).
    variant = tf.raw_ops.TFRecordDatasetV2(
        filenames=[path],
        compression_type="",
        buffer_size=tf.minimum(num_bytes + _SPARE_BYTES, _RUN_BYTES),
        byte_offsets=[offset],
    )
    records = tf.data.experimental.from_variant(variant, tf.TensorSpec([], tf.string))
    # A missing file raises an error at every try, so the range limits the number of tries.
    return tf.data.Dataset.zip(tf.data.Dataset.range(count), records).ignore_errors()
