"""The columns of an image's objects: in which lists each is stored, and how records have it.

What objects have beside an upright box is a row of `GEOMETRY`; nothing else here or in the trainer
tells one from another.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from tfrecord_dataset.format.feature import Feature

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
    """Whether a part of a key is a column's, or lies in its folder: no attribute can have it."""
    folder, in_folder, _ = part.partition("/")
    return part in _OWN or (bool(in_folder) and folder in _OWN_FOLDERS)
