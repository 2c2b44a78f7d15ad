"""Objects of an image: boxes, with classes, attributes, keypoints, polygons and masks."""

import array
import dataclasses
import hashlib
import itertools
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.boxes import Placed, place_column
from beam_pipeline.kinds.frame import MALFORMED, Frame
from beam_pipeline.kinds.kind import Inspection, Kind, Stored, check_text, range_problem, values
from beam_pipeline.kinds.object_columns import COLUMNS, ObjectCounts
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import count_classes, first_names
from beam_pipeline.outlines import Boxes, Outlines, packed_ring
from beam_pipeline.records import Objects, replaced
from tfrecord_dataset.format.example import FeatureValue, Ragged
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import SIDES, Lists, ListSpec, list_specs
from tfrecord_dataset.image_size import ImageSize

# A note.
MASK_NOT_KEPT = "run-length mask not kept: pass --masks"

_BOX_BYTES = 40
_NUMBER_BYTES = 9  # in a polygon's text
_MASK_BYTES = 100
# The splits of records without files depend on this text, so it must not change.
_NO_OBJECTS = Objects(boxes=(), format="rel_xyxy")
_NO_FRAME = Frame(size=ImageSize(0, 0))
_Content = namedtuple("Boxes", "coordinates format labels attributes keypoints image_size")  # type: ignore[name-match]


