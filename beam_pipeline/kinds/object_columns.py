"""Columns of objects: labels, keypoints, outlines, masks and attributes of each box.

A new kind of annotation needs a field of `records.Objects`, and a `Column` listed in `COLUMNS`.
"""

import dataclasses
import functools
import itertools
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.kinds.counts import Counts, added, by_key, first
from beam_pipeline.kinds.frame import IMPOSSIBLE_BOX, MALFORMED, Frame, rounded
from beam_pipeline.kinds.kind import Names, Stored, check_text
from beam_pipeline.kinds.label import as_number, check_declared, class_order, composed_names
from beam_pipeline.kinds.masks import checked, mask_of_polygons, png_of, turned
from beam_pipeline.kinds.numbers import check_number
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import unsupported
from beam_pipeline.outlines import Outlines, Ring
from beam_pipeline.records import Mask, Objects
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import ROTATED, ROTATED_PARTS, is_reserved_subkey
from tfrecord_dataset.image_size import ImageSize

FEWEST_CORNERS = 3
# Keys of `Observed.example`: objects with class names, and without.
NAMED, NAMELESS = "named", "nameless"
# In pixels, or in multiples of the image.
_FARTHEST_POINT = 1e9
# In image sides: a corner may be outside, but drawing must stay fast.
_FARTHEST_CORNER = 10.0
# Decimals of a corner's text in 0..1: a hundredth of a pixel in an image of 10,000.
_DECIMALS = 6
# Python writes smaller numbers with an exponent.
_LEAST_PLAIN = 1e-4
# An angle this close below π/2 is -π/2.
_ANGLE_ROUNDING = 1e-6
# Types of numbers, and a bound within which an Example can store any of them.
_NUMBERS = {int, float, bool}
_PLAIN = 2.0**62
# Of all masks of an image; each pixel takes about a nanosecond to store.
_MOST_PIXELS = 1 << 34
# Limit of names in a dataset, and of names times objects in an image.
MOST_NAMES = 1000
MOST_POINTS = 1_000_000
# Two differ; one more, as points may lack names.
_KEPT_NAMINGS = 3
_DIGITS = re.compile("([0-9]+)")
_SIDE = re.compile(r"left|right|(?<![a-z])[lr](?![a-z])", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}


Encoded = Mapping[str, FeatureValue]
"""Lists of an Example by part of the feature's key."""
Facts = Mapping[str, Any]
"""Fields of a `Feature`."""


KeypointNaming = tuple[tuple[str, ...], tuple[int, ...]]


def _wider(one: str | None, other: str) -> str:
    """Return a dtype for both: float32 for ints and floats, else string."""
    if one in (None, other):
        return other
    return "float32" if {one, other} == {"int64", "float32"} else "string"


def _merged_namings(
    one: dict[KeypointNaming, str], other: Mapping[KeypointNaming, str]
) -> dict[KeypointNaming, str]:
    """Merge the first sources of the smallest few namings."""
    return dict(sorted(by_key(first)(one, other).items())[:_KEPT_NAMINGS])


@dataclasses.dataclass(init=False)
class ObjectCounts(Counts):
    """Statistics of the objects of images.

    Attributes:
        without: Number of records without objects.
        geometry: Names of their shapes.
        attributes: Dtypes of their attributes by name.
        keypoints: The largest number of points of an object.
        keypoint_naming: Source of the first record by naming (names of points, and pairs of left
            and right), for the smallest few.
        keypoint_names: All names of points.
    """

    without: Annotated[int, operator.add] = 0
    geometry: Annotated[set[str], added] = dataclasses.field(default_factory=set)
    attributes: Annotated[dict[str, str], by_key(_wider)] = dataclasses.field(default_factory=dict)
    keypoints: Annotated[int, max] = 0
    keypoint_naming: Annotated[dict[KeypointNaming, str], _merged_namings] = dataclasses.field(
        default_factory=dict
    )
    keypoint_names: Annotated[set[str], added] = dataclasses.field(default_factory=set)


