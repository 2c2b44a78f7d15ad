"""A record and its schema as the key-value pairs of one Example (docs/format.md has the table)."""

import hashlib
from collections.abc import Mapping, Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.example import FeatureValue
from beam_pipeline.records import Boxes, ClassLabel, Image, Record, Value
from beam_pipeline.schema import Feature


def example_values(
    record: Record, schema: Sequence[Feature], payloads: Mapping[str, bytes]
) -> dict[str, FeatureValue]:
    """What `record` holds, by Example key.

    Args:
        record: An inspected record.
        schema: The data set's features; every key of theirs is written for every record,
            an absent class label as -1 with an empty name, absent text as "".
        payloads: The encoded pictures by feature name.
    """
    values: dict[str, FeatureValue] = {}
    for feature in schema:
        value = record.features.get(feature.name)
        match feature.kind:
            case "image":
                assert isinstance(value, Image)
                values |= _image_values(record, feature, value, payloads[feature.name])
            case "class_label":
                assert value is None or isinstance(value, ClassLabel)
                values |= _label_values(feature, value)
            case "boxes":
                assert value is None or isinstance(value, Boxes)
                values |= _box_values(feature, value or Boxes(coordinates=(), format="rel_xyxy"))
            case _:
                values[feature.key] = _scalar_values(feature, value)
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


def _image_values(
    record: Record, feature: Feature, image: Image, payload: bytes
) -> dict[str, FeatureValue]:
    prefix = feature.key.removesuffix("/encoded")
    unchanged = not image.conversions
    sha256 = image.file.sha256 if unchanged else hashlib.sha256(payload).hexdigest()
    return {
        f"{prefix}/encoded": [payload],
        f"{prefix}/format": [image.format.encode()],
        f"{prefix}/filename": [record.key.encode()],
        f"{prefix}/source_id": [(record.source_id or record.key).encode()],
        f"{prefix}/key/sha256": [sha256.encode()],
        f"{prefix}/height": [image.height],
        f"{prefix}/width": [image.width],
    }


def _label_values(feature: Feature, label: ClassLabel | None) -> dict[str, FeatureValue]:
    name = label.name if label else ""
    number = feature.classes.index(name) + feature.label_offset if label else -1
    return {feature.key: [number], f"{feature.key.removesuffix('/label')}/text": [name.encode()]}


def _box_values(feature: Feature, boxes: Boxes) -> dict[str, FeatureValue]:
    key = feature.key
    columns = [*zip(*boxes.coordinates, strict=True)] or [(), (), (), ()]
    values: dict[str, FeatureValue] = {
        f"{key}/bbox/{side}": column
        for side, column in zip(("xmin", "ymin", "xmax", "ymax"), columns, strict=True)
    }
    if feature.classes:
        if len(boxes.labels) != len(boxes.coordinates):
            raise RecordError(
                "malformed annotation",
                f"{len(boxes.coordinates)} boxes but {len(boxes.labels)} class names, where other "
                "records name the class of every box",
            )
        number = {name: i + feature.label_offset for i, name in enumerate(feature.classes)}
        values[f"{key}/class/label"] = [number[name] for name in boxes.labels]
        values[f"{key}/class/text"] = [name.encode() for name in boxes.labels]
    for name, dtype in feature.attributes.items():
        values[f"{key}/{name}"] = _attribute(name, dtype, boxes)
    if feature.keypoints:
        values |= _keypoint_values(key, boxes)
    return values


def _attribute(name: str, dtype: str, boxes: Boxes) -> FeatureValue:
    """One value a box; where the record's boxes have no such attribute, -1 or ""."""
    absent = "" if dtype == "string" else -1
    given = boxes.attributes.get(name, (absent,) * len(boxes.coordinates))
    if dtype == "string":
        return [str(value).encode() for value in given]
    return [float(value) if dtype == "float32" else int(value) for value in given]


def _keypoint_values(key: str, boxes: Boxes) -> dict[str, FeatureValue]:
    """As the TF Object Detection API has them: flat, with the number of points of each box."""
    points = boxes.keypoints or ((),) * len(boxes.coordinates)
    flat = [coordinate for row in points for coordinate in row]
    return {
        f"{key}/keypoint/x": [float(x) for x in flat[0::3]],
        f"{key}/keypoint/y": [float(y) for y in flat[1::3]],
        f"{key}/keypoint/visibility": [int(v) for v in flat[2::3]],
        f"{key}/keypoint/num": [len(row) // 3 for row in points],
    }
