"""One view of a record, applied alike to its images, maps, boxes and keypoints."""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from tfrecord_dataset.feature import Feature
from trainer.parsing.images import Image
from trainer.parsing.reader import Decoding, Reader, Tensors
from trainer.tensors import Tensor
from trainer.views import View, draw, whole
from trainer.views.pixels import as_dtype


def record_seed(seed: int, key: Tensor) -> Tensor:
    """The seed of a record in a pass, int64 [2], from its key (pass, number)."""
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
    """The outputs of one record, seen and augmented as `decoding` says.

    Args:
        features: Of the record.
        parsed: By `tf.io.parse_example`.
        decoding: With views or augmentation.
        seed: Of the record in this pass, int64 [2].
        reader: Of a feature.
        stored: The images by name as `decode_stored` makes them; None decodes them here.
    """
    decoded: Tensors = {}
    readers = [(each, reader(each)) for each in features]
    images = [(each, of) for each, of in readers if isinstance(of, Image)]
    images.sort(key=lambda each: each[1].nearest)  # the view is drawn of an image, not of its map
    others = [(each, of) for each, of in readers if not isinstance(of, Image)]
    for feature, of_other in others:
        decoded |= of_other.decode(feature, parsed, decoding)
    boxes = [each for each in features if each.kind == "boxes"]
    around = tf.concat([decoded[each.name] for each in boxes], axis=0) if boxes else None
    view: View | None = None
    for place, (feature, of) in enumerate(images):
        image, view = _read_image(
            of, feature, parsed, stored or {}, decoding, seed, around, view, place == 0
        )
        decoded |= image
    if view is not None and decoding.views is not None:
        for feature, of_other in others:
            decoded |= of_other.see(feature, decoded, decoding, view)
    return decoded


def decode_stored(
    images: Sequence[Feature],
    parsed: Tensors,
    decoding: Decoding,
    reader: Callable[[Feature], Reader],
) -> Tensors:
    """Whole images at `decoding.stored_size` by name, uint8 [height, width, channels]."""
    whole_image = dataclasses.replace(
        decoding, image_size=decoding.stored_size, image_dtype="uint8", views=None, augment=None
    )
    stored: Tensors = {}
    for feature in images:
        stored |= reader(feature).decode(feature, parsed, whole_image)
    return stored


def _read_image(
    reader: Image,
    feature: Feature,
    parsed: Tensors,
    stored: Tensors,
    decoding: Decoding,
    seed: Tensor,
    boxes: Tensor | None,
    first: View | None,
    is_first: bool,
) -> tuple[Tensors, View | None]:
    """The image at the record's view, which the first image draws, augmented if it is the first."""

    def choose(image: Tensor) -> View:
        if decoding.views is None:
            return whole(image)
        if first is not None:
            return first.on(image)
        return draw(decoding.views, seed, image, boxes, decoding.letterbox)

    augment = decoding.augment if is_first else None
    pixels = dataclasses.replace(decoding, image_dtype="uint8") if augment else decoding
    view: View | None = None
    if decoding.image_size is None:
        outputs = reader.decode(feature, parsed, pixels)
    elif feature.name not in stored:
        outputs, view = reader.decode_view(feature, parsed, pixels, choose)
    else:
        view = choose(tf.constant(decoding.stored_size))
        outputs = {feature.name: reader.see_pixels(view, stored[feature.name], pixels)}
    if augment is not None:
        image = outputs[feature.name]
        if image.dtype == tf.uint16:
            image = tf.cast(image // 257, tf.uint8)
        augmented = augment(image, tf.random.experimental.stateless_fold_in(seed, 2))
        augmented = tf.ensure_shape(augmented, image.shape)
        outputs |= {feature.name: as_dtype(augmented, decoding.image_dtype)}
    return outputs, view
