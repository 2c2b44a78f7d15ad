"""The image of an Example with its objects, map and names drawn."""

import io
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.records import Objects
from beam_pipeline.showing.drawing import COLORS, draw
from beam_pipeline.showing.shading import Shading
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import SIDES


def draw_example(
    features: Sequence[Feature], example: Mapping[str, Any], most_side: int | None = None
) -> Image.Image | None:
    """The example's image with its objects, map and names on it; None without one.

    Args:
        features: Of the dataset.
        example: Values by key.
        most_side: As `draw` has it.

    Raises:
        RecordError: The image or the map cannot be decoded.
    """
    by_kind = {feature.kind: feature for feature in reversed(features)}
    if "image" not in by_kind:
        return None
    label = None
    if feature := by_kind.get("class_label"):
        label = _label(feature, example)
    image = example[by_kind["image"].key][0]
    shading = None
    if feature := by_kind.get("map"):
        shading = Shading(example[feature.key][0], feature.classes, COLORS)
    if feature := by_kind.get("boxes"):
        boxes = _boxes(feature, example)
        return draw(
            image, boxes, label, classes=feature.classes, shading=shading, most_side=most_side
        )
    return draw(image, None, label, shading=shading, most_side=most_side)


def _label(feature: Feature, example: Mapping[str, Any]) -> str:
    """The names of the record's classes, joined by commas."""
    if not feature.bare:
        texts = example[feature.key_beside("text")]
        return ", ".join(text.decode(errors="replace") for text in texts)
    values = example.get(feature.key, [])
    numbers = (number - feature.label_offset for number in values if number >= 0)
    return ", ".join(
        feature.classes[number] if feature.classes else str(number) for number in numbers
    )


def _boxes(feature: Feature, example: Mapping[str, Any]) -> Objects:
    if feature.encoding == "flat":
        flat = example.get(feature.key, [])
        rows = zip(flat[0::4], flat[1::4], flat[2::4], flat[3::4], strict=True)
        return Objects(boxes=tuple(rows), format="rel_xyxy")
    sides = (example[feature.key_beside(f"bbox/{side}")] for side in SIDES)
    names = example.get(feature.key_beside("class/text"), [])
    polygons = example.get(feature.key_beside("polygon"), []) if feature.geometry else []
    masks = example.get(feature.key_beside("mask"), []) if feature.geometry else []
    return Objects(
        boxes=tuple(zip(*sides, strict=True)),
        format="rel_xyxy",
        labels=tuple(name.decode(errors="replace") for name in names),
        keypoints=_keypoints(feature, example) if feature.keypoints else (),
        polygons=tuple(map(json.loads, polygons)),
        masks=tuple(mask_of(np.asarray(Image.open(io.BytesIO(each)))) for each in masks),
    )


def _keypoints(feature: Feature, example: Mapping[str, Any]) -> tuple[tuple[float, ...], ...]:
    x, y, visibility, number = (
        example.get(feature.key_beside(f"keypoint/{part}"), [])
        for part in ("x", "y", "visibility", "num")
    )
    triples = zip(x, y, visibility, strict=True)
    return tuple(
        tuple(each for point in itertools.islice(triples, count) for each in point)
        for count in number
    )
