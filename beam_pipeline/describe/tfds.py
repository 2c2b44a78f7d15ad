"""The files by which TFDS reads the directory: `builder_from_directory`, `tfds.load`.

Checked against TFDS 4.9: an unknown field in dataset_info.json is a ParseError, so what else
this project states is in metadata.json; features.json is required; every key it names must be
in every record; gzip cannot be read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beam_pipeline.describe.shard_info import ShardEntry
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import SIDES, list_specs

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
        keys = {side: boxes[0].key_beside(f"bbox/{side}") for side in SIDES}
        if boxes[0].classes:
            keys["label"] = boxes[0].key_beside("class/label")
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
    number = _class_number(feature)
    is_list = feature.kind == "boxes" or (
        # TFDS has no default
        feature.kind == "class_label" and bool(feature.shape or feature.may_lack_key)
    )
    described = {}
    for key, spec in list_specs(feature).items():
        if feature.kind == "boxes":
            is_class = key == feature.key_beside("class/label")
            leaf = number if is_class else _scalar_leaf(spec.kind)
        elif key == feature.key:
            leaf = number if feature.kind == "class_label" else _of_key(feature)
        else:
            leaf = _scalar_leaf(spec.kind)
        described[key] = _sequence(leaf) if is_list else leaf
    return described


def class_names(schema: Iterable[Feature]) -> dict[str, str]:
    """The texts of the class name files, by file name."""
    files = {}
    for feature in schema:
        if feature.classes:
            is_boxes = feature.kind == "boxes"
            key = feature.key_beside("class/label") if is_boxes else feature.key
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


def _class_number(feature: Feature) -> dict[str, Any]:
    num_classes = len(feature.classes) + feature.label_offset
    return _class_label(num_classes) if feature.classes else _tensor("int64")


def _of_key(feature: Feature) -> dict[str, Any]:
    match feature.kind:
        case "image":
            return _image(feature)
        case "audio":  # the file as bytes: TFDS's own Audio reads files of one format only
            return _bytes_text()
        case "tensor":
            if feature.encoding != "bytes":
                return _tensor(feature.dtype, feature.shape)
            is_decoded = feature.dtype not in _NOT_DECODED
            return _tensor(feature.dtype, feature.shape, "bytes") if is_decoded else _bytes_text()
        case "sequence":
            return _sequence(_tensor(feature.dtype, feature.shape[1:]))
    return _scalar_leaf(feature.dtype)


def _image(feature: Feature) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PACKAGE}.image_feature.Image",
        "image": {
            "shape": {"dimensions": ["-1", "-1", "3"]},
            "dtype": "uint8",
            "encodingFormat": "png" if feature.format == "png" else "jpeg",
        },
    }
