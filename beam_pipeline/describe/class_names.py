"""The files of class names beside the shards."""

from collections.abc import Sequence

from beam_pipeline.describe import label_map, tfds
from tfrecord_dataset.feature import Feature


def texts(schema: Sequence[Feature]) -> dict[str, str]:
    """By file name: those of TFDS, and of boxes those of detection."""
    detection = [feature.classes for feature in schema if feature.kind == "boxes"]
    of_boxes = label_map.texts(detection[0]) if any(detection[:1]) else {}
    return tfds.class_names(schema) | of_boxes
