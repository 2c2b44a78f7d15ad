"""A record becomes an Example: its files are read again, its values get the schema's keys.

docs/format.md has the table of keys. No Beam here: worker processes import this module.
"""

import functools
import hashlib
from collections.abc import Mapping, Sequence

from beam_pipeline import storage
from beam_pipeline.errors import RecordError, SourceChangedError
from beam_pipeline.example import FeatureValue, encode
from beam_pipeline.frames import payload_of
from beam_pipeline.media.images import encode_image
from beam_pipeline.parallel import map_threads
from beam_pipeline.records import Boxes, ClassLabel, FileRef, Image, Record, Value, unpack
from beam_pipeline.rules import Rules
from beam_pipeline.schema import Feature


def encode_records(
    batch: bytes, schema: tuple[Feature, ...], rules: Rules, threads: int
) -> list[bytes]:
    """The serialized Examples of a packed batch of records, in its order."""
    records = (each for each in unpack(batch) if isinstance(each, Record))
    encode_one = functools.partial(encode_record, schema=schema, rules=rules)
    return list(map_threads(encode_one, records, threads))


def encode_record(record: Record, schema: tuple[Feature, ...], rules: Rules) -> bytes:
    """The serialized Example of `record`, its files read anew.

    Raises:
        SourceChangedError: A file is not what Inspect saw.
        RecordError: The record's values do not fit the schema.
    """
    if record.example:
        return payload_of(_read_again(record, record.example.file))
    payloads = {}
    for name, value in record.features.items():
        if isinstance(value, Image):
            data = _read_again(record, value.file)
            payloads[name] = encode_image(data, value, rules.image)
    return encode(example_values(record, schema, payloads))


def _read_again(record: Record, file: FileRef) -> bytes:
    try:
        data = storage.read_bytes(file)
    except RecordError as error:
        raise SourceChangedError(
            f"{file.path} was read at the inspection and now is a {error}; run the build "
            "again when nothing writes to its input"
        ) from error
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != file.sha256:
        raise SourceChangedError(
            f"{file.path} (record {record.key}) changed while the job ran: sha256 was "
            f"{file.sha256[:12]}… at the inspection and is {sha256[:12]}… now; run the "
            "build again when nothing writes to its input"
        )
    return data


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
