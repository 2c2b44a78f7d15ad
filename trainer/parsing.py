"""From serialized `tf.train.Example`s to tensors: one small reader a kind of feature."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import tensorflow as tf

from trainer.errors import ConfigError
from trainer.features import Feature

Tensors = dict[str, Any]

_STORED_DTYPES = {
    "int64": tf.int64,
    "float32": tf.float32,
    "bytes": tf.string,
    "string": tf.string,
}
_PADDING = {tf.int64: -1, tf.float32: -1.0, tf.string: b"", tf.uint8: 0}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How images and boxes come out.

    Attributes:
        image_size: (height, width) in pixels that images are resized to (bilinear, no
            regard to aspect); None keeps their own.
        image_dtype: "float32" in 0..1, or "uint8".
        max_boxes: The most boxes a record may have; None for any number.
    """

    image_size: tuple[int, int] | None = None
    image_dtype: str = "float32"
    max_boxes: int | None = None


class Reader(Protocol):
    """Reads the features of one kind."""

    def spec(self, feature: Feature) -> Mapping[str, Any]:
        """The `tf.io` parse specs by key."""

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        """The outputs by name, from what was parsed."""


class Plain:
    """A kind that needs no decoding: one value a record, in or out of a batch alike."""

    def spec(self, feature: Feature) -> Mapping[str, Any]:
        dtype = _STORED_DTYPES.get(feature.dtype)
        if dtype is None:
            raise ConfigError(
                f"feature {feature.name!r} has dtype {feature.dtype!r}, which no Example stores; "
                f"declare one of {', '.join(_STORED_DTYPES)}"
            )
        return {feature.key: tf.io.FixedLenFeature(feature.shape, dtype)}

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        del decoding
        return {feature.name: parsed[feature.key]}


class ClassLabel(Plain):
    """A class by number, int64; -1 where a record has none."""

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        del decoding
        stored = parsed[feature.key]
        return {feature.name: tf.where(stored < 0, stored, stored - feature.label_offset)}


class Image:
    """An encoded picture (JPEG, PNG, BMP, or the first frame of a GIF), decoded.

    Output: uint8 or float32 [height, width, channels]; three channels unless the shape
    declares others.
    """

    def spec(self, feature: Feature) -> Mapping[str, Any]:
        return {feature.key: tf.io.FixedLenFeature([], tf.string)}

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        image = tf.io.decode_image(
            parsed[feature.key], channels=feature.shape[2] or 3, expand_animations=False
        )
        image = tf.ensure_shape(image, (*feature.shape[:2], feature.shape[2] or 3))
        if decoding.image_size is not None:
            image = tf.image.resize(image, decoding.image_size)
        if decoding.image_dtype == "uint8":
            image = image if image.dtype == tf.uint8 else tf.cast(tf.round(image), tf.uint8)
        else:
            image = tf.cast(image, tf.float32) / 255.0
        return {feature.name: image}


class Boxes:
    """The boxes of a picture, with their classes and attributes where there are any.

    Outputs of a feature `boxes`: `boxes`, float32 [n, 4] (xmin, ymin, xmax, ymax in 0..1);
    `box_labels`, int64 [n], from 0; `box_<attribute>` [n]; `box_keypoints`, float32
    [n, points, 3] (x, y in 0..1, visibility 0, 1 or 2; -1 where a box has fewer). A feature
    of another name has outputs `<name>`, `<name>_labels` and so on.
    """

    def spec(self, feature: Feature) -> Mapping[str, Any]:
        keys = {f"{feature.key}/bbox/{side}": tf.float32 for side in _SIDES}
        if feature.classes:
            keys[f"{feature.key}/class/label"] = tf.int64
        for attribute, dtype in feature.attributes.items():
            keys[f"{feature.key}/{attribute}"] = _STORED_DTYPES[dtype]
        if feature.keypoints:
            keys |= {f"{feature.key}/keypoint/{axis}": tf.float32 for axis in ("x", "y")}
            keys |= {f"{feature.key}/keypoint/{part}": tf.int64 for part in ("visibility", "num")}
        return {key: tf.io.RaggedFeature(dtype) for key, dtype in keys.items()}

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        prefix = "box" if feature.name == "boxes" else feature.name
        sides = [parsed[f"{feature.key}/bbox/{side}"] for side in _SIDES]
        outputs = {feature.name: tf.stack(sides, axis=-1)}
        if feature.classes:
            stored = parsed[f"{feature.key}/class/label"]
            outputs[f"{prefix}_labels"] = stored - feature.label_offset
        for attribute in feature.attributes:
            outputs[f"{prefix}_{attribute}"] = parsed[f"{feature.key}/{attribute}"]
        if feature.keypoints:
            outputs[f"{prefix}_keypoints"] = _keypoints(feature, parsed)
        if decoding.max_boxes is None:
            return outputs
        check = tf.debugging.assert_less_equal(
            tf.shape(outputs[feature.name])[0],
            decoding.max_boxes,
            message=f"a record has more {feature.name} than max_boxes={decoding.max_boxes}; "
            "raise max_boxes, or leave it out to pad to the longest of each batch",
        )
        with tf.control_dependencies([check]):
            return {name: tf.identity(value) for name, value in outputs.items()}


