"""The files by which TFDS reads the directory: `builder_from_directory`, `tfds.load`.

Checked against TFDS 4.9: an unknown field in dataset_info.json is a ParseError, so what else
this project states is in metadata.json; features.json is required; every key it names must be
in every record; gzip cannot be read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beam_pipeline.describe.shard_info import ShardEntry
from beam_pipeline.schema.feature import Feature

# How TFDS and this project name shards.
TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"

_PACKAGE = "tensorflow_datasets.core.features"

# Raw values that tf.io.decode_raw has no type for; TFDS gives them as bytes.
_NOT_DECODED = frozenset({"uint32"})

# TFDS counts classes from 0 and detection's label maps from 1: index 0 gets this name.
PLACEHOLDER_CLASS = "background"


def dataset_info(
    name: str,
    version: str,
    schema: Sequence[Feature],
    shards: Mapping[str, Sequence[ShardEntry]],
    templates: Mapping[str, str] | None = None,
) -> str:
    """The text of dataset_info.json, for the shards of each split in order.

    Args:
        templates: By split, the template of the shards' names, where it is not TEMPLATE.
    """
    templates = templates or {}
    supervised = supervised_keys(schema)
    return _text(
        {
            "name": name,
            "version": version,
            "fileFormat": "tfrecord",
            **({"supervisedKeys": {"tuple": {"items": supervised}}} if supervised else {}),
            "splits": [
                {
                    "name": split,
                    "shardLengths": [str(shard.num_records) for shard in infos],
                    "numBytes": str(sum(shard.num_bytes for shard in infos)),
                    "filepathTemplate": templates.get(split, TEMPLATE),
                }
                for split, infos in shards.items()
            ],
        }
    )


def supervised_keys(schema: Sequence[Feature]) -> list[dict[str, Any]]:
    """What `as_supervised=True` yields, as a message of keys each: the input and its target.

    The input is the image, else the audio, else the text; the target the label, else the only
    class label, else the boxes: a dict of the lists that describe them. Empty where one is
    missing.
    """
    inputs = [each for kind in ("image", "audio", "text") for each in schema if each.kind == kind]
    labels = [each for each in schema if each.kind == "class_label"]
    named = [each for each in labels if each.name == "label"]
    boxes = [each for each in schema if each.kind == "boxes" and not each.encoding]
    if inputs and (label := named or (labels if len(labels) == 1 else [])):
        return [{"featureKey": inputs[0].key}, {"featureKey": label[0].key}]
    if inputs and boxes:
        key = boxes[0].key
        keys = {side: f"{key}/bbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax")}
        if boxes[0].classes:
            keys["label"] = f"{key}/class/label"
        target = {name: {"featureKey": key} for name, key in keys.items()}
        return [{"featureKey": inputs[0].key}, {"dict": {"dict": target}}]
    return []


def features(schema: Iterable[Feature]) -> str:
    """The text of features.json: a FeaturesDict with one flat key a key of the Example."""
    all_leaves = {key: leaf for feature in schema for key, leaf in leaves(feature).items()}
    return _text(
        {
            "pythonClassName": f"{_PACKAGE}.features_dict.FeaturesDict",
            "featuresDict": {"features": dict(sorted(all_leaves.items()))},
        }
    )


def leaves(feature: Feature) -> dict[str, Any]:
    """TFDS's description of every key under which `feature` is stored."""
    of_kind = _FEATURES[feature.kind](feature)
    if feature.bare and feature.kind != "boxes":
        return {feature.key: of_kind[feature.key]}
    return of_kind


def class_names(schema: Iterable[Feature]) -> dict[str, str]:
    """The texts of the class name files, by file name."""
    files = {}
    for feature in schema:
        if feature.classes:
            key = f"{feature.key}/class/label" if feature.kind == "boxes" else feature.key
            placeholder = PLACEHOLDER_CLASS
            while placeholder in feature.classes:  # TFDS refuses a name twice
                placeholder = f"_{placeholder}"
            names = [placeholder] * feature.label_offset + list(feature.classes)
            files[f"{key.replace('/', '.')}.labels.txt"] = "".join(f"{name}\n" for name in names)
    return files


