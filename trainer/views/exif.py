"""Exif orientation of photographs, applied in TensorFlow's graph."""

import tensorflow as tf

from trainer.tensors import Tensor

# The segment is near the start, and not longer than this.
_HEAD_BYTES = 1 << 16
_ORIENTATION = 0x0112
_MOST_ENTRIES = 512
_ENTRY_BYTES = 12


def upright(encoded: Tensor) -> Tensor:
    """Re-encode an image as an upright PNG if it has an Exif orientation (scalar strings)."""
    orientation = tf.cond(
        tf.io.is_jpeg(encoded), lambda: exif_orientation(encoded), lambda: tf.constant(1)
    )
    return tf.cond(
        orientation == 1,
        lambda: encoded,
        lambda: tf.io.encode_png(_turned(tf.io.decode_jpeg(encoded, channels=3), orientation)),
    )


def exif_orientation(encoded: Tensor) -> Tensor:
    """Return the Exif orientation of a JPEG: int32 in 1..8, 1 if it has none.

    https://www.cipa.jp/std/documents/download_e.html?DC-008-Translation-2023-E, sections 4.5 and
    4.6.5.
    """
    raw = tf.io.decode_raw(tf.strings.substr(encoded, 0, _HEAD_BYTES), tf.uint8)
    head = tf.pad(tf.cast(raw, tf.int32), [[0, 16]])
    name = b"Exif\0\0"
    length = tf.size(head) - len(name)
    is_here = tf.reduce_all(
        [head[place : place + length] == byte for place, byte in enumerate(name)], axis=0
    )
    start = tf.argmax(is_here, output_type=tf.int32) + len(name)
    is_little = head[start] == ord("I")  # "II" or "MM"

    def number(places: Tensor, size: int) -> Tensor:
        """Whole numbers of `size` bytes at offsets [...] from the header."""
        at = start + places[..., None] + tf.range(size)
        values = tf.gather(head, tf.clip_by_value(at, 0, tf.size(head) - 1))
        powers = tf.constant([256**power for power in range(size)])
        return tf.reduce_sum(values * tf.where(is_little, powers, powers[::-1]), axis=-1)

    directory = number(tf.constant(4), 4)
    count = tf.clip_by_value(number(directory, 2), 0, _MOST_ENTRIES)
    entries = directory + 2 + _ENTRY_BYTES * tf.range(count)
    stated = tf.where(number(entries, 2) == _ORIENTATION, number(entries + 8, 2), 0)
    orientation = tf.reduce_max(tf.concat([stated, [0]], axis=0))
    is_valid = tf.reduce_any(is_here) & (orientation >= 1) & (orientation <= 8)
    return tf.where(is_valid, orientation, 1)


def _turned(image: Tensor, orientation: Tensor) -> Tensor:
    """Rotate uint8 [height, width, 3] upright."""
    image = tf.cond(orientation >= 5, lambda: tf.transpose(image, [1, 0, 2]), lambda: image)
    mirrored = tf.reduce_any(orientation == [2, 3, 6, 7])
    image = tf.cond(mirrored, lambda: image[:, ::-1], lambda: image)
    upside_down = tf.reduce_any(orientation == [3, 4, 7, 8])
    return tf.cond(upside_down, lambda: image[::-1], lambda: image)
