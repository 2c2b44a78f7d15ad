"""The keys of an Example that hold a feature, and the list under each: the one table of them.

What objects have beside an upright box is a row of `GEOMETRY`. docs/format.md shows the keys to
people.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tfrecord_dataset.format.feature import STORED_KINDS, Feature

SIDES = ("xmin", "ymin", "xmax", "ymax")
"""Of a box: four lists, in the order of a box's numbers everywhere else."""

Form = Literal["numbers", "list", "classes", "points", "masks"]
"""How values are made of a column's lists: see `ObjectColumn.form`."""


class ObjectColumn(NamedTuple):
    """A column of objects.

    Attributes:
        name: Of its values in records, such as "box_labels".
        lists: The kind of each list that its values are made of, by part of the key.
        form: "list", the only list [n]; "numbers", its lists side by side [n, lists]; "classes",
            numbers from 0 [n]; "points" [n, points, 3]; "masks", PNG files whose pixels are
            [n, height, width].
        names: Lists of bytes that say the same in words, by part of the key.
        moves: Whether a view of the image shows it where it then is; a view leaves others out.
    """

    name: str
    lists: Mapping[str, str]
    form: Form = "list"
    names: tuple[str, ...] = ()
    moves: bool = True

    @property
    def stored(self) -> Mapping[str, str]:
        """The kind of each list that is stored, by part: `lists` and `names`."""
        return {**self.lists, **dict.fromkeys(self.names, "bytes")}


_SIDES = {f"bbox/{side}": "float32" for side in SIDES}
_POINTS = {
    "keypoint/x": "float32",
    "keypoint/y": "float32",
    "keypoint/visibility": "int64",
    "keypoint/num": "int64",
}
ROTATED = "rotated"
ROTATED_PARTS = tuple(f"{ROTATED}/{part}" for part in ("cx", "cy", "w", "h", "angle"))
# By name in `Feature.geometry`; a further one is a row here.
GEOMETRY: Mapping[str, ObjectColumn] = {
    "mask": ObjectColumn("masks", {"mask": "bytes"}, "masks"),
    "polygon": ObjectColumn("polygons", {"polygon": "bytes"}, moves=False),
    ROTATED: ObjectColumn(ROTATED, dict.fromkeys(ROTATED_PARTS, "float32"), "numbers", moves=False),
}
_OWN = {
    *_SIDES,
    "class/label",
    *_POINTS,
    *(part for each in GEOMETRY.values() for part in each.lists),
}
_OWN_FOLDERS = {part.partition("/")[0] for part in _OWN if "/" in part}
# Of dtypes in `Feature.dtype` and `Feature.attributes`; "bytes" of any other.
LISTS = {"int64": "int64", "float32": "float32"}


def object_columns(feature: Feature) -> list[ObjectColumn]:
    """The columns of a feature of boxes that is not flat, in the order of its keys: boxes first."""
    is_usual = feature.name == "boxes"
    one, several = ("box_", "") if is_usual else (f"{feature.name}_", f"{feature.name}_")
    columns = [ObjectColumn(feature.name, _SIDES, "numbers")]
    if feature.classes:
        names = () if feature.bare else ("class/text",)
        columns.append(ObjectColumn(f"{one}labels", {"class/label": "int64"}, "classes", names))
    columns += [
        ObjectColumn(one + name, {name: LISTS.get(dtype, "bytes")})
        for name, dtype in feature.attributes.items()
    ]
    if feature.keypoints:
        names = ("keypoint/text",) if feature.keypoint_names else ()
        columns.append(ObjectColumn(f"{several}keypoints", _POINTS, "points", names))
    for name in feature.geometry:
        column = GEOMETRY[name]
        columns.append(column._replace(name=several + column.name))
    return columns


def is_own_part(part: str) -> bool:
    """Whether a part of a key is reserved for a column, or is below it: no attribute can use it."""
    folder, in_folder, _ = part.partition("/")
    return part in _OWN or (bool(in_folder) and folder in _OWN_FOLDERS)


Lists = Mapping[str, tuple[str, Sequence[Any]]]
"""(kind, values) by key of an Example, as `example.lists` gives them."""


class ListSpec(NamedTuple):
    """The list that a key must hold.

    Attributes:
        kind: "int64", "float32" or "bytes".
        length: Number of values; None for any number, then the key may be missing.
        row_size: A divisor of the number of values.
        optional: Whether the key may be missing although the length is fixed.
    """

    kind: str
    length: int | None = 1
    row_size: int = 1
    optional: bool = False

    def __str__(self) -> str:
        if self.length is not None:
            return f"{describe_list(self.kind)} of {self.length}"
        rows = f" in rows of {self.row_size}" if self.row_size > 1 else ""
        return f"{describe_list(self.kind)}{rows}"


def describe_list(kind: str) -> str:
    """A list of `kind`, for messages."""
    return {"bytes": "a bytes list", "float32": "a float list", "int64": "an int64 list"}[kind]


def list_specs(feature: Feature) -> dict[str, ListSpec]:
    """The list that each key of `feature` must hold; the first key is its own, but for boxes."""
    if feature.kind == "boxes" and not feature.encoding:
        return _of_objects(feature, (each.stored for each in object_columns(feature)))
    specs = {feature.key: _of_key(feature)}
    if not feature.bare:
        length = None if feature.kind == "class_label" and feature.shape else 1
        for part, kind in STORED_KINDS[feature.kind].beside.items():
            specs[feature.key_beside(part)] = ListSpec(kind, length=length)
    return specs


