"""Records of a split as a `tf.data.Dataset`: serialized, each with its pass and number.

A window is a set of record numbers. Its numbers are sorted and cut into runs of neighbours; each
run is a `TFRecordDataset` that starts at a byte offset, and `interleave` reads runs in parallel and
yields their records in order. Python's lock is held once per window, not per record.
"""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfrecord_dataset.records import shard_files
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.records.shard_files import ShardFiles
from trainer.errors import ConfigError
from trainer.image_cache import KeptImages
from trainer.order import Order, WorkerShare, group_size, num_groups, window_size

# Measured: a run costs 250 us; an unwanted record 3 us, and 1 us per kilobyte.
_RUN_COST_BYTES = 250_000
_RECORD_COST_BYTES = 3_000
_RUN_BYTES = 1 << 20
# So many runs whose cost is twice that of their records are read by Python, in half of the time.
_MANY_RUNS = 256
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


# A plan with one record of no file: the window is read by number.
_ZERO = np.zeros(1, np.int64)
_BY_NUMBER = (np.array([b""], object), _ZERO, _ZERO + 1, _ZERO, _ZERO)


class WindowReader:
    """Reader of a split's windows in TensorFlow's threads.

    `read` returns the serialized records of numbers, int64 [n], as objects [n]. It is called for
    windows of many short runs, or for all if not `by_path`; and for a window that TensorFlow did
    not read completely, to raise the reason.
    """

    def __init__(
        self, index: RecordIndex, read: Callable[[Any], Any], *, by_path: bool = True
    ) -> None:
        self._index = index
        self._files = index.shards.plain
        self._read = read
        self._by_path = by_path
        self._mean_bytes = max(1, index.num_bytes // max(1, index.num_records))
        self._part_records = max(1, _PART_BYTES // self._mean_bytes)

    def windows(
        self, windows: tf.data.Dataset, keys_of: Callable[..., Any], *before: Any
    ) -> tf.data.Dataset:
        """Read records and keys (`tf.string` [n], int64 [n, 2]) for windows.

        The keys of a window are `keys_of(*before, window)`, int64 [n, 2]. Once they are asked for,
        the window two before has been read. Each window comes in parts, which are copied on demand
        while the next window is read.
        """

        def planned(*window: Any) -> tuple[Any, ...]:
            keys = keys_of(*window)
            return (*self._planned(keys[:, 1]), keys)

        def plan(window: Any) -> tuple[Any, ...]:
            # Not stateful: a deterministic run would make plans one by one instead of ahead.
            *lists, keys = tf.numpy_function(
                planned, [*before, window], [tf.string, *[tf.int64] * 5], stateful=False
            )
            for tensor in lists:
                tensor.set_shape([None])
            keys.set_shape([None, 2])
            return (*lists, keys)

        plans = windows.map(plan, num_parallel_calls=1, deterministic=True)
        return plans.flat_map(self._window).prefetch(1).flat_map(self._parts)

    def _planned(self, numbers: Any) -> tuple[Any, ...]:
        if not self._by_path:
            return _BY_NUMBER
        runs = runs_of(self._index, numbers)
        needed = np.unique(runs.shards).tolist()
        paths = dict(zip(needed, map(str.encode, self._files.paths(needed)), strict=True))
        count, cost = len(runs.counts), runs.num_bytes.sum() + len(runs.counts) * _RUN_COST_BYTES
        if count > _MANY_RUNS and cost > 2 * self._mean_bytes * len(numbers):
            return _BY_NUMBER
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
                lambda: (self._read_by_number(keys), tf.range(tf.shape(keys, tf.int64)[0])),
            )
            # Another build may have taken a name meanwhile.
            if self._by_path and not self._files.paths_stay:
                order = tf.numpy_function(
                    self._unchanged, [keys[:, 1], order], tf.int64, stateful=False
                )
            return tf.ensure_shape(whole, [None]), tf.ensure_shape(order, [None]), keys

        return records.concatenate(end).batch(total + 1).map(checked)

    def _unchanged(self, numbers: Any, order: Any) -> Any:
        """Return the order of records that were read from the files that were opened."""
        self._files.paths(np.unique(self._index.shard_of(numbers)).tolist())
        return order

    def _read_by_number(self, keys: Any) -> Any:
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


# One record per CPU, and as many that wait while a batch is formed, which TensorFlow's own choice
# reaches only after a while.
PARALLEL_CALLS = 2 * (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
# Number of records whose cached images are looked up at once.
_LOOKED_UP = 32
_FOREVER = (1 << 63) - 1
_REPEAT = 1_000_000  # passes, more than any run has
# Smaller than windows for shuffling: 16 MiB are 16 reads of a megabyte.
_SMALLER = 4
# The first window of larger records is read in parts that end at these 16ths of its records, so
# the first batch need not wait for all of it.
_PARTS = np.array([0, 1, 16])
_LARGE_BYTES = 1 << 14


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Choice and order of the records to read."""

    shuffle: bool = False  # False for the order in the files
    seed: int = 0
    window: int | None = None  # records to permute together; None for `shuffle_sizes`
    group: int | None = None  # shards to read together, 0 for all; None for `shuffle_sizes`
    numbers: Any = None  # int64 [n], ascending: the only records to read, perhaps several times
    passes: int | None = 1  # over the data; None for endless
    first_record: int = 0  # records already used, over all passes of the first iteration
    share: WorkerShare | None = None  # this worker's part of each global batch; None for all of it
    deterministic: bool = True  # False lets records overtake each other when reading stalls

    @property
    def by_number(self) -> bool:
        """Whether records must be read by number: one pass from the first is not enough."""
        is_part = self.share is not None or self.numbers is not None
        return self.shuffle or self.passes != 1 or self.first_record > 0 or is_part


class RecordSource:
    """Serialized records of a split, as single elements or in batches.

    Elements are (record, key): `tf.string` [], and int64 [2], the pass from 0, for the n-th repeat
    of a record plus n million, and the record's number. The key is the only source of a record's
    randomness.

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
        reading: ReadOptions,
        images: KeptImages | None = None,
    ) -> None:
        # Gzip is unpacked before it is read by number, so it is avoided if possible.
        if not shards.compression or reading.by_number or images is not None:
            record_index, numbers = index(), reading.numbers
            num_records = record_index.num_records if numbers is None else len(numbers)
            self._windows = _windows(record_index, reading, images)
        else:
            self._windows = _streamed(shards)
        self._count = _count(num_records, reading)
        self._deterministic = reading.deterministic
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
        records = _with_cardinality(windows.unbatch(), self._count)
        return records.map(
            function, num_parallel_calls=PARALLEL_CALLS, deterministic=self._deterministic
        )

    def map_batches(
        self, function: Callable[[Any], Any], size: int, *, drop_remainder: bool
    ) -> tf.data.Dataset:
        """Map `function` over each batch of records, `tf.string` [b]."""
        count = self._count
        if count is not None and count != tf.data.INFINITE_CARDINALITY:
            count = count // size if drop_remainder else -(-count // size)
        records = self._windows.map(lambda records, _: records, num_parallel_calls=PARALLEL_CALLS)
        batches = records.rebatch(size, drop_remainder=drop_remainder)
        return _with_cardinality(batches, count).map(
            function, num_parallel_calls=PARALLEL_CALLS, deterministic=self._deterministic
        )


def _with_cardinality(dataset: tf.data.Dataset, count: int | None) -> tf.data.Dataset:
    if count is None:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(count))


