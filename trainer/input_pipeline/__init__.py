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
from trainer.errors import ConfigError, UnknownNameError
from trainer.image_cache import KeptImages
from trainer.input_pipeline import padding
from trainer.input_pipeline.padding import Batching
from trainer.input_pipeline.record_source import PARALLEL_CALLS, ReadOptions, RecordSource
from trainer.parsing import Output, Tensors
from trainer.tensors import unconverted


@unconverted
def batches(
    shards: ShardFiles,
    num_records: int | None,
    index: Callable[[], RecordIndex],
    features: Sequence[Feature],
    reading: ReadOptions,
    decoding: parsing.Decoding,
    batching: Batching,
    arrange: Callable[[parsing.Tensors], Any],
    misfit: str,
    images: KeptImages | None = None,
) -> tf.data.Dataset:
    """Make the dataset of batches.

    Args:
        shards, num_records, index, reading, images: As for `RecordSource`.
        features: Features to read.
        decoding: Options to decode images and audio.
        batching: Options to form batches.
        arrange: Makes an element of the dataset from tensors by name.
        misfit: Text of TensorFlow's error for a record that does not fit `features`.
    """
    parse = parsing.parser(features, decoding, misfit)
    records = RecordSource(shards, num_records, index, reading, images)  # (bytes, key)

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
            deterministic=reading.deterministic,
        )
    return _shardable(elements.prefetch(tf.data.AUTOTUNE), is_part=reading.share is not None)


def _shardable(elements: tf.data.Dataset, *, is_part: bool) -> tf.data.Dataset:
    """Let several workers of `tf.distribute` read every record once.

    By default TensorFlow divides the files that it finds in the graph: two workers got 278 of 375
    records, 102 of them twice. By data, each worker keeps its part of every batch. What is already
    one worker's part must not be divided again.
    """
    policy = tf.data.experimental.AutoShardPolicy
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy.OFF if is_part else policy.DATA
    return elements.with_options(options)


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


_WEIGHT_DTYPES = (tf.int64, tf.float32)


def arranger(
    outputs: Sequence[Output],
    target: str | Sequence[str] | None,
    sample_weight: str | None,
) -> Callable[[Tensors], Any]:
    """Make the function from outputs by name to the elements of `Dataset.batches`.

    Raises:
        UnknownNameError: An output does not exist.
        ConfigError: No input is left, the weight is not one number per record, or a weight has no
            target.
    """
    if target is None:
        if sample_weight is not None:
            raise ConfigError(f"{sample_weight=} needs a target to weight; add target=")
        return lambda by_name: by_name
    features = {output.name: output.feature.name for output in outputs}
    targets = [target] if isinstance(target, str) else list(target)
    for name in targets:
        if name not in features:
            raise UnknownNameError("output for the target", name, features)
    if sample_weight is not None:
        _check_weight(sample_weight, targets, outputs)
    predicted = {features[name] for name in targets}
    inputs = [
        name
        for name, feature in features.items()
        if feature not in predicted and name != sample_weight
    ]
    if not inputs:
        raise ConfigError(f"{target=} leaves no input; choose more features")
    renamed = {name: name for name in targets}
    if isinstance(target, str):
        parts = [name for name, feature in features.items() if feature == target]
        renamed = _short_names(target, parts) if len(parts) > 1 else {}

    def arrange(by_name: Tensors) -> Any:
        chosen = {name: by_name[name] for name in inputs}
        elements = {short: by_name[name] for name, short in renamed.items()}
        pair = (chosen[inputs[0]] if len(inputs) == 1 else chosen, elements or by_name[targets[0]])
        if sample_weight is None:
            return pair
        return (*pair, tf.cast(by_name[sample_weight], tf.float32))

    return arrange


def _short_names(feature: str, outputs: Sequence[str]) -> dict[str, str]:
    """Name the parts of a target: `boxes` and `box_labels` become "boxes" and "labels"."""
    prefix = "box_" if feature == "boxes" else f"{feature}_"
    short = {name: name.removeprefix(prefix) for name in outputs}
    return {**short, feature: "boxes"} if feature in short else short


def _check_weight(name: str, targets: Sequence[str], outputs: Sequence[Output]) -> None:
    numbers = [
        output.name
        for output in outputs
        if output.shape == () and output.dtype in _WEIGHT_DTYPES and output.name not in targets
    ]
    if name not in numbers:
        raise UnknownNameError("number per record for sample_weight", name, numbers)