class Placement(NamedTuple):
    """How the values of an annotation become those of the stored image.

    Attributes:
        kept: Indices of the objects to keep.
        frame: The frame of the annotation's numbers.
        image: The image's frame, for values with their own size.
    """

    kept: Sequence[int]
    frame: Frame
    image: Frame

    def taken(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of kept objects."""
        if len(self.kept) == len(values):
            return tuple(values)
        return tuple(values[index] for index in self.kept)


class Column:
    """One column: how it is checked, placed, counted, declared and stored.

    An unusable value is a RecordError.

    Attributes:
        field: Its field of `Objects`; empty if annotations have no such column.
        noun: Name of its values, for messages.
        geometry: Names of its shapes in `Feature.geometry`.
    """

    field: ClassVar[str] = ""
    noun: ClassVar[str] = ""
    geometry: ClassVar[str] = ""

    def check_length(self, values: Any, number: int) -> None:
        """Check that there are no values, or one for each of `number` objects."""
        if values and len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} {self.noun}")

    def check(self, name: str, values: Any) -> Any:
        """Check values of feature `name`, and return those to store."""
        return values

    def place(self, values: Any, placement: Placement) -> Any:
        """Convert the values of kept objects to the stored image."""
        return placement.taken(values)

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        """Count the column of a record from `source`."""
        if self.geometry and any(getattr(objects, self.field)):
            observed.of(ObjectCounts).geometry.add(self.geometry)

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Facts:
        """Return the column's fields of `Feature`.

        Raises:
            DataError: Records are inconsistent, or have undeclared classes.
        """
        return {}

    def encode(self, feature: Feature, objects: Objects, stored: Stored) -> Encoded:
        """Return the column's lists by part of the key, if the feature has the column."""
        raise NotImplementedError

    def encode_column(
        self, feature: Feature, column: Sequence[Objects], stored: Sequence[Stored]
    ) -> Mapping[str, Sequence[FeatureValue]]:
        """Return the lists of several records by part of the key, as `encode` does for one."""
        rows = [self.encode(feature, *each) for each in zip(column, stored, strict=True)]
        return {part: [row[part] for row in rows] for part in rows[0]}


class Labels(Column):
    """Class names, one per object."""

    field = noun = "labels"

    def check(self, name: str, values: tuple[str, ...]) -> tuple[str, ...]:
        return composed_names(name, values)

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        observed.classes.update(objects.labels)
        if objects.boxes:
            observed.add_example(NAMED if objects.labels else NAMELESS, source)

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Facts:
        if observed.example.keys() >= {NAMED, NAMELESS}:
            named, nameless = observed.example[NAMED], observed.example[NAMELESS]
            raise DataError(
                f"feature {feature.name!r} has boxes with class names in {named}, but without in "
                f"{nameless}; name the class of every box, or of none"
            )
        names = feature.classes or declared
        return {"classes": class_order(feature.name, observed.classes, names)}

    def encode(self, feature: Feature, objects: Objects, stored: Stored) -> Encoded:
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
    """Flat triples of x, y and visibility; never clipped.

    (0, 0, 0) is a missing point and is kept. If records name different points, the feature has the
    sorted names of all records, and each point is stored at the index of its name.
    """

    field = "keypoints"
    noun = "sets of keypoints"

    def check_length(self, values: tuple[Ring, ...], number: int) -> None:
        super().check_length(values, number)
        if any(len(triples) % 3 for triples in values):
            raise RecordError(MALFORMED, "keypoints that are not triples of x, y and visibility")

    def place(self, values: tuple[Ring, ...], placement: Placement) -> tuple[Ring, ...]:
        return tuple(_placed_points(each, placement.frame) for each in placement.taken(values))

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        if most := max((len(triples) // 3 for triples in objects.keypoints), default=0):
            naming = {(objects.keypoint_names, objects.keypoint_flips): source}
            observed.of(ObjectCounts).merge(
                ObjectCounts(
                    keypoints=most,
                    keypoint_naming=naming,
                    keypoint_names={*objects.keypoint_names},
                )
            )

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Facts:
        counts = observed.of(ObjectCounts)
        number = feature.keypoints or counts.keypoints
        names, flips = feature.keypoint_names, feature.keypoint_flips
        if names:
            undeclared = in_order(counts.keypoint_names - set(names))
            check_declared("keypoints", feature.name, undeclared, names)
        known = sorted(each for each in counts.keypoint_naming if any(each))
        if not (names or flips) and known:
            names, flips = _common_naming(feature, known, counts)
            number = len(names) if len(known) > 1 else number
        elif counts.keypoint_names:
            number = max(number, len(names))
        return {"keypoints": number, "keypoint_names": names, "keypoint_flips": flips}

    def encode(self, feature: Feature, objects: Objects, stored: Stored) -> Encoded:
        """Encode as the TF Object Detection API: flat, with the number of points of each object."""
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


def _common_naming(
    feature: Feature,
    known: Sequence[KeypointNaming],
    counts: ObjectCounts,
) -> KeypointNaming:
    """Return (names, flips) of the keypoints of all records."""
    if len(known) == 1:
        return known[0]
    if len({names for names, _ in counts.keypoint_naming if names}) < len(counts.keypoint_naming):
        one, other = sorted(counts.keypoint_naming.values())[:2]
        raise DataError(
            f"feature {feature.name!r} has keypoints with other names, or other pairs of left and "
            f"right, in {one} than in {other}; make them alike"
        )
    names = in_order(counts.keypoint_names)
    if len(names) > MOST_NAMES:
        raise DataError(
            f"feature {feature.name!r} has {len(names):,} names of keypoints, such as "
            f"{', '.join(names[:5])}; {MOST_NAMES:,} are most: make names alike"
        )
    return names, mirrored(names)


def _placed_points(triples: Ring, frame: Frame) -> Ring:
    placed: list[float] = []
    for x, y, visibility in zip(triples[::3], triples[1::3], triples[2::3], strict=True):
        if not abs(x) + abs(y) < _FARTHEST_POINT:  # true for NaN
            raise RecordError(IMPOSSIBLE_BOX, f"a keypoint at ({x}, {y}); correct or remove it")
        if x or y or visibility:
            x, y = frame.point(x, y)
        placed += (*rounded(x, y), visibility)
    return tuple(placed)


class Polygons(Column):
    """Outlines of any number of closed rings; never clipped."""

    field = noun = "polygons"
    geometry = "polygon"

    def check(self, name: str, values: Sequence[Sequence[Sequence[float]]]) -> Sequence[Any]:
        outlines = _outlines(values)
        lengths = outlines.ring_lengths
        wrong = lengths[(lengths < 2 * FEWEST_CORNERS) | (lengths % 2 == 1)]
        if wrong.size:
            raise RecordError(
                MALFORMED, f"a polygon of {wrong[0]} numbers; x, y of 3 corners are fewest"
            )
        return outlines

    def place(self, values: Sequence[Any], placement: Placement) -> Outlines:
        return _placed(_outlines(values).taken(placement.kept), placement.frame)

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Facts:
        """Return the fields for polygons, rotated boxes and masks."""
        return {"geometry": feature.geometry or tuple(sorted(observed.of(ObjectCounts).geometry))}

    def encode_column(
        self, feature: Feature, column: Sequence[Objects], stored: Sequence[Stored]
    ) -> Mapping[str, Sequence[FeatureValue]]:
        """Encode one text per object: the JSON list of its rings, [] without any."""
        if "polygon" not in feature.geometry:
            return {}
        outlines = [Outlines.of(each.polygons or ((),) * len(each.boxes)) for each in column]
        texts = iter(_texts(outlines))
        return {"polygon": [[*itertools.islice(texts, len(outline))] for outline in outlines]}


def _outlines(values: Sequence[Sequence[Sequence[float]]]) -> Outlines:
    try:
        return Outlines.of(values)
    except (TypeError, OverflowError) as error:
        raise RecordError(MALFORMED, f"polygons {values!r:.80}, not of numbers") from error


def _texts(outlines: Sequence[Outlines]) -> list[bytes]:
    """Return each object's rings as a JSON list, like Python's json in a sixth of the time."""
    numbers, lengths, counts = (
        np.concatenate([getattr(outline, name) for outline in outlines])
        for name in ("numbers", "ring_lengths", "ring_counts")
    )
    numbers = np.round(numbers, _DECIMALS) + 0.0  # no -0.0
    texts = pa.array(numbers).cast(pa.string())
    # Arrow writes 1 and 0.000001 for Python's 1.0 and 1e-06.
    unlike = (numbers == np.trunc(numbers)) | (np.abs(numbers) < _LEAST_PLAIN)
    python = pa.array(map(repr, numbers[unlike].tolist()), pa.string())
    texts = pc.replace_with_mask(texts, pa.array(unlike), python)
    objects: list[bytes] = _lists(_lists(texts, lengths), counts).cast(pa.binary()).to_pylist()
    return objects


def _lists(texts: pa.Array, lengths: npt.NDArray[np.int32]) -> pa.Array:
    """Join texts into JSON lists of these lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), ",")
    return pc.binary_join_element_wise("[", joined, "]", "")


def _placed(outlines: Outlines, frame: Frame) -> Outlines:
    """Convert the numbers of all rings to the stored image at once."""
    stated = outlines.numbers
    corners = np.empty_like(stated)
    corners[0::2], corners[1::2] = frame.point(stated[0::2], stated[1::2])
    far = ~(np.abs(corners) <= _FARTHEST_CORNER)  # true for NaN
    if far.any():
        at, ends = np.flatnonzero(far)[0], np.cumsum(outlines.ring_lengths)
        ring = outlines.rings()[int(np.searchsorted(ends, at, side="right"))]
        raise RecordError(
            IMPOSSIBLE_BOX,
            f"a polygon {ring!r:.80} with a corner ten images away; correct or remove it",
        )
    corners += 0.0  # no -0.0
    return dataclasses.replace(outlines, coordinates=corners.tobytes())


class Rotated(Column):
    """Rotated boxes, as four corners; never clipped."""

    field = "rotated"
    noun = "rotated ones"
    geometry = ROTATED

    def check_length(self, values: Sequence[Any], number: int) -> None:
        super().check_length(values, number)
        if wrong := [value for value in values if len(value) not in (0, 8)]:
            raise RecordError(
                MALFORMED, f"a rotated box of {len(wrong[0])} numbers, not x, y of four corners"
            )

    def place(self, values: Sequence[Ring], placement: Placement) -> tuple[Ring, ...]:
        outlines = _outlines([(each,) if each else () for each in placement.taken(values)])
        return tuple(rings[0] if rings else () for rings in _placed(outlines, placement.frame))

    def encode(self, feature: Feature, objects: Objects, stored: Stored) -> Encoded:
        """Encode five numbers per object, including upright ones."""
        if ROTATED not in feature.geometry:
            return {}
        if objects.boxes and objects.image_size is None:
            raise RecordError(MALFORMED, "rotated boxes of an image whose size is not known")
        rings = objects.rotated or itertools.repeat((), len(objects.boxes))
        pairs = zip(objects.boxes, rings, strict=True)
        rows = [_rotated(box, ring, objects.image_size) for box, ring in pairs]
        columns = zip(*rows, strict=True) if rows else [()] * len(ROTATED_PARTS)
        return {part: list(column) for part, column in zip(ROTATED_PARTS, columns, strict=True)}


def _rotated(box: Sequence[float], ring: Ring, size: ImageSize | None) -> tuple[float, ...]:
    """Return cx, cy, w, h in fractions, and the clockwise angle of the longer side w in -π/2..π/2.

    If the corners are not an exact rectangle in the stored image, opposite sides are averaged.
    """
    assert size is not None
    xmin, ymin, xmax, ymax = box
    upright = (xmin, ymin, xmax, ymin, xmax, ymax, xmin, ymax)
    image = np.array(size[::-1], np.float64)
    corners = np.reshape(ring or upright, (4, 2)) * image
    first, second = (corners[[1, 2]] - corners[[0, 3]], corners[[2, 3]] - corners[[1, 0]])
    long, short = sorted((first.mean(axis=0), second.mean(axis=0)), key=np.linalg.norm)[::-1]
    turn = (math.atan2(long[1], long[0]) + math.pi / 2) % math.pi
    angle = (turn if math.pi - turn > _ANGLE_ROUNDING else 0.0) - math.pi / 2
    sides = (np.linalg.norm(long), np.linalg.norm(short)) / image
    return (*(corners.mean(axis=0) / image).tolist(), *sides.tolist(), angle)


class Masks(Column):
    """Pixels of objects, as run lengths or as the inside of the object's polygons.

    If one image has masks, the objects of all others get them too, from their polygons.
    """

    field = noun = "masks"

    def check(self, name: str, values: Sequence[Any]) -> tuple[Mask | None, ...]:
        return tuple(None if value is None else checked(value) for value in values)

    def place(self, values: Sequence[Mask | None], placement: Placement) -> tuple[Mask | None, ...]:
        number, image = len(placement.kept), placement.image
        height, width = image.stored_size
        if number * height * width > _MOST_PIXELS:
            raise RecordError(
                MALFORMED,
                f"{number:,} masks of {width}x{height} pixels, too many to store; cut the "
                "image into parts, or leave out --masks",
            )
        return tuple(
            each and turned(each, image.of_annotation(each.size, relative=False))
            for each in placement.taken(values)
        )

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        if objects.masks:  # even without any mask, for those of polygons
            observed.of(ObjectCounts).geometry.add("mask")

    def encode(self, feature: Feature, objects: Objects, stored: Stored) -> Encoded:
        """Encode one PNG per object, in the image's size, like Model Garden; zeros without mask."""
        if "mask" not in feature.geometry:
            return {}
        if objects.boxes and objects.image_size is None:
            raise RecordError(MALFORMED, "masks of an image whose size is not known")
        number, size = len(objects.boxes), objects.image_size or ImageSize(0, 0)
        pairs = zip(
            objects.masks or (None,) * number, objects.polygons or ((),) * number, strict=True
        )
        return {"mask": [png_of(mask or mask_of_polygons(rings, size)) for mask, rings in pairs]}


class Attributes(Column):
    """Columns of numbers or texts, named by the source.

    "area" is only multiplied by the frame's scale, even if the box is clipped, as it may be the
    area of a segment.
    """

    field = "attributes"

    def check_length(self, values: Mapping[str, Sequence[Any]], number: int) -> None:
        for name, column in values.items():
            if len(column) != number:
                raise RecordError(MALFORMED, f"{number} boxes but {len(column)} values of {name!r}")

    def check(self, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        for attribute, column in values.items():
            if is_reserved_subkey(attribute):
                raise RecordError(
                    MALFORMED,
                    f"an attribute called {attribute!r}, which is a key of its own; rename it",
                )
            unusual: Sequence[Any] = column
            if {*map(type, column)} <= _NUMBERS:
                unusual = [each for each in column if not -_PLAIN < each < _PLAIN]
            for each in unusual:
                if isinstance(each, str):
                    check_text(f"{name}.{attribute}", each)
                elif isinstance(each, int | float):
                    check_number(f"{name}.{attribute}", each)
                else:
                    raise unsupported(each)
        return values

    def place(self, values: Mapping[str, Any], placement: Placement) -> Mapping[str, Any]:
        placed = {name: placement.taken(column) for name, column in values.items()}
        if "area" in placed and placement.frame.scale != (1.0, 1.0):
            placed["area"] = tuple(map(placement.frame.area, placed["area"]))
        return placed

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        dtypes = {
            name: functools.reduce(_wider, map(_dtype_of, set(map(type, column))))
            for name, column in objects.attributes.items()
            if column
        }
        if dtypes:
            observed.of(ObjectCounts).merge(ObjectCounts(attributes=dtypes))

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Facts:
        return {
            "attributes": feature.attributes
            or dict(sorted(observed.of(ObjectCounts).attributes.items()))
        }

    def encode(self, feature: Feature, objects: Objects, stored: Stored) -> Encoded:
        """Encode one value per object; -1 or "" if the record lacks the attribute."""
        parts: dict[str, FeatureValue] = {}
        for name, dtype in feature.attributes.items():
            absent = "" if dtype == "string" else -1
            given = objects.attributes.get(name, (absent,) * len(objects.boxes))
            if dtype == "string":
                parts[name] = [str(value).encode() for value in given]
            else:
                parts[name] = [*map(float if dtype == "float32" else int, given)]
        return parts


def _dtype_of(value: type) -> str:
    if issubclass(value, str):
        return "string"
    return "int64" if issubclass(value, int) else "float32"


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Sort names, with numbers by value: "tip 2" comes before "tip 10"."""

    def parts(name: str) -> list[object]:
        return [as_number(each) if at % 2 else each for at, each in enumerate(_DIGITS.split(name))]

    return tuple(sorted(set(names), key=parts))


def check_points(num_objects: int, names: Sequence[str]) -> None:
    """Raise RecordError for an implausible number of points, before they are created."""
    if len(names) > MOST_NAMES or num_objects * len(names) > MOST_POINTS:
        raise RecordError(
            MALFORMED, f"{len(names):,} names of keypoints in {num_objects:,} objects, too many"
        )


def aligned(
    points: tuple[tuple[float, ...], ...], names: tuple[str, ...], order: tuple[str, ...]
) -> tuple[tuple[float, ...], ...]:
    """Reorder rows of triples from `names` to `order`; missing points are three zeros."""
    if names == order:
        return points
    if len({*names}) < len(names) or any(len(row) not in (0, 3 * len(names)) for row in points):
        raise RecordError(
            MALFORMED,
            f"keypoints {', '.join(names[:20])}, where other records name others: each object "
            "needs one point of each name",
        )
    check_points(len(points), order)
    place = {name: 3 * number for number, name in enumerate(names)}
    places = [place.get(name) for name in order]
    absent = (0.0, 0.0, 0.0)
    return tuple(
        tuple(
            each
            for at in (places if row else ())
            for each in (absent if at is None else row[at : at + 3])
        )
        for row in points
    )


def mirrored(names: Sequence[str]) -> tuple[int, ...]:
    """Return the index of each point's mirror image: that of right_eye for left_eye.

    Points without a side, or without a counterpart, keep their own index.
    """
    numbers = {name.lower(): number for number, name in enumerate(names)}
    others = (_SIDE.sub(lambda side: _OTHER[side[0].lower()], name.lower()) for name in names)
    flips = tuple(numbers.get(other, number) for number, other in enumerate(others))
    return flips if sorted(flips) == list(range(len(names))) else tuple(range(len(names)))


COLUMNS: tuple[Column, ...] = (Labels(), Keypoints(), Polygons(), Rotated(), Masks(), Attributes())
