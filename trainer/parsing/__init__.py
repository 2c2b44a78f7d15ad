"""Parses serialized `tf.train.Example`s to tensors, with one small reader per kind of feature."""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError
from trainer.parsing.audio import AudioReader
from trainer.parsing.batch_readers import ClassLabelReader, Fixed, Raw, RowsReader
from trainer.parsing.boxes_reader import BoxesReader, FlatBoxesReader
from trainer.parsing.images import ImageReader, MapReader
from trainer.parsing.reader import Augment, Decoding, FeatureReader, Output, Tensors, specs_of
from trainer.tensors import Tensor, converted
from trainer.views import View, draw_view, whole_view
from trainer.views.pixels import as_dtype

__all__ = [
    "Augment",
    "Decoding",
    "Output",
    "Recall",
    "Tensors",
    "audio_of",
    "decode_batch",
    "images_of",
    "keepable",
    "outputs",
    "parse_specs",
    "parser",
    "reads_batches",
]

# Readers by kind and encoding.
_READERS: Mapping[tuple[str, str], FeatureReader] = {
    ("image", ""): ImageReader(),
    ("map", ""): MapReader(),
    ("audio", ""): AudioReader(),
    ("class_label", ""): ClassLabelReader(),
    ("boxes", ""): BoxesReader(),
    ("boxes", "flat"): FlatBoxesReader(padding=-1),
    ("scalar", ""): Fixed(),
    ("text", ""): Fixed(),
    ("bytes", ""): Fixed(),
    ("tensor", ""): Fixed(),
    ("tensor", "bytes"): Raw(),
    ("sequence", ""): RowsReader(),
}


# Returns cached images by name, or decodes missing ones with the given function.
Recall = Callable[[Callable[[], Tensors]], Tensors]


def _reader(feature: Feature) -> FeatureReader:
    return _READERS[feature.kind, feature.encoding]


def images_of(features: Sequence[Feature]) -> list[Feature]:
    """Select images, which are decoded at the requested size and view."""
    return [feature for feature in features if isinstance(_reader(feature), ImageReader)]


def audio_of(features: Sequence[Feature]) -> list[Feature]:
    """Select audio."""
    return [feature for feature in features if isinstance(_reader(feature), AudioReader)]


def keepable(features: Sequence[Feature]) -> list[Feature]:
    """Select features with cacheable pixels: images, and 8-bit maps."""
    return [image for image in images_of(features) if image.dtype == "uint8"]


def parse_specs(features: Sequence[Feature]) -> dict[str, Any]:
    """Return the `tf.io` specs of features by key.

    Raises:
        ConfigError: A dtype is not supported, or two features cannot be read together.
    """
    specs: dict[str, Any] = {}
    for feature in features:
        _reader(feature).outputs(feature, Decoding())  # checks its dtype
        for key, spec in specs_of(feature).items():
            if repr(specs.setdefault(key, spec)) != repr(spec):
                raise ConfigError(
                    f"feature {feature.name!r} reads key {key!r} differently from another feature; "
                    "read only one of them with features=[…]"
                )
    return specs


def reads_batches(features: Sequence[Feature]) -> bool:
    """Whether whole batches can be parsed at once, with 5-6x less work for plain columns."""
    return all(_reader(feature).reads_batches for feature in features)


def outputs(features: Sequence[Feature], decoding: Decoding) -> list[Output]:
    """Return the outputs of `features`, in order."""
    return [
        output for feature in features for output in _reader(feature).outputs(feature, decoding)
    ]


def decode_batch(features: Sequence[Feature], parsed: Tensors, decoding: Decoding) -> Tensors:
    """Decode a batch of `tf.io.parse_example` by name; outputs of varying length are ragged."""
    decoded: Tensors = {}
    for feature in features:
        reader = _reader(feature)
        if reader.reads_batches:
            decoded |= reader.decode(feature, parsed, decoding)
            continue
        specs = {
            output.name: tf.RaggedTensorSpec(output.shape, output.dtype, ragged_rank=0)
            if output.varies
            else tf.TensorSpec(output.shape, output.dtype)
            for output in reader.outputs(feature, decoding)
        }
        decoded |= tf.map_fn(
            functools.partial(reader.decode, feature, decoding=decoding),
            {key: parsed[key] for key in specs_of(feature)},
            fn_output_signature=specs,
        )
    return decoded


def parser(features: Sequence[Feature], decoding: Decoding, misfit: str) -> Callable[..., Tensors]:
    """Make the function from a serialized Example (or, for `reads_batches`, a batch) to tensors.

    For views and augmentation it also takes the record's key, int64 [2]: its pass and number; for
    cached images, also a function that looks them up or calls the given decoder. TensorFlow's error
    for a record that does not fit the features contains `misfit`.
    """
    spec = parse_specs(features)
    # TensorFlow's error has the key, in a batch the example, and otherwise only the operation.
    operation = re.sub(r"\W+", "_", misfit, flags=re.ASCII)

    readers = [(each, _reader(each)) for each in features]
    images = images_of(features)
    if not images:
        decoding = dataclasses.replace(decoding, views=None)
    whole_images = dataclasses.replace(decoding, image_dtype="uint8", views=None, augment=None)

    def parse(serialized: Any, key: Any = None, recall: Recall | None = None) -> Tensors:
        examples = tf.fill(tf.shape(serialized), misfit) if serialized.shape.rank else None
        parsed = tf.io.parse_example(serialized, spec, examples, name=operation)
        if not (images and (decoding.views or decoding.augment or recall)):
            return _decode_all(readers, parsed, decoding)
        assert key is not None, "views are drawn by record"
        # A seed by record and pass.
        seed = tf.cast(key, tf.int64) * [1 << 32, 1] + [decoding.seed, 0]
        stored = None
        if recall is not None:
            kept = [(each, _reader(each)) for each in keepable(images)]
            stored = recall(lambda: _decode_all(kept, parsed, whole_images))
        decoded = _read_record(readers, parsed, decoding, seed, stored)
        return {output.name: decoded[output.name] for output in outputs(features, decoding)}

    return parse


# Features with their readers.
Readers = Sequence[tuple[Feature, FeatureReader]]


def _decode_all(readers: Readers, parsed: Tensors, decoding: Decoding) -> Tensors:
    """Decode the outputs of all features by name, without views and augmentation."""
    decoded: Tensors = {}
    for feature, reader in readers:
        decoded |= reader.decode(feature, parsed, decoding)
    return decoded


def _read_record(
    readers: Readers,
    parsed: Tensors,
    decoding: Decoding,
    seed: Tensor,
    stored: Tensors | None = None,
) -> Tensors:
    """Decode the outputs of one record with the views or augmentation of `decoding`.

    `seed` is the record's in a pass, int64 [2]; `stored` are decoded images, uint8 [height, width,
    channels] at `decoding.image_size` by name, or None to decode them.
    """
    images = [(each, of) for each, of in readers if isinstance(of, ImageReader)]
    images.sort(key=lambda each: each[1].nearest)  # draw the view for an image, not its map
    others = [(each, of) for each, of in readers if not isinstance(of, ImageReader)]
    decoded = _decode_all(others, parsed, decoding)
    boxes = [decoded[each.name] for each, _ in readers if each.kind == "boxes"]
    around = tf.concat(boxes, axis=0) if boxes else None
    view: View | None = None

    def choose(image: Tensor) -> View:
        """Draw the record's view for its first image."""
        if decoding.views is None:
            return whole_view(image)
        if view is not None:
            return view.on(image)
        return draw_view(decoding.views, seed, image, around, decoding.letterbox)

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
