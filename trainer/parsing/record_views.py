"""Applies one view of a record to its images, maps, boxes and keypoints."""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.autograph import converted
from trainer.errors import ConfigError
from trainer.parsing.images import Image
from trainer.parsing.reader import Augment, Decoding, Reader, Tensors
from trainer.tensors import Tensor
from trainer.views import View, draw, whole
from trainer.views.pixels import as_dtype


def record_seed(seed: int, key: Tensor) -> Tensor:
    """Return a record's seed in a pass, int64 [2], from its key (pass, number)."""
    return tf.cast(key, tf.int64) * tf.constant([1 << 32, 1], tf.int64) + tf.constant(
        [seed, 0], tf.int64
    )


def read_record(
    features: Sequence[Feature],
    parsed: Tensors,
    decoding: Decoding,
    seed: Tensor,
    reader: Callable[[Feature], Reader],
    stored: Tensors | None = None,
) -> Tensors:
    """Decode the outputs of one record with views and augmentation.

    Args:
        features: Features of the record.
        parsed: Tensors from `tf.io.parse_example`.
        decoding: Options with views or augmentation.
        seed: Seed of the record in this pass, int64 [2].
        reader: Returns the reader of a feature.
        stored: Images by name from `decode_stored`; None decodes them here.
    """
    images, others = _images_and_others([(each, reader(each)) for each in features])
    decoded: Tensors = {}
    for feature, of_other in others:
        decoded |= of_other.decode(feature, parsed, decoding)
    boxes = [decoded[each.name] for each in features if each.kind == "boxes"]
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
    return decoded if view is None else _seen(others, decoded, decoding, view)


def _seen(
    readers: Sequence[tuple[Feature, Reader]], decoded: Tensors, decoding: Decoding, view: View
) -> Tensors:
    """Apply the view to a record's other outputs after its images."""
    for feature, of in readers if decoding.views is not None else ():
        decoded |= of.see(feature, decoded, decoding, view)
    return decoded


def _images_and_others(
    readers: Sequence[tuple[Feature, Reader]],
) -> tuple[list[tuple[Feature, Image]], list[tuple[Feature, Reader]]]:
    """Split readers into images and others; the view is drawn for the first image, not its map."""
    images = [(each, of) for each, of in readers if isinstance(of, Image)]
    others = [(each, of) for each, of in readers if not isinstance(of, Image)]
    return sorted(images, key=lambda each: each[1].nearest), others


def _augmented(augment: Augment, image: Tensor, seed: Tensor) -> Tensor:
    if image.dtype == tf.uint16:
        image = tf.cast(image // 257, tf.uint8)
    changed = converted(augment)(image, tf.random.experimental.stateless_fold_in(seed, 2))
    is_tensor = isinstance(changed, tf.Tensor)
    if (
        not is_tensor
        or changed.dtype != tf.uint8
        or not changed.shape.is_compatible_with(image.shape)
    ):
        shown = f"{changed.dtype.name} {changed.shape}" if is_tensor else repr(changed)
        raise ConfigError(
            f"augment returns {shown}; return an image of the same kind, uint8 {image.shape}"
        )
    return tf.ensure_shape(changed, image.shape)


def decode_stored(
    images: Sequence[Feature],
    parsed: Tensors,
    decoding: Decoding,
    reader: Callable[[Feature], Reader],
) -> Tensors:
    """Decode whole images at `decoding.image_size` by name, uint8 [height, width, channels]."""
    whole_image = dataclasses.replace(decoding, image_dtype="uint8", views=None, augment=None)
    stored: Tensors = {}
    for feature in images:
        stored |= reader(feature).decode(feature, parsed, whole_image)
    return stored
