"""Features as TFDS describes them in features.json."""

from collections.abc import Sequence
from typing import Any

from tfrecord_dataset.format.feature import STRINGS, Feature
from tfrecord_dataset.format.feature_keys import ListSpec

PACKAGE = "tensorflow_datasets.core.features"


def tensor(dtype: str, shape: Sequence[int | None] = (), encoding: str = "none") -> dict[str, Any]:
    """Numbers of this shape."""
    dimensions = {"dimensions": list(map(str, shape))} if shape else {}
    return {
        "pythonClassName": f"{PACKAGE}.tensor_feature.Tensor",
        "tensor": {"shape": dimensions, "dtype": dtype, "encoding": encoding},
    }


def text() -> dict[str, Any]:
    """One bytes value, which TFDS treats as text."""
    return {"pythonClassName": f"{PACKAGE}.text_feature.Text", "text": {}}


def class_number(feature: Feature) -> dict[str, Any]:
    """The number of one of a feature's classes."""
    if not feature.classes:
        return tensor("int64")
    num_classes = len(feature.classes) + feature.label_offset
    return {
        "pythonClassName": f"{PACKAGE}.class_label_feature.ClassLabel",
        "classLabel": {"numClasses": str(num_classes)},
    }


def sequence(feature: dict[str, Any]) -> dict[str, Any]:
    """Any number of values of `feature`."""
    return {
        "pythonClassName": f"{PACKAGE}.sequence_feature.Sequence",
        "sequence": {"feature": feature, "length": "-1"},
    }


def scalar(dtype: str) -> dict[str, Any]:
    """One value in an Example."""
    return text() if dtype in STRINGS else tensor(dtype)


def media(feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
    """A key of media; TFDS encodes images in the stated format, which cannot be BMP."""
    if key != feature.key or feature.kind == "audio":
        return scalar(spec.kind)
    stated = {"encodingFormat": "png" if feature.format == "png" else "jpeg"}
    channels = 1 if feature.kind == "map" else 3
    return {
        "pythonClassName": f"{PACKAGE}.image_feature.Image",
        "image": {
            "shape": {"dimensions": ["-1", "-1", str(channels)]},
            "dtype": feature.dtype,
            **({} if feature.format == "bmp" else stated),
        },
    }