class ObjectsKind(Kind[Objects]):
    """Objects: fractions of the upright image, with the columns of their annotations."""

    values = (Objects,)
    features = ("boxes",)
    types = ("boxes",)
    dtypes = ("float32",)
    may_lack = True
    has_geometry = True
    has_classes = True

    def check(self, name: str, value: Objects, inspection: Inspection) -> Objects:
        inspection.num_bytes += 8
        checked: dict[str, Any] = {}
        for column in COLUMNS:
            stated = getattr(value, column.field)
            if stated and (values := column.check(name, stated)) is not stated:
                checked[column.field] = values
        size: Any = value.image_size
        if type(size) is tuple:  # a user's source may give any pair
            checked["image_size"] = ImageSize(*size)
        if value.masks and not inspection.rules.with_masks:
            checked["masks"] = ()
            if number := sum(mask is not None for mask in value.masks):
                inspection.notes[MASK_NOT_KEPT] += number
        self._check_keypoint_names(name, value)
        return replaced(value, **checked) if checked else value

    def _check_keypoint_names(self, name: str, value: Objects) -> None:
        names, flips = value.keypoint_names, value.keypoint_flips
        for each in names:
            check_text(name, each)
        if sorted(flips) != list(range(len(flips))) or (
            names and len(flips) not in (0, len(names))
        ):
            raise RecordError(
                MALFORMED, f"keypoint flips {flips!r:.80} are not the numbers of all keypoints"
            )

    def turn_column(
        self, values: Sequence[Objects], inspections: Sequence[Inspection]
    ) -> Sequence[Objects | RecordError]:
        """Convert objects to fractions of the record's image, else of the stated size."""
        rules = inspections[0].rules
        frames = [*map(_frame_of, values, inspections)]
        placed = place_column(
            values,
            [frame or _NO_FRAME for frame in frames],
            policy=rules.box_policy,
            stated=bool(rules.box_format),
        )
        return [*map(_counted, frames, placed, inspections)]

    def content(self, value: Objects) -> object:
        boxes = _Content(
            value.boxes, value.format, value.labels, value.attributes, value.keypoints, None
        )
        polygons = tuple(value.polygons)
        return (boxes, polygons, value.masks) if polygons or value.masks else boxes

    def annotation(self, value: Objects) -> object:
        """Return numbers as a digest, as their texts would take a third of a build's time."""
        outlines = Outlines.of(value.polygons) if value.polygons else Outlines()
        parts = [
            Boxes.of(value.boxes).data,
            packed_ring(itertools.chain(*value.keypoints)),
            array.array("I", map(len, value.keypoints)).tobytes(),
            *(outlines.coordinates, outlines.lengths, outlines.counts),
        ]
        others = dict(value.attributes)
        for name, column in value.attributes.items():
            if {*map(type, column)} == {float}:
                parts.append(packed_ring(column))
                others[name] = ()
        digest = hashlib.blake2b(b"".join(parts), digest_size=16).digest()
        return value.format, value.labels, others, [*map(len, parts)], digest, value.masks

    def class_names(self, value: Any, feature: Feature | None = None) -> Sequence[str]:
        return value.labels if isinstance(value, Objects) else ()

    def observe(self, value: Objects, source: str, observed: Observed) -> None:
        observed.measure("length", len(value.boxes))
        observed.of(ObjectCounts).without += not value.boxes
        for column in COLUMNS:
            column.observe(value, source, observed)

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        return {"shape": (None, 4), "label_offset": 1}

    def complete(self, feature: Feature, observed: Observed, declared: tuple[str, ...]) -> Feature:
        facts: dict[str, Any] = {}
        for column in COLUMNS:
            facts |= column.complete(feature, observed, declared)
        return dataclasses.replace(feature, **facts)

    def fits(self, feature: Feature, value: Any) -> bool:
        known = set(feature.classes)
        return isinstance(value, Objects) and (not known or set(value.labels) <= known)

    def shown(self, value: Objects) -> str:
        return f"{len(value.boxes)} boxes of {first_names(sorted(set(value.labels)))}"

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        yield count_classes(feature.classes)
        if feature.keypoint_names:
            yield f"keypoints {first_names(feature.keypoint_names)}"

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        column: list[Objects] = [value or _NO_OBJECTS for value in values]
        prefix = feature.subkey("")
        boxes = [Boxes.of(each.boxes) for each in column]
        numbers = np.frombuffer(b"".join([box.data for box in boxes])).reshape(-1, len(SIDES))
        counts = [*map(len, boxes)]
        if feature.encoding == "flat":
            return {feature.key: Ragged(numbers.ravel(), [len(SIDES) * count for count in counts])}
        lists: dict[str, Sequence[FeatureValue]] = {
            f"{prefix}bbox/{side}": Ragged(of_side, counts)
            for side, of_side in zip(SIDES, numbers.T, strict=True)
        }
        for each in COLUMNS:
            parts = each.encode_column(feature, column, stored)
            lists.update((prefix + part, values) for part, values in parts.items())
        return lists

    def problem(self, feature: Feature, lists: Lists) -> str:
        """Check that all lists, except those of keypoints, have one value per object."""
        if feature.encoding:
            return range_problem(feature, values(lists, feature.key))
        lengths = {
            key: len(values(lists, key))
            for key in list_specs(feature)
            if not key.startswith(feature.subkey("keypoint/"))
        }
        (one, shortest), *_, (other, longest) = sorted(lengths.items(), key=lambda item: item[1])
        if shortest == longest:
            return ""
        return (
            f"key {one!r} has {shortest} values, but {other!r} has {longest}; both need one per box"
        )

    def class_key(self, feature: Feature) -> str:
        return feature.subkey("class/label")

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        if key == self.class_key(feature):
            return tfds_features.sequence(tfds_features.class_number(feature))
        return tfds_features.sequence(tfds_features.scalar(spec.kind))


def _frame_of(value: Objects, inspection: Inspection) -> Frame | None:
    """Return the frame of the record's image, else of the size that the annotation states."""
    if frame := inspection.image_frame:
        return frame
    return value.image_size and Frame(size=value.image_size)


def _counted(
    frame: Frame | None, placed: Placed | RecordError, inspection: Inspection
) -> Objects | RecordError:
    """Count the bytes and changes of placed objects."""
    if frame is None:
        return RecordError(MALFORMED, "boxes without an image or a stated image size")
    if isinstance(placed, RecordError):
        return placed
    objects, changed = placed
    if changed:
        inspection.notes.update(changed)
    inspection.num_bytes += _BOX_BYTES * len(objects.boxes)
    if objects.polygons:
        inspection.num_bytes += _NUMBER_BYTES * Outlines.of(objects.polygons).numbers.size
    if objects.image_size and objects.masks:
        one = _MASK_BYTES + objects.image_size.height * objects.image_size.width // 500
        inspection.num_bytes += one * len(objects.masks)
    return objects
