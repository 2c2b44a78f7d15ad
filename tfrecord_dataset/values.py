"""Converts the lists of an Example to NumPy values by name, without TensorFlow.

The values equal the trainer's single records, with images in uint8.
"""

import contextlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import (
    ColumnForm,
    Lists,
    ListSpec,
    default_values,
    list_problem,
    object_columns,
    rate_problem,
    shape_problem,
    specs_to_read,
)

_DTYPES: Mapping[str, Any] = {"int64": np.int64, "float32": np.float32, "bytes": object}
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def numpy_values(
    feature: Feature,
    lists: Lists,
    specs: Mapping[str, ListSpec] | None = None,
    *,
    decode: bool = True,
) -> dict[str, Any]:
    """Return a feature's values in one record, by name; see the table in docs/reading.md.

    Args:
        feature: The feature.
        lists: Lists of the record's Example, by key.
        specs: The feature's `specs_to_read`, to reuse for many records.
        decode: Whether images become uint8 or uint16 [height, width, channels], maps the same
            [height, width, 1] and audio float32 [samples, channels] in -1..1; otherwise they stay
            encoded bytes.

    Raises:
        ValueError: The record does not fit the feature; the message has the difference.
    """
    specs = specs_to_read(feature) if specs is None else specs
    if feature.kind == "boxes" and not feature.encoding:
        return _of_boxes(feature, specs, lists, decode)
    spec = specs[feature.key]
    values = _list(feature, feature.key, spec, lists)
    if decoder := _DECODERS.get(feature.kind):
        (encoded,) = values
        return {feature.name: decoder(feature, encoded) if decode else encoded}
    if feature.kind == "tensor" and feature.encoding == "bytes":
        return {feature.name: _raw(feature, values[0])}
    if spec.length == 1 and not feature.shape:
        (value,) = values
        array = value if spec.kind == "bytes" else _DTYPES[spec.kind](value)
    else:
        shape = feature.shape if spec.length is not None else (-1, *feature.shape[1:])
        array = np.array(values, _DTYPES[spec.kind]).reshape([size or 0 for size in shape])
    if feature.kind == "class_label" and feature.label_offset:
        array = np.where(array < 0, array, array - feature.label_offset)[()]
    return {feature.name: array}


def _list(feature: Feature, key: str, spec: ListSpec, lists: Lists) -> Sequence[Any]:
    if key not in lists and feature.default is not None and spec.length is not None:
        return default_values(feature, spec.length)
    if problem := list_problem(key, spec, lists):
        raise ValueError(problem)
    return lists[key][1] if key in lists else ()


def _raw(feature: Feature, data: bytes) -> Any:
    """Decode a tensor that is stored as one value."""
    try:
        dtype = np.dtype(feature.dtype).newbyteorder("<")
    except TypeError as error:
        raise ValueError(f"feature {feature.name!r}: {error}") from error
    expected = math.prod(size or 0 for size in feature.shape) * dtype.itemsize
    if len(data) != expected:
        raise ValueError(
            f"key {feature.key!r} holds {len(data):,} bytes, where {feature.dtype} "
            f"{list(feature.shape)} has {expected:,}"
        )
    # A copy, so that callers may write to it.
    return np.frombuffer(data, dtype).reshape([size or 0 for size in feature.shape]).copy()