def _keypoints(feature: Feature, parsed: Tensors) -> Any:
    columns = [parsed[f"{feature.key}/keypoint/{name}"] for name in ("x", "y", "visibility")]
    points = tf.stack([tf.cast(column, tf.float32) for column in columns], axis=-1)
    of_each_box = tf.RaggedTensor.from_row_lengths(points, parsed[f"{feature.key}/keypoint/num"])
    return of_each_box.to_tensor(-1.0, shape=(None, feature.keypoints, 3))


_SIDES = ("xmin", "ymin", "xmax", "ymax")

# A new kind is a new line here. Kinds that `Plain` reads are parsed a whole batch at a time.
READERS: Mapping[str, Reader] = {
    "image": Image(),
    "class_label": ClassLabel(),
    "boxes": Boxes(),
    "scalar": Plain(),
    "text": Plain(),
}


def check_readable(features: Sequence[Feature]) -> None:
    """Raises ConfigError when one of `features` is of a kind that cannot be read yet."""
    for feature in features:
        if feature.kind not in READERS:
            raise ConfigError(
                f"feature {feature.name!r} is of kind {feature.kind!r}, which this version does "
                f"not read; choose among the others with features=[…]"
            )


def reads_batches(features: Sequence[Feature]) -> bool:
    """Whether whole batches can be parsed at once: 5-6x less work for plain columns."""
    return all(isinstance(READERS[feature.kind], Plain) for feature in features)


def parser(features: Sequence[Feature], decoding: Decoding) -> Callable[[Any], Tensors]:
    """The function from a serialized Example (or, where `reads_batches`, a batch) to tensors."""
    spec: dict[str, Any] = {}
    for feature in features:
        spec |= READERS[feature.kind].spec(feature)

    def parse(serialized: Any) -> Tensors:
        parsed = tf.io.parse_example(serialized, spec)
        outputs: Tensors = {}
        for feature in features:
            outputs |= READERS[feature.kind].decode(feature, parsed, decoding)
        return outputs

    return parse


def padding_values(element_spec: Mapping[str, Any]) -> Tensors:
    """What fills up the shorter records of a batch: -1 for numbers, "" for strings."""
    return {
        name: tf.constant(_PADDING[spec.dtype], spec.dtype) for name, spec in element_spec.items()
    }


def padded_shapes(
    features: Sequence[Feature], element_spec: Mapping[str, Any], max_boxes: int | None
) -> dict[str, list[int | None]]:
    """The shape that each output is padded to, None where the batch's longest decides."""
    shapes = {name: spec.shape.as_list() for name, spec in element_spec.items()}
    for feature in features:
        if feature.kind == "boxes" and max_boxes is not None:
            for name in output_names(feature):
                shapes[name] = [max_boxes, *shapes[name][1:]]
    return shapes


def output_names(feature: Feature) -> list[str]:
    """The outputs of a feature: itself, and of boxes their classes, attributes, keypoints."""
    if feature.kind != "boxes":
        return [feature.name]
    prefix = "box" if feature.name == "boxes" else feature.name
    labels = [f"{prefix}_labels"] if feature.classes else []
    keypoints = [f"{prefix}_keypoints"] if feature.keypoints else []
    attributes = [f"{prefix}_{name}" for name in feature.attributes]
    return [feature.name, *labels, *attributes, *keypoints]
