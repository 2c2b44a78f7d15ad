"""The files by which TFDS reads the directory: `builder_from_directory`, `tfds.load`.

Checked against TFDS 4.9: an unknown field in dataset_info.json is a ParseError, so our own
facts are in metadata.json; features.json is required; every key it names must be in every
record; gzip cannot be read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beam_pipeline.receipts import ShardInfo
from beam_pipeline.schema import Feature

# TFDS's name for shards, and ours.
TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"

_PACKAGE = "tensorflow_datasets.core.features"

# TFDS counts classes from 0 and detection's label maps from 1: index 0 gets this name.
PLACEHOLDER_CLASS = "background"


def dataset_info(
    name: str,
    version: str,
    shards: Mapping[str, Sequence[ShardInfo]],
    templates: Mapping[str, str] | None = None,
) -> str:
    """The text of dataset_info.json, for the shards of each split in order.

    Args:
        templates: How the shards of a split are called, where it is not as this project does it.
    """
    templates = templates or {}
    return _text(
        {
            "name": name,
            "version": version,
            "fileFormat": "tfrecord",
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
    return _FEATURES[feature.kind](feature)


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


def _tensor(dtype: str) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PACKAGE}.tensor_feature.Tensor",
        "tensor": {"shape": {}, "dtype": dtype, "encoding": "none"},
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
    return _bytes_text() if dtype == "string" else _tensor(dtype)


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


def _label(feature: Feature) -> dict[str, Any]:
    text_key = f"{feature.key.removesuffix('/label')}/text"
    return {feature.key: _class_label(len(feature.classes)), text_key: _bytes_text()}


def _boxes(feature: Feature) -> dict[str, Any]:
    key = feature.key
    found = {
        f"{key}/bbox/{side}": _sequence(_tensor("float32"))
        for side in ("xmin", "xmax", "ymin", "ymax")
    }
    if feature.classes:
        num_classes = len(feature.classes) + feature.label_offset
        found[f"{key}/class/label"] = _sequence(_class_label(num_classes))
        found[f"{key}/class/text"] = _sequence(_bytes_text())
    for name, dtype in feature.attributes.items():
        found[f"{key}/{name}"] = _sequence(_scalar_leaf(dtype))
    if feature.keypoints:
        for name, dtype in (
            ("x", "float32"),
            ("y", "float32"),
            ("visibility", "int64"),
            ("num", "int64"),
        ):
            found[f"{key}/keypoint/{name}"] = _sequence(_tensor(dtype))
    return found


def _scalar(feature: Feature) -> dict[str, Any]:
    return {feature.key: _scalar_leaf(feature.dtype)}


_FEATURES = {
    "image": _image,
    "class_label": _label,
    "boxes": _boxes,
    "scalar": _scalar,
    "text": _scalar,
    "bytes": _scalar,
}
