"""The whole input pipeline, from shards to batches.

The order of the records is a pure function of (seed, pass over the data). So a training
run that knows how many records it has used can continue with the next one, without a stored
shuffle buffer. TensorFlow's global seed does not matter.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from trainer import padding, parsing
from trainer.batching import Batching
from trainer.errors import ConfigError
from trainer.features import Feature

# Sixteen shards at once, sixteen records at a time: with a buffer of 2,048 a pair of records
# meets again in a later pass 2.8x as often as by chance, and small records are read 2x as fast
# as with block length 1.
_CYCLE_LENGTH = 16
_BLOCK_LENGTH = 16
_READ_BUFFER_BYTES = 1 << 20
_FOREVER = (1 << 63) - 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """The files of one split.

    Attributes:
        files: Paths.
        compression: "" or "GZIP".
        num_records: Over all files; None if they have not been counted.
    """

    files: tuple[str, ...]
    compression: str = ""
    num_records: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which records are read, and in which order.

    Attributes:
        shuffle: Another order in each pass; otherwise the order in the files.
        seed: Decides the order.
        buffer_size: Records in the shuffle buffer, which is filled, emptied in random order,
            and filled again.
        passes: Passes over the data; None for endless.
        first_record: Records already used, counted over all passes; needs `num_records`.
        deterministic: False lets records overtake each other when reading stalls.
    """

    shuffle: bool = False
    seed: int = 0
    buffer_size: int = 2048
    passes: int | None = 1
    first_record: int = 0
    deterministic: bool = True

    def __post_init__(self) -> None:
        if self.passes is not None and self.passes < 1:
            raise ConfigError(
                f"repeat={self.passes} is not a number of passes; repeat=True is endless"
            )
        if self.first_record < 0:
            raise ConfigError(f"first_record={self.first_record} is negative; give 0 or more")


def batches(
    shards: Shards,
    features: Sequence[Feature],
    order: Order,
    decoding: parsing.Decoding,
    batching: Batching,
    arrange: Callable[[parsing.Tensors], Any],
    misfit: str,
) -> tf.data.Dataset:
    """The dataset of batches, each arranged by `arrange`.

    Args:
        shards: Where the records are.
        features: The features to read.
        order: Which records are read, and in which order.
        decoding: How images and audio are decoded.
        batching: How records become batches.
        arrange: Makes an element of the dataset from tensors by name.
        misfit: The text of TensorFlow's error for a record that does not fit `features`.
    """
    parse = parsing.parser(features, decoding, misfit)
    records = serialized_records(shards, order)  # bytes

    def single(record: Any) -> parsing.Tensors:
        return padding.fit(parse(record), batching)

    if batching.size is None:
        elements = records.map(
            lambda record: arrange(single(record)), num_parallel_calls=tf.data.AUTOTUNE
        )
    elif parsing.reads_batches(features) and batching.buckets is None:
        serialized = records.batch(batching.size, drop_remainder=batching.drop_remainder)
        elements = serialized.map(
            lambda batch: arrange(padding.to_dense(parse(batch), batching)),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
    else:
        decoded = records.map(  # ({name: […]}, {ragged name: length})
            lambda record: padding.measure(single(record), batching),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
        elements = padding.batch(decoded, batching).map(
            lambda columns, lengths: arrange(padding.to_ragged(columns, lengths))
        )
    options = tf.data.Options()
    options.deterministic = order.deterministic
    return elements.with_options(options).prefetch(tf.data.AUTOTUNE)


def serialized_records(shards: Shards, order: Order) -> tf.data.Dataset:
    """The serialized records, pass after pass, from the first record of `order`."""
    first_pass, skipped = 0, 0
    if order.first_record:
        assert shards.num_records, "a position needs the number of records"
        first_pass, skipped = divmod(order.first_record, shards.num_records)
        if order.passes is not None and order.first_record > shards.num_records * order.passes:
            raise ConfigError(
                f"first_record={order.first_record} is beyond {order.passes} pass(es) over "
                f"{shards.num_records} records; give a smaller number, or more passes by repeat"
            )
    end = _FOREVER if order.passes is None else order.passes
    records = tf.data.Dataset.range(first_pass, end).flat_map(
        lambda pass_number: _one_pass(shards, order, pass_number)
    )
    if order.passes is None:
        records = records.apply(
            tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        )
    elif shards.num_records is not None:
        count = shards.num_records * (order.passes - first_pass)
        records = records.apply(tf.data.experimental.assert_cardinality(count))
    return records.skip(skipped) if skipped else records


def _one_pass(shards: Shards, order: Order, pass_number: Any) -> tf.data.Dataset:
    if not order.shuffle:
        return tf.data.TFRecordDataset(
            list(shards.files), shards.compression, buffer_size=_READ_BUFFER_BYTES
        )
    seed = tf.stack([tf.constant(order.seed, tf.int64), pass_number])
    files = tf.random.experimental.stateless_shuffle(tf.constant(shards.files), seed)
    cycle_length = min(_CYCLE_LENGTH, len(shards.files))
    records = tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: tf.data.TFRecordDataset(
            file, shards.compression, buffer_size=_READ_BUFFER_BYTES
        ),
        cycle_length=cycle_length,
        block_length=_BLOCK_LENGTH,
        num_parallel_calls=cycle_length,
        deterministic=order.deterministic,
    )
    windows = records.batch(order.buffer_size).enumerate()  # (number, bytes [≤ buffer size])
    # Not `Dataset.shuffle`: its order also depends on TensorFlow's global seed.
    return windows.map(
        lambda number, window: tf.random.experimental.stateless_shuffle(
            window, tf.random.experimental.stateless_fold_in(seed, number)
        )
    ).unbatch()


def with_mask(batches: tf.data.Dataset, size: int) -> tf.data.Dataset:
    """Adds a mask, float32 [size], to each batch, and pads a short batch to `size`.

    The mask is 1 for records and 0 for padding, so that every replica gets a part of the last
    batch and each record still counts exactly once.
    """

    def fill(*batch: Any) -> tuple[Any, ...]:
        length = tf.shape(tf.nest.flatten(batch)[0])[0]

        def pad(tensor: Any) -> Any:
            missing = [[0, size - length]] + [[0, 0]] * (len(tensor.shape) - 1)
            if tensor.dtype == tf.string:
                padded = tf.pad(tensor, missing, constant_values="")
            else:
                padded = tf.pad(tensor, missing)
            return tf.ensure_shape(padded, [size, *tensor.shape[1:]])

        mask = tf.cast(tf.range(size) < length, tf.float32)
        return (*tf.nest.map_structure(pad, batch), mask)

    return batches.map(fill)
