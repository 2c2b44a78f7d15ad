"""Columns of objects: what each object of an image has beside its box.

A further kind of annotation is a field of `records.Objects`, a `Column` and its place in `COLUMNS`.
Polygons, rotated boxes and masks stand in `kinds.outlines`.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.kinds.column import IMPOSSIBLE_BOX, MALFORMED, Column, taken
from beam_pipeline.kinds.frame import Frame, rounded
from beam_pipeline.kinds.kind import Stored, check_text
from beam_pipeline.kinds.label import class_order, composed_names
from beam_pipeline.kinds.numbers import check_number
from beam_pipeline.kinds.observed import Observed, wider
from beam_pipeline.kinds.outlines import Masks, Polygons, Rotated
from beam_pipeline.kinds.points import MOST_NAMES, aligned, in_order, mirrored
from beam_pipeline.kinds.wording import unsupported
from beam_pipeline.records import Objects
from tfrecord_dataset.example import FeatureValue
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.object_columns import is_own_part

_FARTHEST = 1e9


class Labels(Column):
    """Classes by their names, as many as objects."""

    field = "labels"

    def check_length(self, values: tuple[str, ...], number: int) -> None:
        if values and len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} labels")

    def check(self, name: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return composed_names(name, values)

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        observed.classes.update(objects.labels)
        if objects.boxes:
            observed.add_naming(*((source, "") if objects.labels else ("", source)))

    def complete(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Mapping[str, Any]:
        if observed.named and observed.nameless:
            raise DataError(
                f"feature {feature.name!r} has boxes with class names in {observed.named}, but "
                f"without in {observed.nameless}; name the class of every box, or of none"
            )
        names = feature.classes or declared
        return {"classes": class_order(feature.name, observed.classes, names)}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        if not feature.classes:
            return {}
        if len(objects.labels) != len(objects.boxes):
            raise RecordError(
                MALFORMED,
                f"{len(objects.boxes)} boxes but {len(objects.labels)} class names, where "
                "other records name the class of every box",
            )
        number_of = stored.numbers[feature.name]
        numbers = [number_of[name] for name in objects.labels]
        if feature.bare:
            return {"class/label": numbers}
        return {"class/label": numbers, "class/text": [name.encode() for name in objects.labels]}


class Keypoints(Column):
    """Triples of x, y and visibility, one after the other; never clipped.

    (0, 0, 0) stays, as it means that there is none. Where records name other points, all names of
    all records are the feature's, sorted, and each point is stored in the place of its name.
    """

    field = "keypoints"

    def check_length(self, values: tuple[tuple[float, ...], ...], number: int) -> None:
        if values and len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} sets of keypoints")
        if any(len(triples) % 3 for triples in values):
            raise RecordError(MALFORMED, "keypoints that are not triples of x, y and visibility")

    def place(
        self, values: tuple[tuple[float, ...], ...], kept: Sequence[int], frame: Frame, image: Frame
    ) -> tuple[tuple[float, ...], ...]:
        return tuple(_placed_points(values[index], frame) for index in kept)

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        most = max((len(triples) // 3 for triples in objects.keypoints), default=0)
        observed.keypoints = max(observed.keypoints, most)
        if most:
            naming = (objects.keypoint_names, objects.keypoint_flips)
            observed.add_keypoint_naming(naming, source)

    def complete(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Mapping[str, Any]:
        number = feature.keypoints or observed.keypoints
        names, flips = feature.keypoint_names, feature.keypoint_flips
        known = sorted(each for each in observed.keypoint_naming if any(each))
        if names and (undeclared := in_order(observed.keypoint_names - set(names))):
            raise DataError(
                f"feature {feature.name!r} has undeclared keypoints: {', '.join(undeclared[:10])}; "
                f"declared are {', '.join(names[:20])}; declare them, too, or fix the annotations"
            )
        if not (names or flips) and known:
            (names, flips), *others = known
            if others and len({each for each, _ in observed.keypoint_naming if each}) < len(
                observed.keypoint_naming
            ):
                one, other = sorted(observed.keypoint_naming.values())[:2]
                raise DataError(
                    f"feature {feature.name!r} has keypoints with other names, or other pairs of "
                    f"left and right, in {one} than in {other}; make them alike"
                )
            if others:
                names = in_order(observed.keypoint_names)
                number, flips = len(names), mirrored(names)
                if number > MOST_NAMES:
                    raise DataError(
                        f"feature {feature.name!r} has {number:,} names of keypoints, such as "
                        f"{', '.join(names[:5])}; {MOST_NAMES:,} are most: make names alike"
                    )
        elif observed.keypoint_names:
            number = max(number, len(names))
        return {"keypoints": number, "keypoint_names": names, "keypoint_flips": flips}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        """As the TF Object Detection API has them: flat, with the number of points of each."""
        if not feature.keypoints:
            return {}
        points = objects.keypoints or ((),) * len(objects.boxes)
        if objects.keypoint_names and feature.keypoint_names:
            points = aligned(points, objects.keypoint_names, feature.keypoint_names)
        flat = [coordinate for row in points for coordinate in row]
        lists: dict[str, FeatureValue] = {
            "keypoint/x": [float(x) for x in flat[0::3]],
            "keypoint/y": [float(y) for y in flat[1::3]],
            "keypoint/visibility": [int(v) for v in flat[2::3]],
            "keypoint/num": [len(row) // 3 for row in points],
        }
        if names := feature.keypoint_names:
            lists["keypoint/text"] = [
                name.encode() for row in points for name in names[: len(row) // 3]
            ]
        return lists


class Attributes(Column):
    """Columns of numbers or texts by names of the source's.

    "area" is kept as stated, times the frame's scale, also where a box is clipped: it may be a
    segment's.
    """

    field = "attributes"

    def check_length(self, values: Mapping[str, Sequence[Any]], number: int) -> None:
        for name, column in values.items():
            if len(column) != number:
                raise RecordError(MALFORMED, f"{number} boxes but {len(column)} values of {name!r}")

    def check(self, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        for attribute, column in values.items():
            if is_own_part(attribute):
                raise RecordError(
                    MALFORMED,
                    f"an attribute called {attribute!r}, which is a key of its own; rename it",
                )
            for each in column:
                if isinstance(each, str):
                    check_text(f"{name}.{attribute}", each)
                elif isinstance(each, int | float):
                    check_number(f"{name}.{attribute}", each)
                else:
                    raise unsupported(each)
        return values

    def place(
        self, values: Mapping[str, Any], kept: Sequence[int], frame: Frame, image: Frame
    ) -> Mapping[str, Any]:
        placed = {name: taken(column, kept) for name, column in values.items()}
        if "area" in placed and frame.scale != (1.0, 1.0):
            placed["area"] = tuple(map(frame.area, placed["area"]))
        return placed

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        observed.add_attributes(
            {
                name: functools.reduce(wider, map(_dtype_of, column))
                for name, column in objects.attributes.items()
                if column
            }
        )

    def complete(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Mapping[str, Any]:
        return {"attributes": feature.attributes or dict(sorted(observed.attributes.items()))}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        """One value an object; where the record has no such attribute, -1 or ""."""
        parts: dict[str, FeatureValue] = {}
        for name, dtype in feature.attributes.items():
            absent = "" if dtype == "string" else -1
            given = objects.attributes.get(name, (absent,) * len(objects.boxes))
            if dtype == "string":
                parts[name] = [str(value).encode() for value in given]
            else:
                parts[name] = [float(v) if dtype == "float32" else int(v) for v in given]
        return parts


COLUMNS: tuple[Column, ...] = (Labels(), Keypoints(), Polygons(), Rotated(), Masks(), Attributes())


def _placed_points(triples: tuple[float, ...], frame: Frame) -> tuple[float, ...]:
    placed: list[float] = []
    for x, y, visibility in zip(triples[::3], triples[1::3], triples[2::3], strict=True):
        if not abs(x) + abs(y) < _FARTHEST:  # nor is NaN
            raise RecordError(IMPOSSIBLE_BOX, f"a keypoint at ({x}, {y}); correct or remove it")
        if x or y or visibility:
            x, y = frame.point(x, y)
        placed += (*rounded(x, y), visibility)
    return tuple(placed)


def _dtype_of(value: object) -> str:
    return "string" if isinstance(value, str) else "int64" if isinstance(value, int) else "float32"
