"""Records of a split as a `tf.data.Dataset`: serialized, each with its pass and number."""

import dataclasses
import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.records.shard_files import ShardFiles, Streams
from trainer.errors import ConfigError
from trainer.image_cache import KeptImages
from trainer.input_pipeline.interleave import WindowReader
from trainer.records.order import Order, Share, window_size

# One record per CPU, and as many that wait while a batch is formed, which TensorFlow's own choice
# reaches only after a while.
PARALLEL_CALLS = 2 * (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
# Number of records whose cached images are looked up at once.
_LOOKED_UP = 32
_FOREVER = (1 << 63) - 1
# Smaller than windows for shuffling: 16 MiB are 16 reads of a megabyte.
_SMALLER = 4
# The first window of larger records is read in parts that end at these 16ths of its records, so
# the first batch need not wait for all of it.
_PARTS = np.array([0, 1, 16])
_LARGE_BYTES = 1 << 14


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Choice and order of the records to read."""

    shuffle: bool = False  # False for the order in the files
    seed: int = 0
    window: int | None = None  # records to permute together; None for `window_size`
    numbers: Any = None  # int64 [n], ascending: the only records to read; None for all
    passes: int | None = 1  # over the data; None for endless
    first_record: int = 0  # records already used, over all passes
    share: Share | None = None  # this worker's part of each global batch; None for all of it
    deterministic: bool = True  # False lets records overtake each other when reading stalls

    @property
    def by_number(self) -> bool:
        """Whether records must be read by number: one pass from the first is not enough."""
        is_part = self.share is not None or self.numbers is not None
        return self.shuffle or self.passes != 1 or self.first_record > 0 or is_part


class Records:
    """Serialized records of a split, as single elements or in batches.

    Elements are (record, key): `tf.string` [], and int64 [2], the pass from 0 and the record's
    number. The key is the only source of a record's randomness.

    Attributes:
        num_shared_batches: Number of full global batches for a finite share; else None.

    Args:
        shards: Files of the split.
        num_records: Number of records in all files; None if they have not been counted.
        index: Returns the positions of the records.
        reading: Choice and order of the records.
        images: Cache of decoded images; None for none.
    """

    def __init__(
        self,
        shards: ShardFiles,
        num_records: int | None,
        index: Callable[[], RecordIndex],
        reading: Reading,
        images: KeptImages | None = None,
    ) -> None:
        # Gzip is unpacked before it is read by number, so it is avoided if possible.
        if not shards.compression or reading.by_number or images is not None:
            record_index, numbers = index(), reading.numbers
            num_records = record_index.num_records if numbers is None else len(numbers)
            self._windows = _windows(record_index, reading, images)
        else:
            self._windows = _streamed(shards)
        self._remaining = _remaining(num_records, reading)
        self.num_shared_batches: int | None = None
        if reading.share is not None and self._remaining != tf.data.INFINITE_CARDINALITY:
            assert self._remaining is not None  # such records are read by number
            self.num_shared_batches = reading.share.num_full_batches(self._remaining)
            self._remaining = reading.share.num_held(self._remaining)
        self._images = images

    def map(self, function: Callable[..., Any]) -> tf.data.Dataset:
        """Map `function` over each (record, key), with a cache also over `look_up`'s row."""
        windows = self._windows
        if self._images is not None:
            look_up = self._images.look_up
            windows = windows.rebatch(_LOOKED_UP).map(
                lambda records, keys: (records, keys, *look_up(keys)),
                num_parallel_calls=PARALLEL_CALLS,
            )
        records = _with_cardinality(windows.unbatch(), self._remaining)
        return records.map(function, num_parallel_calls=PARALLEL_CALLS)

    def map_batches(
        self, function: Callable[[Any], Any], size: int, *, drop_remainder: bool
    ) -> tf.data.Dataset:
        """Map `function` over each batch of records, `tf.string` [b]."""
        count = self._remaining
        if count is not None and count != tf.data.INFINITE_CARDINALITY:
            count = count // size if drop_remainder else -(-count // size)
        records = self._windows.map(lambda records, _: records, num_parallel_calls=PARALLEL_CALLS)
        batches = records.rebatch(size, drop_remainder=drop_remainder)
        return _with_cardinality(batches, count).map(function, num_parallel_calls=PARALLEL_CALLS)


def _with_cardinality(dataset: tf.data.Dataset, count: int | None) -> tf.data.Dataset:
    if count is None:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(count))


def _remaining(num_records: int | None, reading: Reading) -> int | None:
    """Return the number of records that all workers read; None if unknown."""
    if reading.passes is None:
        return int(tf.data.INFINITE_CARDINALITY)
    if num_records is None:
        return None
    remaining = num_records * reading.passes - reading.first_record
    if remaining < 0:
        raise ConfigError(
            f"first_record={reading.first_record} is beyond {reading.passes} pass(es) over "
            f"{num_records} records; give a smaller number, or more passes with repeat"
        )
    return remaining


