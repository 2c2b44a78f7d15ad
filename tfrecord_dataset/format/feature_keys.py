"""The Example keys that store a feature, and the list under each.

`GEOMETRY` lists the shapes that objects have in addition to an upright box. docs/format.md
documents the keys for users.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tfrecord_dataset.format.feature import FEATURE_KINDS, Feature
from tfrecord_dataset.format.frames import MAX_PAYLOAD_BYTES

SIDES = ("xmin", "ymin", "xmax", "ymax")
"""Sides of a box: four lists, in the order of a box's numbers everywhere else."""

ColumnForm = Literal["numbers", "list", "classes", "points", "masks"]
"""How values are made from a column's lists: see `ObjectColumn.form`."""


class ObjectColumn(NamedTuple):
    """A column of objects.

    Attributes:
        name: Name of its values in records, such as "box_labels".
        lists: Kind of each list that its values are made from, by subkey.
        form: "list", the only list [n]; "numbers", its lists as columns [n, lists]; "classes",
            numbers from 0 [n]; "points" [n, points, 3]; "masks", PNG files whose pixels are
            [n, height, width].
        names: Lists of bytes with the same content in words, by subkey.
        moves: Whether a transformed image moves it; if not, the view omits it.
    """

    name: str
    lists: Mapping[str, str]
    form: ColumnForm = "list"
    names: tuple[str, ...] = ()
    moves: bool = True

    @property
    def stored(self) -> Mapping[str, str]:
        """Kind of each stored list, by subkey: `lists` and `names`."""
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
# Columns by name in `Feature.geometry`.
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
# List kinds of the dtypes in `Feature.dtype` and `Feature.attributes`; others use "bytes".
LISTS = {"int64": "int64", "float32": "float32"}


def object_columns(feature: Feature) -> list[ObjectColumn]:
    """Return the columns of a feature of boxes that is not flat, in key order: boxes first."""
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


def is_reserved_subkey(part: str) -> bool:
    """Whether a subkey is reserved for a column or below one, so not usable for attributes."""
    folder, in_folder, _ = part.partition("/")
    return part in _OWN or (bool(in_folder) and folder in _OWN_FOLDERS)


Lists = Mapping[str, tuple[str, Sequence[Any]]]
"""(kind, values) by key of an Example, as from `example.lists`."""


class ListSpec(NamedTuple):
    """The list that a key must hold.

    Attributes:
        kind: "int64", "float32" or "bytes".
        length: Number of values; None for any number, in which case the key may be missing.
        row_size: A divisor of the number of values.
        optional: Whether the key may be missing despite a fixed length.
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
    """Name a list of `kind` for messages."""
    return {"bytes": "a bytes list", "float32": "a float list", "int64": "an int64 list"}[kind]


def list_specs(feature: Feature) -> dict[str, ListSpec]:
    """Return the list of each key of `feature`; its main key is first, except for boxes."""
    if feature.kind == "boxes" and not feature.encoding:
        return _of_objects(feature, (column.stored for column in object_columns(feature)))
    specs = {feature.key: _of_key(feature)}
    if not feature.bare:
        length = None if feature.kind == "class_label" and feature.shape else 1
        for part, kind in FEATURE_KINDS[feature.kind].subkeys.items():
            specs[feature.subkey(part)] = ListSpec(kind, length=length)
    return specs


def specs_to_read(feature: Feature) -> dict[str, ListSpec]:
    """Return the lists that a feature's values are made from: the main key's, or the boxes'."""
    if feature.kind == "boxes" and not feature.encoding:
        return _of_objects(feature, (column.lists for column in object_columns(feature)))
    return {feature.key: _of_key(feature)}


def _of_objects(feature: Feature, columns: Iterable[Mapping[str, str]]) -> dict[str, ListSpec]:
    """Return the lists of columns by key."""
    return {
        feature.subkey(part): ListSpec(kind, length=None)
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
    """Return the list for a record without the key, if the feature has a default.

    Raises:
        ValueError: No record can hold as many values.
    """
    if length > MAX_PAYLOAD_BYTES:
        raise ValueError(f"feature {feature.name!r} has {length:,} values, more than a record")
    default = feature.default
    is_list = isinstance(default, Sequence) and not isinstance(default, str | bytes)
    values = default if is_list else [default] * length
    return [value.encode() if isinstance(value, str) else value for value in values]


def num_values(shape: Iterable[int | None]) -> int:
    """Number of values of such a shape; 0 if a size varies."""
    return math.prod(size or 0 for size in shape)


def agrees(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> bool:
    """Whether `sizes` match the start of a feature's shape, ignoring varying sizes."""
    return all(want in (None, size) for want, size in zip(shape, sizes, strict=False))


def shape_problem(feature: Feature, sizes: tuple[int, ...]) -> str:
    """Return how an image's or audio's size differs from the declared one, or ""."""
    if agrees(feature.shape, sizes):
        return ""
    wanted = list(feature.shape[: len(sizes)])
    return f"key {feature.key!r} holds {feature.kind} {list(sizes)}, where {wanted} was expected"


def rate_problem(feature: Feature, sample_rate: int) -> str:
    """Return how audio's sample rate differs from the declared one, or ""."""
    if feature.sample_rate in (0, sample_rate):
        return ""
    return (
        f"key {feature.key!r} has {sample_rate:,} samples per second, where "
        f"{feature.sample_rate:,} were expected"
    )


def list_problem(key: str, want: ListSpec, lists: Lists) -> str:
    """Return how an Example's list under `key` differs from `want`; "" if it does not."""
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
    """Return the key under which a build writes a feature without a declared key.

    It may depend on other features of the record: those of "label" and "captions" on "image", that
    of "transcript" on "audio".
    """
    stored = FEATURE_KINDS[kind]
    needed, key = stored.keys_by_name.get(name, ("", ""))
    if key and (not needed or needed in beside):
        return key
    own, of_image, *_ = (*(stored.keys or ("{name}",)), "")
    is_label = kind == "class_label"
    is_of_image = name == "label" and "image" in beside if is_label else name == "boxes"
    return of_image if of_image and is_of_image else own.format(name=name)


def with_key_of(
    feature: Feature, record_keys: Collection[str], names: Iterable[str] = ()
) -> Feature | None:
    """Return `feature` with its key in existing records; None if they do not have it.

    Tries the declared key, `names`, and the standard keys of its kind in this project, the TF
    Object Detection API and Model Garden. Boxes are flat if the records have their main key.
    """
    stored = FEATURE_KINDS[feature.kind]
    standard = [key.format(name=feature.name) for key in stored.keys]
    standard += stored.keys_by_name.get(feature.name, ())[1:]
    for key in (feature.key, *names, *standard):
        if feature.kind != "boxes":
            if key in record_keys:
                return dataclasses.replace(feature, key=key)
        elif key in record_keys:
            return dataclasses.replace(feature, key=key, encoding="flat")
        elif f"{key}/bbox/{SIDES[0]}" in record_keys:
            return dataclasses.replace(feature, key=key)
    return None
