"""Input pipeline from records to batches.

The order of the records is a pure function of (seed, pass over the data), and each record comes
with its pass and number. A training run therefore continues from the number of records used,
without a stored shuffle buffer. TensorFlow's global seed has no influence.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.shard_files import ShardFiles
from trainer import parsing
from trainer.autograph import unconverted
from trainer.image_cache import KeptImages
from trainer.input_pipeline import padding
from trainer.input_pipeline.padding import Batching
from trainer.input_pipeline.record_source import PARALLEL_CALLS, Reading, Records


@unconverted
def batches(
    shards: ShardFiles,
    num_records: int | None,
    index: Callable[[], RecordIndex],
    features: Sequence[Feature],
    reading: Reading,
    decoding: parsing.Decoding,
    batching: Batching,
    arrange: Callable[[parsing.Tensors], Any],
    misfit: str,
    images: KeptImages | None = None,
) -> tf.data.Dataset:
    """Make the dataset of batches.

    Args:
        shards, num_records, index, reading, images: As for `Records`.
        features: Features to read.
        decoding: Options to decode images and audio.
        batching: Options to form batches.
        arrange: Makes an element of the dataset from tensors by name.
        misfit: Text of TensorFlow's error for a record that does not fit `features`.
    """
    parse = parsing.parser(features, decoding, misfit)
    records = Records(shards, num_records, index, reading, images)  # (bytes, key)

    def single(record: Any, key: Any, *found: Any) -> parsing.Tensors:
        recalled = () if images is None else (images.recall(key, *found),)
        return padding.fit(parse(record, key, *recalled), batching)

    if batching.size is None:
        elements = records.map(lambda *record: arrange(single(*record)))
    elif parsing.reads_batches(features):
        elements = records.map_batches(
            lambda batch: arrange(padding.to_dense(parse(batch), batching)),
            batching.size,
            drop_remainder=batching.drop_remainder,
        )
    else:
        decoded = records.map(  # ({name: […]}, {ragged name: length})
            lambda *record: padding.measure(single(*record), batching)
        )
        elements = padding.batch(decoded, batching).map(
            lambda columns, lengths: arrange(padding.to_ragged(columns, lengths)),
            num_parallel_calls=PARALLEL_CALLS,
        )
    if batching.drop_remainder and records.num_shared_batches is not None:
        # In an incomplete last batch, some workers may still have their whole part.
        elements = elements.take(records.num_shared_batches)
    options = tf.data.Options()
    options.deterministic = reading.deterministic
    # Autotuning slowed five of seven passes over small records 1.7 times (TensorFlow 2.21).
    options.autotune.enabled = False
    # TensorFlow's own sharding gave two workers 278 of 375 records, 102 of them twice.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return elements.with_options(options).prefetch(tf.data.AUTOTUNE)


@unconverted
def with_mask(batches: tf.data.Dataset, size: int) -> tf.data.Dataset:
    """Add a mask, float32 [size], to each batch, and pad a short batch to `size`.

    The mask is 1 for records and 0 for padding, so that every replica gets a part of the last
    batch and each record still counts exactly once.
    """

    def fill(*batch: Any) -> tuple[Any, ...]:
        length = tf.shape(tf.nest.flatten(batch)[0])[0]

        def pad(tensor: Any) -> Any:
            missing = [[0, size - length]] + [[0, 0]] * (len(tensor.shape) - 1)
            fill = tf.zeros([], tensor.dtype)  # "" for strings
            padded = tf.pad(tensor, missing, constant_values=fill)
            return tf.ensure_shape(padded, [size, *tensor.shape[1:]])

        mask = tf.cast(tf.range(size) < length, tf.float32)
        return (*tf.nest.map_structure(pad, batch), mask)

    return batches.map(fill, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
