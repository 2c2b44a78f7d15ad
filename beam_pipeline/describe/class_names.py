"""The files of class names beside the shards."""

from collections.abc import Sequence

from beam_pipeline.describe import label_map, metadata, tfds
from beam_pipeline.schema.feature import Feature


def texts(schema: Sequence[Feature]) -> dict[str, str]:
    """By file name: those of TFDS, and the label map of the TF Object Detection API."""
    boxes = [feature for feature in schema if feature.kind == "boxes"]
    classes = boxes[0].classes if boxes else metadata.main_classes(schema)
    detection = {"label_map.pbtxt": label_map.label_map(classes)} if classes else {}
    return tfds.class_names(schema) | detection
