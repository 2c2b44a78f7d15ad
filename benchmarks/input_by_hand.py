"""Typical hand-written tf.data chains, the baseline of input.py."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from input_records import encoded_images

AUTOTUNE = tf.data.AUTOTUNE
PASSES = 4
WINDOW = 2048
_SEED = 3


def by_hand(
    files: list[str],
    function: Callable[[Any], Any],
    batch_size: int,
    *,
    shuffle: bool = True,
    in_batches: bool = False,
) -> tf.data.Dataset:
    """The usual chain; `function` maps a record, or a batch of records."""
    if shuffle:
        shards = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
        records = shards.interleave(
            lambda file: tf.data.TFRecordDataset(file, buffer_size=1 << 20),
            cycle_length=len(files),
            block_length=16,
            num_parallel_calls=AUTOTUNE,
        )
        records = records.shuffle(WINDOW).repeat(PASSES)
    else:
        records = tf.data.TFRecordDataset(files, buffer_size=1 << 20)
    if in_batches:
        return records.batch(batch_size).map(function, AUTOTUNE).prefetch(AUTOTUNE)
    return records.map(function, AUTOTUNE).batch(batch_size).prefetch(AUTOTUNE)


def read_photograph(size: int, crop: bool) -> Callable[[Any], Any]:
    """Parse, crop while decoding, shrink with antialiasing, mirror; uint8 like ours."""
    spec = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }

    def read(record: Any) -> Any:
        parsed = tf.io.parse_single_example(record, spec)
        encoded = parsed["image/encoded"]
        if crop:
            shape = tf.image.extract_jpeg_shape(encoded)
            begin, extent, _ = tf.image.sample_distorted_bounding_box(
                shape,
                tf.zeros([1, 0, 4]),
                _SEED,
                area_range=(0.25, 1.0),
                use_image_if_no_bounding_boxes=True,
            )
            window = tf.stack([begin[0], begin[1], extent[0], extent[1]])
            image = tf.io.decode_and_crop_jpeg(encoded, window, channels=3)
        else:
            image = tf.io.decode_jpeg(encoded, channels=3)
        image = tf.image.resize(image, [size, size], antialias=True)
        image = tf.cast(tf.round(image), tf.uint8)
        if crop:
            image = tf.image.random_flip_left_right(image)
        return {"image": image, "label": parsed["image/class/label"]}

    return read


def read_plainly(record: Any) -> Any:
    """Resize as in tutorials: bilinear, which skips pixels when an image shrinks."""
    parsed = tf.io.parse_single_example(
        record,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.io.decode_jpeg(parsed["image/encoded"], channels=3)
    image = tf.image.resize(image, [224, 224]) / 255.0
    return {"image": image, "label": parsed["image/class/label"]}


def decode_alone(files: list[str]) -> tf.data.Dataset:
    """Decoding only: one pixel per JPEG, [64, 3]."""
    return (
        tf.data.Dataset.from_tensor_slices([image for _, image in encoded_images(files)])
        .repeat(PASSES)
        .map(lambda data: tf.io.decode_jpeg(data, channels=3)[0, 0], AUTOTUNE)
        .batch(64)
        .prefetch(AUTOTUNE)
    )


def parse_table(batch: Any) -> Any:
    spec = {
        **{f"count_{n:02}": tf.io.FixedLenFeature([], tf.int64) for n in range(25)},
        **{f"size_{n:02}": tf.io.FixedLenFeature([], tf.float32) for n in range(25)},
    }
    return tf.io.parse_example(batch, spec)


def parse_sequences(batch: Any) -> Any:
    spec = {
        "tokens": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    parsed = tf.io.parse_example(batch, spec)
    return {**parsed, "tokens": parsed["tokens"].to_tensor(0)}


def parse_small(batch: Any) -> Any:
    spec = {
        "width": tf.io.FixedLenFeature([], tf.float32),
        "height": tf.io.FixedLenFeature([], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    return tf.io.parse_example(batch, spec)
