"""`show`: records as text, and images with their boxes drawn."""

import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from beam_pipeline import kinds
from beam_pipeline.cli.drawing import COLORS, draw
from beam_pipeline.cli.shading import Shading
from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.dataset.reading import read_examples
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.records import Objects
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import SIDES
from tfrecord_dataset.inner_paths import name_part
from tfrecord_dataset.shown_text import printable
from tfrecord_dataset.value_forms import form_of

_MAX_CHARACTERS = 80
_MAX_VALUES = 8


def as_text(example: Mapping[str, Any], features: Iterable[Feature] = ()) -> str:
    """The Example as aligned lines `key  value`; long values are cut, binary ones give their size.

    Where `features` declare a key, arrays show their type and shape, audio its length.
    """
    keys = {key: printable(key, keeps="") for key in example}
    width = max(map(len, keys.values()), default=0)
    notes = {
        feature.key: kinds.named(feature).note(feature, example)
        for feature in features
        if feature.key in example
    }
    return "\n".join(
        f"{keys[key]:{width}}  {_values_text(value)}{notes.get(key, '')}"
        for key, value in example.items()
    )


def _values_text(values: Sequence[Any]) -> str:
    texts = [_value_text(value) for value in values[:_MAX_VALUES]]
    more = f" … {len(values)} values" if len(values) > _MAX_VALUES else ""
    if len(values) == 1:
        return texts[0]
    return f"[{', '.join(texts)}{more}]"


def _value_text(value: Any) -> str:
    match value:
        case bytes():
            if not value:
                return ""
            text = value.decode() if form_of(value) == "text" else ""
            if not 0 < len(text) <= _MAX_CHARACTERS:
                return f"<{len(value):,} bytes>"
            return text if text.isprintable() else repr(text)  # in its line
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)


def examples(
    info: DatasetInfo, split: str | None, limit: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(split, Example) of the first `limit` records of one split, or of each."""
    for name in [split] if split else info.splits:
        for example in itertools.islice(read_examples(info, name), limit):
            yield name, example


def draw_example(features: Sequence[Feature], example: Mapping[str, Any]) -> bytes | None:
    """The example's image with its objects, map and names on it, as JPEG; None without one."""
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
        return draw(image, boxes, label, classes=feature.classes, shading=shading)
    return draw(image, None, label, shading=shading)


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


def write_images(
    info: DatasetInfo, split: str | None, limit: int, folder: Path
) -> Iterator[tuple[str, dict[str, Any], Path | None]]:
    """Like `examples`, with the path of the image written into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, example) in enumerate(examples(info, split, limit)):
        image = draw_example(info.features, example)
        path = None
        if image is not None:
            (source,) = example.get("image/filename", [])[:1] or [b"record"]
            stem = Path(source.decode(errors="replace")).stem
            path = folder / f"{name_part(f'{name}-{number:05d}-{stem}')}.jpg"
            path.write_bytes(image)
        yield name, example, path