def _text(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _tensor(dtype: str, shape: Sequence[int | None] = (), encoding: str = "none") -> dict[str, Any]:
    dimensions = {"dimensions": list(map(str, shape))} if shape else {}
    return {
        "pythonClassName": f"{_PACKAGE}.tensor_feature.Tensor",
        "tensor": {"shape": dimensions, "dtype": dtype, "encoding": encoding},
    }


def _bytes_text() -> dict[str, Any]:
    return {"pythonClassName": f"{_PACKAGE}.text_feature.Text", "text": {}}


def _class_label(num_classes: int) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PACKAGE}.class_label_feature.ClassLabel",
        "classLabel": {"numClasses": str(num_classes)},
    }


def _sequence(feature: dict[str, Any]) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PACKAGE}.sequence_feature.Sequence",
        "sequence": {"feature": feature, "length": "-1"},
    }


def _scalar_leaf(dtype: str) -> dict[str, Any]:
    return _bytes_text() if dtype in ("string", "bytes") else _tensor(dtype)


def _image(feature: Feature) -> dict[str, Any]:
    prefix = feature.key.removesuffix("/encoded")
    image = {
        "pythonClassName": f"{_PACKAGE}.image_feature.Image",
        "image": {
            "shape": {"dimensions": ["-1", "-1", "3"]},
            "dtype": "uint8",
            "encodingFormat": "png" if feature.format == "png" else "jpeg",
        },
    }
    texts = ("format", "filename", "source_id", "key/sha256")
    return {
        feature.key: image,
        **{f"{prefix}/{name}": _bytes_text() for name in texts},
        **{f"{prefix}/{name}": _tensor("int64") for name in ("height", "width")},
    }


def _audio(feature: Feature) -> dict[str, Any]:
    """The file as bytes: TFDS's own Audio reads files of one format only."""
    prefix = feature.key.removesuffix("/encoded")
    numbers = ("sample_rate", "num_samples", "channels")
    return {
        feature.key: _bytes_text(),
        f"{prefix}/format": _bytes_text(),
        **{f"{prefix}/{name}": _tensor("int64") for name in numbers},
    }


def _label(feature: Feature) -> dict[str, Any]:
    text_key = f"{feature.key.removesuffix('/label')}/text"
    num_classes = len(feature.classes) + feature.label_offset
    number = _class_label(num_classes) if feature.classes else _tensor("int64")
    if feature.shape or feature.may_lack_key:  # TFDS has no default
        return {feature.key: _sequence(number), text_key: _sequence(_bytes_text())}
    return {feature.key: number, text_key: _bytes_text()}


def _boxes(feature: Feature) -> dict[str, Any]:
    key = feature.key
    if feature.encoding == "flat":
        return {key: _sequence(_tensor("float32"))}
    keys = {
        f"{key}/bbox/{side}": _sequence(_tensor("float32"))
        for side in ("xmin", "xmax", "ymin", "ymax")
    }
    if feature.classes:
        num_classes = len(feature.classes) + feature.label_offset
        keys[f"{key}/class/label"] = _sequence(_class_label(num_classes))
        if not feature.bare:
            keys[f"{key}/class/text"] = _sequence(_bytes_text())
    for name, dtype in feature.attributes.items():
        keys[f"{key}/{name}"] = _sequence(_scalar_leaf(dtype))
    if feature.keypoints:
        for name, dtype in (
            ("x", "float32"),
            ("y", "float32"),
            ("visibility", "int64"),
            ("num", "int64"),
        ):
            keys[f"{key}/keypoint/{name}"] = _sequence(_tensor(dtype))
    return keys


def _scalar(feature: Feature) -> dict[str, Any]:
    return {feature.key: _scalar_leaf(feature.dtype)}


def _array(feature: Feature) -> dict[str, Any]:
    if feature.encoding != "bytes":
        return {feature.key: _tensor(feature.dtype, feature.shape)}
    if feature.dtype in _NOT_DECODED:
        return {feature.key: _bytes_text()}
    return {feature.key: _tensor(feature.dtype, feature.shape, "bytes")}


def _list(feature: Feature) -> dict[str, Any]:
    return {feature.key: _sequence(_tensor(feature.dtype, feature.shape[1:]))}


_FEATURES = {
    "image": _image,
    "class_label": _label,
    "boxes": _boxes,
    "scalar": _scalar,
    "tensor": _array,
    "sequence": _list,
    "text": _scalar,
    "audio": _audio,
    "bytes": _scalar,
}
