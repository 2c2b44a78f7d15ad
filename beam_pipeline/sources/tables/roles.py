"""Roles of columns: image, label, box, split, or a feature of its own name."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import NamedTuple

from beam_pipeline.kinds.numbers import Number
from beam_pipeline.sources.tables.types import CommaColumns
from tfrecord_dataset.format.feature import Feature


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BoxColumns:
    """The columns of an image's boxes; empty if no column has a role.

    Attributes:
        corners: Four columns of one box, or one column of lists of four; an image's boxes are then
            in several rows.
        has_runs: Whether `corners` is a column of run lengths of a mask.
        lists: All boxes of the image.
        labels: The class of the box, or a list of classes next to the list of boxes.
        per_box: Lists of JSON with one value per box in `lists`.
        format: One of `kinds.boxes.FORMATS`; "" if names of columns state it.
        size: The image's width and height in pixels.
    """

    corners: tuple[str, ...] = ()
    has_runs: bool = False
    lists: str = ""
    labels: str = ""
    per_box: frozenset[str] = frozenset()
    format: str = ""
    size: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.corners or self.lists)

    @property
    def taken(self) -> frozenset[str]:
        """The columns that have one of these roles."""
        return self.per_box.union(self.corners, self.size or (), (self.lists, self.labels))

    def is_attribute(self, name: str) -> bool:
        """Return whether a name is that of an attribute in `lists`."""
        return bool(self.lists) and name.startswith(f"{self.lists}.")


class Media(NamedTuple):
    """A feature of files, the column of paths, and the kind "image", "audio" or "array"."""

    feature: str
    column: str
    kind: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """Columns by role; empty if no column has the role.

    Attributes:
        key: The column of paths that identify records; "" if line numbers do.
        media: Columns of paths.
        labels: (feature, column) of the record's classes.
        separator: Separates the classes of a record in the text of its label; "" if a text is one
            class.
        classes: The user's names of classes, for labels that are numbers.
        unlabelled: (table, split) of the rows without any class, if others have classes.
        split: The column of splits.
        split_folders: Whether folders named after splits state the split.
        boxes: Columns of boxes and of the image's size.
        captions: The column of captions of images with several rows.
        numbers: Columns that number these rows, and are not kept.
        forms: "list" or "plain" by other columns of JSON, as in most of the first rows.
        declared: (feature, column) of a user's schema; other columns are left out.
        ignored: Columns, and members of boxes, to leave out.
        missing_number: Replaces a missing number; None rejects the row.
        decimal_comma: Columns that may have decimal commas.
        optional: A column of numbers to predict, NaN in tables that lack it.
        doubtful: The column of classes, if it may hold numbers to predict instead.
    """

    key: str = ""
    media: tuple[Media, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    separator: str = ""
    classes: tuple[str, ...] = ()
    unlabelled: frozenset[tuple[str, str]] = frozenset()
    split: str = ""
    split_folders: bool = False
    boxes: BoxColumns = BoxColumns()
    captions: str = ""
    numbers: frozenset[str] = frozenset()
    forms: Mapping[str, str] = dataclasses.field(default_factory=dict)
    declared: tuple[tuple[Feature, str], ...] = ()
    ignored: frozenset[str] = frozenset()
    missing_number: Number | None = None
    decimal_comma: CommaColumns = False
    optional: str = ""
    doubtful: str = ""

    @functools.cached_property
    def taken(self) -> frozenset[str]:
        """The columns that are not features with their own name."""
        return self.ignored.union(
            (media.column for media in self.media),
            (column for _, column in (*self.labels, *self.declared)),
            (self.split, self.captions),
            self.boxes.taken,
            self.numbers,
        )

    @property
    def joins_rows(self) -> bool:
        """Whether the rows of an image, one per box or caption, make one record."""
        return bool(self.boxes.corners or self.captions)

    @property
    def has_target(self) -> bool:
        """Whether there is a label, boxes or captions."""
        return bool(self.label_columns or self.boxes or self.captions)

    @property
    def label(self) -> str:
        """The only column of classes; "" if there is none, or several."""
        return self.labels[0][1] if len(self.labels) == 1 else ""

    @functools.cached_property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of the record's classes, found or declared."""
        declared = (name for feature, name in self.declared if feature.kind == "class_label")
        return (*(name for _, name in self.labels), *declared)
