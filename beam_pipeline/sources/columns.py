"""What the columns of a manifest mean: which one is the picture, the label, the boxes, ….

Names are compared without regard to case; the first name of a list that a manifest has is it.
"""

import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from beam_pipeline.boxes import FORMATS
from beam_pipeline.errors import ConfigError, RecordError

IMAGE = (
    "image", "file_name", "filename", "image_path", "path", "file", "filepath", "file_path",
    "image_file", "image_file_name", "image_name", "image_uri", "uri", "img", "img_path",
)  # fmt: skip
LABEL = (
    "label", "class", "category", "class_name", "label_name", "category_name", "target",
    "class_label",
)  # fmt: skip
SPLIT = ("split", "set", "subset", "ml_use")
WIDTH = ("width", "image_width", "img_width")
HEIGHT = ("height", "image_height", "img_height")

# Four columns that hold one box, and the format that their names state, in pixels.
CORNERS = (
    (("xmin", "ymin", "xmax", "ymax"), "xyxy"),
    (("x_min", "y_min", "x_max", "y_max"), "xyxy"),
    (("x1", "y1", "x2", "y2"), "xyxy"),
    (("left", "top", "right", "bottom"), "xyxy"),
    (("bbox_xmin", "bbox_ymin", "bbox_xmax", "bbox_ymax"), "xyxy"),
    (("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2"), "xyxy"),
    (("x", "y", "w", "h"), "xywh"),
    (("bbox_x", "bbox_y", "bbox_w", "bbox_h"), "xywh"),
    (("bbox_x", "bbox_y", "bbox_width", "bbox_height"), "xywh"),
    (("x", "y", "width", "height"), "xywh"),
    (("x_center", "y_center", "width", "height"), "center_xywh"),
    (("x_center", "y_center", "w", "h"), "center_xywh"),
    (("cx", "cy", "w", "h"), "center_xywh"),
)
# JSON only: one column that holds all boxes of a picture, and one with their classes.
BOXES = ("boxes", "bboxes", "bbox", "objects")
BOX_LABELS = ("box_labels", "labels", "categories", "classes", "category", "label", "class")

