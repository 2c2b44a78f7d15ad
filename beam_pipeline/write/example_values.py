"""A record's values become the lists of its Example, under the keys of the schema.

docs/format.md has the table of keys. No Beam here: worker processes import this module.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from beam_pipeline.errors import RecordError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    Image,
    Objects,
    RawFile,
    Record,
    Value,
)
from beam_pipeline.tfrecord.example import FeatureValue
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import SIDES

ClassNumbers = Mapping[str, Mapping[str, int]]


def class_numbers(schema: Sequence[Feature]) -> ClassNumbers:
    """The stored number of every class by its name, by feature.

    Made once a schema: to look through 21,841 names takes 1.8 ms a record.
    """
    return {
        feature.name: {
            name: number for number, name in enumerate(feature.classes, feature.label_offset)
        }
        for feature in schema
        if feature.classes
    }


def example_values(
    record: Record,
    schema: Sequence[Feature],
    payloads: Mapping[str, bytes],
    numbers: ClassNumbers,
) -> dict[str, FeatureValue]:
    """What `record` holds, by Example key.

    Args:
        record: An inspected record.
        schema: The dataset's features; every key of theirs is written for every record,
            an absent class label as -1 with an empty name, absent text as "".
        payloads: By feature name what files hold, as it is stored: encoded images and audio,
            the raw values of arrays, and other bytes.
        numbers: Of classes (`class_numbers`).

    Raises:
        RecordError: "value out of range": a number that the schema's dtype cannot hold;
            "malformed annotation": boxes that lack the classes of others.
    """
    values: dict[str, FeatureValue] = {}
    for feature in schema:
        value = record.features.get(feature.name)
        match feature.kind:
            case "image":
                assert isinstance(value, Image)
                values |= _image_values(record, feature, value, payloads[feature.name])
            case "audio":
                assert isinstance(value, Audio)
                values |= _audio_values(feature, value, payloads[feature.name])
            case "class_label":
                assert value is None or isinstance(value, ClassLabel | ClassLabels)
                values |= _label_values(feature, value, numbers.get(feature.name, {}))
            case "boxes":
                assert value is None or isinstance(value, Objects)
                boxes = value or Objects(boxes=(), format="rel_xyxy")
                values |= _box_values(feature, boxes, numbers.get(feature.name, {}))
            case "tensor" | "sequence":
                values[feature.key] = _numbers(feature, value, payloads.get(feature.name))
            case _:
                values[feature.key] = (
                    [payloads[feature.name]]
                    if isinstance(value, RawFile)
                    else _scalar_values(feature, value)
                )
    return values


def _scalar_values(feature: Feature, value: Value | None) -> FeatureValue:
    match value:
        case int() | float() if feature.dtype == "float32":
            return [float(value)]
        case int() | float():
            return [int(value)]
        case bytes():
            return [value]
        case _:
            return [str("" if value is None else value).encode()]


def _numbers(feature: Feature, value: Value | None, payload: bytes | None) -> FeatureValue:
    """The list, or the raw values, of a tensor or sequence."""
    match value:
        case tuple():
            return [text.encode() for text in value]
        case Array():
            raw = value.data if payload is None else payload
            array = numpy.frombuffer(raw, _little(value.dtype))
        case _:
            assert isinstance(value, int | float)
            array = numpy.asarray([value])
    cast = _cast(feature, array)
    if feature.encoding == "bytes":
        return [cast.tobytes()]
    values: list[Any] = cast.tolist()
    return values


def _cast(feature: Feature, array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """`array` in the schema's type.

    Raises:
        RecordError: "value out of range": a number would become infinite.
    """
    dtype = _little(feature.dtype)
    if array.dtype == dtype:
        return array
    with numpy.errstate(over="ignore"):
        cast = array.astype(dtype)
    if dtype.kind == "f" and (numpy.isinf(cast) & numpy.isfinite(array)).any():
        raise RecordError(
            "value out of range",
            f"feature {feature.name!r} holds numbers beyond the range of {feature.dtype}",
        )
    return cast


def _little(dtype: str) -> numpy.dtype[Any]:
    return numpy.dtype(dtype).newbyteorder("<")


def _image_values(
    record: Record, feature: Feature, image: Image, payload: bytes
) -> dict[str, FeatureValue]:
    if feature.bare:
        return {feature.key: [payload]}
    unchanged = not image.conversions
    sha256 = image.file.sha256 if unchanged else hashlib.sha256(payload).hexdigest()
    return {
        feature.key: [payload],
        feature.key_beside("format"): [image.format.encode()],
        feature.key_beside("filename"): [record.key.encode()],
        feature.key_beside("source_id"): [record.source_id.encode()],
        feature.key_beside("key/sha256"): [sha256.encode()],
        feature.key_beside("height"): [image.height],
        feature.key_beside("width"): [image.width],
    }


def _audio_values(feature: Feature, audio: Audio, payload: bytes) -> dict[str, FeatureValue]:
    if feature.bare:
        return {feature.key: [payload]}
    return {
        feature.key: [payload],
        feature.key_beside("format"): [audio.format.encode()],
        feature.key_beside("sample_rate"): [audio.sample_rate],
        feature.key_beside("num_samples"): [audio.num_samples],
        feature.key_beside("channels"): [audio.channels],
    }


def _label_values(
    feature: Feature, label: ClassLabel | ClassLabels | None, number: Mapping[str, int]
) -> dict[str, FeatureValue]:
    if feature.shape:
        names = label.names if isinstance(label, ClassLabels) else (label.name,) if label else ()
        numbers = [number[name] for name in names]
        texts = [name.encode() for name in names]
    else:
        assert not isinstance(label, ClassLabels)
        numbers = [number[label.name] if label else -1]
        texts = [label.name.encode() if label else b""]
    if feature.bare:
        return {feature.key: numbers}
    return {feature.key: numbers, feature.key_beside("text"): texts}


def _box_values(
    feature: Feature, boxes: Objects, number: Mapping[str, int]
) -> dict[str, FeatureValue]:
    if feature.encoding == "flat":
        return {feature.key: [float(side) for box in boxes.boxes for side in box]}
    columns = [*zip(*boxes.boxes, strict=True)] or [(), (), (), ()]
    values: dict[str, FeatureValue] = {
        feature.key_beside(f"bbox/{side}"): column
        for side, column in zip(SIDES, columns, strict=True)
    }
    if feature.classes:
        if len(boxes.labels) != len(boxes.boxes):
            raise RecordError(
                "malformed annotation",
                f"{len(boxes.boxes)} boxes but {len(boxes.labels)} class names, where other "
                "records name the class of every box",
            )
        values[feature.key_beside("class/label")] = [number[name] for name in boxes.labels]
        if not feature.bare:
            values[feature.key_beside("class/text")] = [name.encode() for name in boxes.labels]
    for name, dtype in feature.attributes.items():
        values[feature.key_beside(name)] = _attribute(name, dtype, boxes)
    if feature.keypoints:
        values |= _keypoint_values(feature, boxes)
    return values


def _attribute(name: str, dtype: str, boxes: Objects) -> FeatureValue:
    """One value a box; where the record's boxes have no such attribute, -1 or ""."""
    absent = "" if dtype == "string" else -1
    given = boxes.attributes.get(name, (absent,) * len(boxes.boxes))
    if dtype == "string":
        return [str(value).encode() for value in given]
    return [float(value) if dtype == "float32" else int(value) for value in given]


def _keypoint_values(feature: Feature, boxes: Objects) -> dict[str, FeatureValue]:
    """As the TF Object Detection API has them: flat, with the number of points of each box."""
    points = boxes.keypoints or ((),) * len(boxes.boxes)
    flat = [coordinate for row in points for coordinate in row]
    return {
        feature.key_beside("keypoint/x"): [float(x) for x in flat[0::3]],
        feature.key_beside("keypoint/y"): [float(y) for y in flat[1::3]],
        feature.key_beside("keypoint/visibility"): [int(v) for v in flat[2::3]],
        feature.key_beside("keypoint/num"): [len(row) // 3 for row in points],
    }
