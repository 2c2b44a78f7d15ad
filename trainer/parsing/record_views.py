"""Applies one view of a record to its images, maps, boxes and keypoints."""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError
from trainer.parsing.images import Image
from trainer.parsing.reader import Augment, Decoding, Reader, Tensors
from trainer.tensors import Tensor, converted
from trainer.views import View, draw, whole
from trainer.views.pixels import as_dtype

# Features with their readers.
Readers = Sequence[tuple[Feature, Reader]]


def record_seed(seed: int, key: Tensor) -> Tensor:
    """Return a record's seed in a pass, int64 [2], from its key (pass, number)."""
    return tf.cast(key, tf.int64) * tf.constant([1 << 32, 1], tf.int64) + tf.constant(
        [seed, 0], tf.int64
    )


def decode_all(readers: Readers, parsed: Tensors, decoding: Decoding) -> Tensors:
    """Decode the outputs of all features by name, without views and augmentation."""
    decoded: Tensors = {}
    for feature, reader in readers:
        decoded |= reader.decode(feature, parsed, decoding)
    return decoded


def read_record(
    readers: Readers,
    parsed: Tensors,
    decoding: Decoding,
    seed: Tensor,
    stored: Tensors | None = None,
) -> Tensors:
    """Decode the outputs of one record with the views or augmentation of `decoding`.

    `seed` is that of `record_seed`; `stored` are images of `decode_stored`, or None to decode them.
    """
    images = [(each, of) for each, of in readers if isinstance(of, Image)]
    images.sort(key=lambda each: each[1].nearest)  # draw the view for an image, not its map
    others = [(each, of) for each, of in readers if not isinstance(of, Image)]
    decoded = decode_all(others, parsed, decoding)
    boxes = [decoded[each.name] for each, _ in readers if each.kind == "boxes"]
    around = tf.concat(boxes, axis=0) if boxes else None
    view: View | None = None

    def choose(image: Tensor) -> View:
        """Draw the record's view for its first image."""
        if decoding.views is None:
            return whole(image)
        if view is not None:
            return view.on(image)
        return draw(decoding.views, seed, image, around, decoding.letterbox)

    for place, (feature, of) in enumerate(images):
        augment = decoding.augment if place == 0 else None
        pixels = dataclasses.replace(decoding, image_dtype="uint8") if augment else decoding
        if decoding.image_size is None:
            outputs = of.decode(feature, parsed, pixels)
        elif stored is None or feature.name not in stored:
            outputs, view = of.decode_view(feature, parsed, pixels, choose)
        else:
            view = choose(tf.constant(decoding.image_size))
            outputs = {feature.name: of.see_pixels(view, stored[feature.name], pixels)}
        if augment is not None:
            changed = _augmented(augment, outputs[feature.name], seed)
            outputs |= {feature.name: as_dtype(changed, decoding.image_dtype)}
        decoded |= outputs
    if view is not None and decoding.views is not None:
        for feature, of_other in others:
            decoded |= of_other.see(feature, decoded, decoding, view)
    return decoded


def _augmented(augment: Augment, image: Tensor, seed: Tensor) -> Tensor:
    if image.dtype == tf.uint16:
        image = tf.cast(image // 257, tf.uint8)
    changed = converted(augment)(image, tf.random.experimental.stateless_fold_in(seed, 2))
    is_tensor = isinstance(changed, tf.Tensor)
    is_image = is_tensor and changed.dtype == tf.uint8
    if not is_image or not changed.shape.is_compatible_with(image.shape):
        shown = f"{changed.dtype.name} {changed.shape}" if is_tensor else repr(changed)
        raise ConfigError(
            f"augment returns {shown}; return an image of the same kind, uint8 {image.shape}"
        )
    return tf.ensure_shape(changed, image.shape)


def decode_stored(readers: Readers, parsed: Tensors, decoding: Decoding) -> Tensors:
    """Decode whole images at `decoding.image_size` by name, uint8 [height, width, channels]."""
    whole_image = dataclasses.replace(decoding, image_dtype="uint8", views=None, augment=None)
    return decode_all(readers, parsed, whole_image)