def specs_to_read(feature: Feature) -> dict[str, ListSpec]:
    """The lists that a feature's values are made of, by key: its own, or those of boxes."""
    if feature.kind == "boxes" and not feature.encoding:
        return _of_objects(feature, (each.lists for each in object_columns(feature)))
    return {feature.key: _of_key(feature)}


def _of_objects(feature: Feature, columns: Iterable[Mapping[str, str]]) -> dict[str, ListSpec]:
    """Of columns with the kind of each list by part."""
    return {
        feature.key_beside(part): ListSpec(kind, length=None)
        for lists in columns
        for part, kind in lists.items()
    }


def _of_key(feature: Feature) -> ListSpec:
    kind = LISTS.get(feature.dtype, "bytes")
    match feature.kind:
        case "tensor":
            if feature.encoding == "bytes":
                return ListSpec("bytes")
            return ListSpec(kind, length=num_values(feature.shape))
        case "sequence":
            return ListSpec(kind, length=None, row_size=num_values(feature.shape[1:]))
        case "boxes":
            return ListSpec("float32", length=None, row_size=len(SIDES))
        case "class_label":
            length = None if feature.shape else 1
            return ListSpec("int64", length=length, optional=feature.may_lack_key)
        case "scalar":
            return ListSpec(kind)
    return ListSpec("bytes")


def default_values(feature: Feature, length: int) -> Sequence[Any]:
    """The list of a record without the feature's key, where it has a default: texts as bytes."""
    default = feature.default
    is_list = isinstance(default, Sequence) and not isinstance(default, str | bytes)
    values = default if is_list else [default] * length
    return [each.encode() if isinstance(each, str) else each for each in values]


def num_values(shape: Iterable[int | None]) -> int:
    """Values of such a shape; 0 where a size varies."""
    return math.prod(size or 0 for size in shape)


def agrees(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> bool:
    """Whether `sizes` are the first of a feature's shape, where those are fixed."""
    return all(want in (None, size) for want, size in zip(shape, sizes, strict=False))


def shape_problem(feature: Feature, sizes: tuple[int, ...]) -> str:
    """Where an image or audio is not as large as declared, or ""."""
    if agrees(feature.shape, sizes):
        return ""
    wanted = list(feature.shape[: len(sizes)])
    return f"key {feature.key!r} holds {feature.kind} {list(sizes)}, where {wanted} was expected"


def rate_problem(feature: Feature, sample_rate: int) -> str:
    """Where audio has another sample rate than declared, or ""."""
    if feature.sample_rate in (0, sample_rate):
        return ""
    return (
        f"key {feature.key!r} has {sample_rate:,} samples per second, where "
        f"{feature.sample_rate:,} were expected"
    )


def list_problem(key: str, want: ListSpec, lists: Lists) -> str:
    """What is wrong with the list that an Example has under `key`; "" where it is `want`."""
    if want.optional and key not in lists:
        return ""
    kind, values = lists.get(key, ("", ()))
    length = len(values)
    if kind in ("", want.kind):
        if want.length in (None, length) and length % want.row_size == 0:
            return ""
        if key not in lists:
            return f"key {key!r} is missing, where {want} was expected"
    actual = f"{describe_list(kind)} of {length}" if kind else "no value"
    return f"key {key!r} holds {actual}, where {want} was expected"


def written_key(name: str, kind: str, beside: Collection[str]) -> str:
    """The key under which a build writes a feature that does not state one.

    Args:
        name: The feature's.
        kind: One of `feature.KINDS`.
        beside: The names of the record's features: "image" decides the keys of "label" and
            "captions", "audio" that of "transcript".
    """
    stored = STORED_KINDS[kind]
    needed, key = stored.named.get(name, ("", ""))
    if key and (not needed or needed in beside):
        return key
    own, of_image, *_ = (*(stored.keys or ("{name}",)), "")
    is_label = kind == "class_label"
    is_of_image = name == "label" and "image" in beside if is_label else name == "boxes"
    return of_image if of_image and is_of_image else own.format(name=name)


def with_key_of(
    feature: Feature, record_keys: Collection[str], names: Iterable[str] = ()
) -> Feature | None:
    """`feature` under the key that records of others have; None if it is under none.

    Boxes are flat if the records have their key itself.

    Args:
        feature: As it is declared.
        record_keys: All keys of the records.
        names: Keys to try beside the declared one and the standard ones of its kind, which are
            those of this project, of the TF Object Detection API and of Model Garden.
    """
    stored = STORED_KINDS[feature.kind]
    standard = [key.format(name=feature.name) for key in stored.keys]
    standard += stored.named.get(feature.name, ())[1:]
    for key in (feature.key, *names, *standard):
        if feature.kind != "boxes":
            if key in record_keys:
                return dataclasses.replace(feature, key=key)
        elif key in record_keys:
            return dataclasses.replace(feature, key=key, encoding="flat")
        elif f"{key}/bbox/{SIDES[0]}" in record_keys:
            return dataclasses.replace(feature, key=key)
    return None