def _count(num_records: int | None, reading: ReadOptions) -> int | None:
    """Return the number of records of an iteration; None if unknown or not always the same."""
    if reading.passes is None:
        return int(tf.data.INFINITE_CARDINALITY)
    if num_records is None:
        return None
    total = num_records * reading.passes
    if reading.first_record > total:
        raise ConfigError(
            f"first_record={reading.first_record} is beyond {reading.passes} pass(es) over "
            f"{num_records} records; give a smaller number, or more passes with repeat"
        )
    if reading.first_record:
        return None
    return total if reading.share is None else reading.share.num_held(total)


def shuffle_sizes(index: RecordIndex) -> tuple[int, int]:
    """Return the number of records per window, and of shards per group: 0 for all.

    Only shards of a store are read in groups.
    """
    files, num_shards = index.shards.plain, len(index.shards)
    group = group_size([*map(files.num_bytes, range(num_shards))]) if files.is_remote else 0
    parts = num_groups(num_shards, group)
    window = window_size(-(-index.num_records // parts), -(-index.num_bytes // parts))
    return window, group if parts > 1 else 0


class _Positions:
    """Choice of the records for each window of an iteration, from the first record of a run.

    Each iteration over a finite dataset continues the order with further passes, of which only the
    first iteration skips records. Iterations over an endless one are equal, since Keras reads a
    first batch before `fit`.
    """

    def __init__(self, index: RecordIndex, reading: ReadOptions) -> None:
        window, group = shuffle_sizes(index)
        window = reading.window or window
        group = group if reading.group is None else reading.group
        if not reading.shuffle:  # only the size of a read matters
            window = max(1, window // _SMALLER)
        lengths = index.shard_lengths
        if reading.numbers is not None:
            lengths = np.bincount(index.shard_of(reading.numbers), minlength=len(lengths))
        seed = reading.seed if reading.shuffle else None
        self._order = Order(lengths, seed=seed, window=window, group=group)
        self._reading = reading
        self._files = index.shards.plain
        # Those of one group are copied while those of the one before are read.
        held = 2 * -(-len(lengths) // num_groups(len(lengths), group))
        sizes = map(self._files.num_bytes, range(len(lengths)))
        self.fits = self._files.fits(sum(sorted(sizes)[-held:]))
        is_large = index.num_bytes > _LARGE_BYTES * index.num_records
        self._parts = _PARTS if is_large else _PARTS[[0, -1]]
        self._last_part = len(self._parts) - 2
        self._iterations = itertools.count()

    def begin(self, _: Any) -> Any:
        """Start an iteration.

        Returns:
            Its first pass, its first window from that pass, its number of reads, the records that
            it skips, and those that it has.
        """
        order, passes = self._order, self._reading.passes
        iteration = next(self._iterations) if passes else 0
        first_pass = iteration * (passes or 0)
        skipped = 0 if iteration else self._reading.first_record
        whole, rest = divmod(skipped, order.num_records)
        first = whole * order.num_windows + order.find(first_pass + whole, rest)
        total = end = _FOREVER
        if passes is not None:
            total = passes * order.num_records - skipped
            end = passes * order.num_windows - first + self._last_part if total else 0
        return np.array([first_pass, first, end, skipped, total], np.int64)

    def keys(self, start: Any, count: Any) -> Any:
        """Return the keys of a read, int64 [n, 2]: a window, or a part of the first one.

        `start` is the result of `begin`, and `count` the number of the read, from 0.
        """
        order, reading = self._order, self._reading
        first_pass, first, end, skipped, total = start.tolist()
        number = first + max(0, int(count) - self._last_part)
        self._fetch_ahead(first_pass, number, first + end - self._last_part)
        passes, number = divmod(number, order.num_windows)
        position, keys = order.window(first_pass + passes, number)
        since = passes * order.num_records + position - skipped
        positions = since + np.arange(len(keys))
        chosen = positions >= 0
        if reading.share is not None:
            chosen &= reading.share.holds(positions, total)
        keys = keys[chosen]
        if reading.numbers is not None:
            places = keys[:, 1]
            numbers = reading.numbers[places]
            # A repeat has a key of its own, as if of a later pass.
            repeats = places - np.searchsorted(reading.numbers, numbers)
            keys = np.stack([keys[:, 0] + _REPEAT * repeats, numbers], -1)
        if count <= self._last_part:
            keys = keys[slice(*len(keys) * self._parts[count : count + 2] // self._parts[-1])]
        return keys

    def _fetch_ahead(self, first_pass: int, number: int, end: int) -> None:
        """Copy the next group's shards, once the group before this one has been read.

        `number` and `end` are those of this window and of the last one, from the first pass.
        """

        def shards(window: int) -> list[int]:
            passes, in_pass = divmod(window, self._order.num_windows)
            of_group: list[int] = self._order.shards(first_pass + passes, in_pass).tolist()
            return of_group

        windows = self._order.windows_per_group
        following = number - 1 + windows
        if self.fits and number % windows == 1 and following < end:
            self._files.paths(shards(number))  # marks these copies as used after all before
            self._files.fetch_ahead(shards(following))


def _windows(
    index: RecordIndex, reading: ReadOptions, images: KeptImages | None
) -> tf.data.Dataset:
    """Read records in order in batches, with keys: `tf.string` [n], int64 [n, 2]."""
    if not (index.num_records if reading.numbers is None else len(reading.numbers)):
        return tf.data.Dataset.from_tensors(
            (tf.constant([], tf.string), tf.zeros([0, 2], tf.int64))
        )
    positions = _Positions(index, reading)
    reader = RecordReader(index)
    windows = WindowReader(index, reader.read, by_path=positions.fits)

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

        return windows.windows(counts, positions.keys, start)

    return tf.data.Dataset.from_tensors(tf.constant(0, tf.int64)).flat_map(iteration)


def _streamed(shards: ShardFiles) -> tf.data.Dataset:
    """Read gzip files once from the start: `tf.string` [n], int64 [n, 2]."""

    def read() -> Iterator[tuple[Any, Any]]:
        first = 0
        for number in range(len(shards)):
            for records in shard_files.windows(shards.files, number, shards.compression):
                keys = np.zeros((len(records), 2), np.int64)
                keys[:, 1] = first + np.arange(len(records))
                yield np.array(records, object), keys
                first += len(records)

    spec = tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2], tf.int64)
    return tf.data.Dataset.from_generator(read, output_signature=spec).prefetch(1)


def _read_ahead(read: Callable[..., Any], counts: tf.data.Dataset, start: Any) -> tf.data.Dataset:
    """Map the numbers of reads by `read`, with their keys: `tf.string` [n], int64 [n, 2]."""

    def window(count: Any) -> tuple[Any, Any]:
        # Not stateful: a deterministic run would read windows one by one instead of ahead.
        records, keys = tf.numpy_function(
            read, [start, count], [tf.string, tf.int64], stateful=False
        )
        return tf.ensure_shape(records, [None]), tf.ensure_shape(keys, [None, 2])

    return counts.map(window, num_parallel_calls=1, deterministic=True)  # in the background