def _of_boxes(
    feature: Feature, specs: Mapping[str, ListSpec], lists: Lists, decode: bool
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column in object_columns(feature):
        keys = [feature.subkey(part) for part in column.lists]
        arrays = [
            np.array(_list(feature, key, specs[key], lists), _DTYPES[specs[key].kind])
            for key in keys
        ]
        count = len(values[feature.name]) if values else len(arrays[0])
        for key, array in zip(keys, arrays, strict=True):
            if len(array) != count and column.form != "points":
                raise ValueError(f"key {key!r} has {len(array)} values for {count} boxes")
        values[column.name] = _of_objects(feature, column.form, arrays, count, decode)
    return values


def _of_objects(
    feature: Feature, form: ColumnForm, arrays: Sequence[Any], count: int, decode: bool
) -> Any:
    """Make a column's values from its lists."""
    match form:
        case "numbers":
            return np.stack(arrays, axis=-1)
        case "classes":
            return arrays[0] - feature.label_offset
        case "points":
            return _by_box(feature, np.stack(arrays[:3], axis=-1), arrays[3], count)
        case "masks" if decode:
            return _masks(feature, arrays[0])
    return arrays[0]


def _masks(feature: Feature, encoded: Any) -> Any:
    """Decode masks to uint8 [n, height, width] of 0 and 1; size 0 × 0 if there are none."""
    key = feature.subkey("mask")
    masks = [_pixels(each, "L", key) for each in encoded]
    if len({mask.shape for mask in masks}) > 1:
        raise ValueError(f"key {key!r} holds masks of several sizes")
    return np.stack(masks) if masks else np.zeros((0, 0, 0), np.uint8)


def _by_box(feature: Feature, points: Any, counts: Any, num_boxes: int) -> Any:
    """Group points by box, padded with -1: float32 [n, points, 3]."""
    if (
        len(counts) != num_boxes
        or counts.sum() != len(points)
        or counts.max(initial=0) > (feature.keypoints)
    ):
        raise ValueError(
            f"key {feature.subkey('keypoint/num')!r} does not give {num_boxes} boxes their "
            f"{len(points)} points, at most {feature.keypoints} each"
        )
    by_box = np.full((num_boxes, feature.keypoints, 3), -1, np.float32)
    by_box[np.arange(feature.keypoints) < counts[:, None]] = points
    return by_box


def _image(feature: Feature, encoded: bytes) -> Any:
    """Decode to uint8 or uint16 [height, width, channels]; three unless the shape has others."""
    channels = feature.shape[2] or 3
    if feature.dtype == "uint16":
        pixels = _of_16_bits(encoded, channels, feature.key)
    else:
        pixels = _pixels(encoded, _MODES[channels], feature.key)
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    _raise(shape_problem(feature, pixels.shape))
    return pixels


@contextlib.contextmanager
def _decoding(key: str, what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # decoders raise various types
        raise ValueError(f"key {key!r} holds no {what} that can be decoded: {error}") from error


def _pixels(encoded: bytes, mode: str, key: str) -> Any:
    from PIL import Image  # only needed to decode

    with _decoding(key, "image"), Image.open(io.BytesIO(encoded)) as opened:
        image: Image.Image = opened
        if image.mode.startswith("I"):  # 16 bits; TensorFlow keeps the upper eight
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        return np.array(image.convert(mode))


def _of_16_bits(encoded: bytes, channels: int, key: str) -> Any:
    """Decode a PNG to uint16 [height, width, channels]: repeated grey, or RGB without alpha."""
    from PIL import Image

    with _decoding(key, "image"), Image.open(io.BytesIO(encoded), formats=["PNG"]) as upper:
        if upper.mode.startswith("I"):
            grey = np.asarray(upper).astype(np.uint16)[..., None]
            return np.repeat(grey, channels, axis=-1)
        upper_bytes = np.asarray(upper).astype(np.uint16)
        with Image.open(io.BytesIO(encoded), formats=["PNG"]) as lower:
            # Pillow keeps the upper one of two bytes; in little-endian order that is the lower one.
            lower.tile = [each._replace(args=f"{lower.mode};16L") for each in lower.tile]
            pixels = upper_bytes << 8 | np.asarray(lower)
        return np.repeat(pixels[..., :1], channels, -1) if channels < 3 else pixels[..., :channels]


def _map(feature: Feature, encoded: bytes) -> Any:
    """Decode the stored numbers: uint8 or uint16 [height, width, 1]."""
    from PIL import Image

    with (
        _decoding(feature.key, "map"),
        Image.open(io.BytesIO(encoded), formats=["PNG"]) as opened,
    ):
        numbers, dtype = np.asarray(opened), np.dtype(feature.dtype)
    if numbers.ndim != 2 or numbers.dtype.itemsize > dtype.itemsize:
        raise ValueError(
            f"key {feature.key!r} holds pixels {numbers.dtype} {list(numbers.shape)}, where "
            f"{feature.dtype} of one channel was expected"
        )
    numbers = numbers.astype(dtype)[..., None]
    _raise(shape_problem(feature, numbers.shape))
    return numbers


def _audio(feature: Feature, encoded: bytes) -> Any:
    """Decode to float32 [samples, channels]."""
    import soundfile  # most datasets have no audio

    with _decoding(feature.key, "audio"):
        samples, rate = soundfile.read(io.BytesIO(encoded), dtype="float32", always_2d=True)
    _raise(rate_problem(feature, rate) or shape_problem(feature, samples.shape))
    return samples


def _raise(problem: str) -> None:
    if problem:
        raise ValueError(problem)


_DECODERS = {"image": _image, "map": _map, "audio": _audio}