class _Positions:
    """Choice of the records for each window of an iteration, from the first record of a run.

    Each iteration over a finite dataset continues the order with further passes. Iterations over an
    endless one are equal, since Keras reads a first batch before `fit`.
    """

    def __init__(self, index: RecordIndex, reading: Reading) -> None:
        window = reading.window or window_size(index.num_records, index.num_bytes)
        if not reading.shuffle:  # only the size of a read matters
            window = max(1, window // _SMALLER)
        lengths = index.shard_lengths
        if reading.numbers is not None:
            lengths = np.bincount(index.locate(reading.numbers)[0], minlength=len(lengths))
        seed = reading.seed if reading.shuffle else None
        self._order = Order(lengths, seed=seed, window=window)
        self._reading = reading
        is_large = index.num_bytes > _LARGE_BYTES * index.num_records
        self._parts = _PARTS if is_large else _PARTS[[0, -1]]
        self._last_part = len(self._parts) - 2
        self._iterations = itertools.count()

    def begin(self, _: Any) -> Any:
        """Start an iteration: its first pass, its first window from that pass, its reads."""
        order, passes = self._order, self._reading.passes
        first_pass = next(self._iterations) * (passes or 0)
        skipped, rest = divmod(self._reading.first_record, order.num_records)
        first = skipped * order.num_windows + order.find(first_pass + skipped, rest)
        end = _FOREVER
        if passes is not None:
            end = passes * order.num_windows - first + self._last_part
        return np.array([first_pass, first, end], np.int64)

    def keys(self, start: Any, count: Any) -> Any:
        """Return the keys of a read, int64 [n, 2]: a window, or a part of the first one.

        `start` is the result of `begin`, and `count` the number of the read, from 0.
        """
        order, reading = self._order, self._reading
        first_pass, first, _ = start.tolist()
        number = first + max(0, int(count) - self._last_part)
        passes, number = divmod(number, order.num_windows)
        position, keys = order.window(first_pass + passes, number)
        since = passes * order.num_records + position - reading.first_record
        positions = since + np.arange(len(keys))
        chosen = positions >= 0
        if reading.share is not None:
            chosen &= reading.share.holds(positions)
        keys = keys[chosen]
        if reading.numbers is not None:
            keys[:, 1] = reading.numbers[keys[:, 1]]
        if count <= self._last_part:
            keys = keys[slice(*len(keys) * self._parts[count : count + 2] // self._parts[-1])]
        return keys


def _windows(index: RecordIndex, reading: Reading, images: KeptImages | None) -> tf.data.Dataset:
    """Read records in order in batches, with keys: `tf.string` [n], int64 [n, 2]."""
    if not (index.num_records if reading.numbers is None else len(reading.numbers)):
        return tf.data.Dataset.from_tensors(
            (tf.constant([], tf.string), tf.zeros([0, 2], tf.int64))
        )
    positions = _Positions(index, reading)
    reader = RecordReader(index)
    windows = WindowReader(index, reader.read)

    def read_kept(start: Any, count: Any) -> tuple[Any, Any]:
        assert images is not None
        keys = positions.keys(start, count)
        return images.reading(reader.read)(keys[:, 1]), keys

    def iteration(nothing: Any) -> tf.data.Dataset:
        # Not stateful, so that a deterministic run is still parallel. Its input prevents TensorFlow
        # from treating it as a constant.
        start = tf.numpy_function(positions.begin, [nothing], tf.int64, stateful=False)
        counts = tf.data.Dataset.range(start[2])
        if images is not None:  # most records are in memory
            return _read_ahead(read_kept, counts, start)

        def keys(count: Any) -> Any:
            read = tf.numpy_function(positions.keys, [start, count], tf.int64, stateful=False)
            return tf.ensure_shape(read, [None, 2])

        return windows.windows(counts.map(keys, num_parallel_calls=1, deterministic=True))

    return tf.data.Dataset.from_tensors(tf.constant(0, tf.int64)).flat_map(iteration)


def _streamed(shards: ShardFiles) -> tf.data.Dataset:
    """Read gzip files once from the start: `tf.string` [n], int64 [n, 2]."""
    streams = Streams(shards.files, shards.compression)

    def read(number: Any) -> tuple[Any, Any]:
        first, window = streams.window(int(number))
        records = np.empty(len(window), object)
        records[:] = window
        keys = np.zeros((len(window), 2), np.int64)
        keys[:, 1] = first + np.arange(len(window))
        return records, keys

    windows = _read_ahead(read, tf.data.Dataset.range(_FOREVER))
    return windows.take_while(lambda records, _: tf.size(records) > 0)


def _read_ahead(
    read: Callable[..., Any], numbers: tf.data.Dataset, *before: Any
) -> tf.data.Dataset:
    """Map numbers by `read`, with their keys: `tf.string` [n], int64 [n, 2]."""

    def window(number: Any) -> tuple[Any, Any]:
        # Not stateful: a deterministic run would read windows one by one instead of ahead.
        records, keys = tf.numpy_function(
            read, [*before, number], [tf.string, tf.int64], stateful=False
        )
        return tf.ensure_shape(records, [None]), tf.ensure_shape(keys, [None, 2])

    return numbers.map(window, num_parallel_calls=1, deterministic=True)  # in the background