Kind = type[int] | type[float] | type[str]
_WIDTH_OF_KIND: dict[Kind, int] = {int: 0, float: 1, str: 2}

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|[+-]?inf")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The part that each column plays; "" or None where no column plays it.

    Attributes:
        image: The picture's path.
        label: The class of the picture; of the box, where `corners` are.
        split: The split.
        size: The picture's width and height in pixels, as stated beside boxes.
        corners: Four numbers of one box; a picture's boxes are then several rows.
        boxes: All boxes of the picture.
        box_labels: Their classes.
        box_format: The format of the boxes, one of `boxes.FORMATS`; "" leaves it to the names.
        ignored: Columns, and members of boxes, to leave out.
        taken: Columns that are not features of their own name.
    """

    image: str
    label: str = ""
    split: str = ""
    size: tuple[str, str] | None = None
    corners: tuple[str, str, str, str] | None = None
    boxes: str = ""
    box_labels: str = ""
    box_format: str = ""
    ignored: frozenset[str] = frozenset()

    taken: frozenset[str] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        roles = (self.image, self.label, self.split, self.boxes, self.box_labels)
        taken = self.ignored.union(roles, self.size or (), self.corners or ())
        object.__setattr__(self, "taken", taken)


def pick_columns(
    names: Iterable[str],
    *,
    lists: Collection[str] = (),
    image: str | None = None,
    label: str | None = None,
    split: str | None = None,
    box_format: str | None = None,
    ignored: Collection[str] = (),
) -> Columns:
    """Finds the part of each column by its name, or takes the name that is given.

    Args:
        names: All columns.
        lists: Those of them that hold lists or objects (JSON).

    Raises:
        ConfigError: A given column or format is not there, there is no column of pictures,
            or a column would take the place of a feature.
    """
    if box_format and box_format not in FORMATS:
        raise ConfigError(f"--box-format {box_format!r} is none of {', '.join(FORMATS)}")
    usable = [name for name in names if name and name not in ignored]
    plain = {name.strip().lower(): name for name in usable if name not in lists}
    nested = {name.strip().lower(): name for name in usable if name in lists}

    picture = _given("image", image, usable) or _first(IMAGE, plain)
    if not picture:
        raise ConfigError(
            f"none of the columns {', '.join(map(repr, usable)) or '(none)'} holds the pictures' "
            f"paths ({', '.join(IMAGE[:6])}, …): name it with --image-column (image_column=…); a "
            "CSV file without a header line needs one"
        )
    class_name = _given("label", label, usable) or _first(LABEL, plain)
    boxes = _first(BOXES, nested)
    corners, stated_format = (None, "") if boxes else _corners(plain)
    size = None
    if boxes or corners:
        free = {key: name for key, name in plain.items() if name not in (corners or ())}
        width, height = _first(WIDTH, free), _first(HEIGHT, free)
        size = (width, height) if width and height else None
    columns = Columns(
        image=picture,
        label=class_name,
        split=_given("split", split, usable) or _first(SPLIT, plain),
        size=size,
        corners=corners,
        boxes=boxes,
        box_labels=_first(BOX_LABELS, nested) if boxes else "",
        box_format=box_format or stated_format,
        ignored=frozenset(ignored),
    )
    features = {"image"} | ({"boxes"} if boxes or corners else set())
    features |= {"label"} if class_name and not corners else set()
    if clash := features.intersection(usable) - columns.taken:
        raise ConfigError(
            f"the column {min(clash)!r} would take the place of the feature of that name, which "
            f"comes from another column (pictures: {picture!r}, label: {class_name!r}): rename one"
        )
    return columns


def _given(part: str, name: str | None, names: list[str]) -> str:
    if name and name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"--{part}-column {name!r} is not a column; there are "
            f"{', '.join(map(repr, names))}{hint}"
        )
    return name or ""


def _first(wanted: Iterable[str], names: Mapping[str, str]) -> str:
    return next((names[name] for name in wanted if name in names), "")


def _corners(names: Mapping[str, str]) -> tuple[tuple[str, str, str, str] | None, str]:
    for (left, top, right, bottom), box_format in CORNERS:
        if {left, top, right, bottom} <= names.keys():
            return (names[left], names[top], names[right], names[bottom]), box_format
    return None, ""


def kind_of_text(text: str) -> Kind | None:
    """What a CSV field is: int, float or str; None where it is empty.

    "007" is text, since a number would lose its zeros; so is an integer beyond 64 bits.
    """
    text = text.strip()
    if not text:
        return None
    if _INTEGER.fullmatch(text):
        return _kind_of_int(int(text)) if len(text) < 25 else str
    return float if _DECIMAL.fullmatch(text.lower()) else str


def kind_of_json(value: Any) -> Kind | None:
    """What a JSON value is: int (also true and false), float or str; None where it is null.

    Raises:
        RecordError: It is a list or an object.
    """
    if value is None:
        return None
    if isinstance(value, int):
        return _kind_of_int(value)
    if isinstance(value, float):
        return float
    if isinstance(value, str):
        return str
    raise RecordError("unsupported column", f"{str(value)[:100]} is a {type(value).__name__}")


def _kind_of_int(number: int) -> Kind:
    return int if -(2**63) <= number < 2**63 else str


def merge_kinds(seen: Iterable[Mapping[str, Kind | None]]) -> dict[str, Kind | None]:
    """Of every column the kind that holds all its values; None while all are missing."""
    merged: dict[str, Kind | None] = {}
    for kinds in seen:
        for name, kind in kinds.items():
            merged[name] = wider(merged.get(name), kind)
    return dict(sorted(merged.items()))


def wider(one: Kind | None, other: Kind | None) -> Kind | None:
    """The kind that holds the values of both: int < float < str."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=_WIDTH_OF_KIND.__getitem__)


def convert(name: str, value: Any, kind: Kind | None) -> int | float | str:
    """`value` of the column `name` as its column's kind; a missing text is "".

    Raises:
        RecordError: "missing value": a number is missing, and no number stands for that.
    """
    if value is None or (kind in (int, float) and not str(value).strip()):
        if kind in (int, float):
            raise RecordError(
                "missing value", f"column {name!r} is empty here, but has numbers elsewhere"
            )
        return ""
    return (kind or str)(value)
