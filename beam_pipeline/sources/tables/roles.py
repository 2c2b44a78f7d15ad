"""Plan tables by a sample: which column is image, label, box, split or feature, and its files.

Options come first, then usual names of columns, then values of the first rows.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import re
import shlex
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.kinds.boxes import FORMATS
from beam_pipeline.kinds.numbers import Number
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.records import DeclaredClasses
from beam_pipeline.sources.paths import folder, joined, media_kind, suffix
from beam_pipeline.sources.tables import columns as known
from beam_pipeline.sources.tables.columns import (
    NO_LABEL,
    TableOptions,
    attribute_name,
    check_ignored,
    checked,
    first,
    lowered,
    there_are,
)
from beam_pipeline.sources.tables.decimal_commas import Choice, columns_with_commas, commas_of
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tables.sample import ColumnSample, Sample, first_rows
from beam_pipeline.sources.tables.table import Cells, Table
from beam_pipeline.sources.tables.types import OF_COLUMNS, is_stated, list_of_text, mark_of
from tfrecord_dataset.format.feature import Feature

# Names of columns that hold files, boxes, classes or splits, or are errors.
_OF_ROLES = frozenset(
    {*known.BOXES, *known.IMAGE, *known.AUDIO, *known.SPLIT, *known.LABELS.of_record}
)
_LONGEST_NAME = 255
_FRACTION = re.compile(r"[-+]?\d*\.\d*([eE][-+]?\d+)?")
# Minimum share of values that must match files: of any column, of one named after ids or files, and
# of names with a suffix.
_SHARE, _SHARE_OF_IDS, _SHARE_OF_NAMES = 0.9, 0.1, 0.5
# Features whose columns have usual names; other features have a column of their own name.
_USUAL = {
    ("image", "image"): known.IMAGE,
    ("audio", "audio"): known.AUDIO,
    ("array", "tensor"): known.ARRAY,
    ("array", "sequence"): known.ARRAY,
    ("label", "class_label"): known.LABELS.lists_of_record,
}
# In columns with these names, several words in a row are more likely several classes than one.
_PLURALS = frozenset({"labels", "tags", "classes", "categories", "genres", "attributes"})
_SEPARATORS = ",; "
_MAX_SPACES = 2  # in the name of a class, on average
_MANY_NUMBERS = 20
_LARGE_NUMBER = 1000  # too large for the number of a class
_TEXTS = frozenset({*known.CAPTIONS, "transcript", "transcription"})
_NO_CLASSES = _TEXTS | {"partition", "fold", "width", "height"}
# Classes only on request.
_ASIDE = frozenset({"age", "sex"})
# Minimum rows per class, on average.
_ROWS_OF_A_CLASS = 2


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
    decimal_comma: Choice = False
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

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of the record's classes, found or declared."""
        declared = (name for feature, name in self.declared if feature.kind == "class_label")
        return (*(name for _, name in self.labels), *declared)


def roles_of(sample: Sample, options: TableOptions) -> Roles:
    """Decide the role of every column.

    Raises:
        ConfigError: An option or the schema names a missing column, a column has the name of
            another feature, or all files of a column are outside the input.
    """
    if options.box_format and options.box_format not in FORMATS:
        raise ConfigError(f"box_format {options.box_format!r} is none of {', '.join(FORMATS)}")
    chooser = _Chooser(sample, options)
    roles = chooser.declared() if options.schema else chooser.proposed()
    sample.check_inside(each.column for each in roles.media)
    is_held = roles.key in sample.declarations and bool(sample.declarations[roles.key].media)
    if is_held and roles.boxes.corners:
        corners = ",".join(roles.boxes.corners)
        raise ConfigError(
            f"cannot group the boxes of {corners} by image, since {roles.key!r} holds the images: "
            f"put the boxes of one into its row, or pass --ignore-columns {shlex.quote(corners)}"
        )
    roles = dataclasses.replace(
        roles,
        key="" if is_held else roles.key,
        classes=tuple(options.classes),
        missing_number=options.missing_number,
        decimal_comma=options.decimal_comma,
    )
    return _with_forms(roles, sample)


class _Chooser:
    def __init__(self, sample: Sample, options: TableOptions) -> None:
        self._sample, self._options = sample, options
        self._column = sample.column
        self._usable = [name for name in sample.names if name not in options.ignore_columns]
        # By name in lower case, as the lists of usual names have it.
        self._by_name = {lowered(name): name for name in self._usable}
        self._plain = self._where(lambda column: not column.is_nested)
        # The column that replaces columns of one class each.
        self._made_label = next(filter(None, (each.cells.label for each in sample.tables)), "")

    def _where(
        self, fits: Callable[[ColumnSample], bool], among: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Return the usable columns that fit, by name in lower case."""
        names = self._by_name if among is None else among
        return {key: name for key, name in names.items() if fits(self._column(name))}

    def proposed(self) -> Roles:
        """Decide roles by options, names and values."""
        media = self._media()
        paths = {each.column for each in media}
        free = {key: name for key, name in self._plain.items() if name not in paths}
        has_image = any(each.feature == "image" for each in media)
        roles = Roles(
            key=next((each.column for each in media if each.feature == each.kind), ""),
            media=media,
            split=self._split(free),
            boxes=self._boxes(free) if has_image else BoxColumns(),
            ignored=frozenset(self._options.ignore_columns),
        )
        roles = self._with_captions(self._with_labels(roles, free), free)
        if not self._options.box_format and (stated := _box_format(roles.boxes, self._sample)):
            roles = _with_boxes(roles, format=stated)
        if roles.boxes.corners and self._sample.found:  # image ids are not attributes of boxes
            roles = dataclasses.replace(roles, ignored=roles.ignored | _in_template(self._sample))
        _check_clashes(self._usable, roles)
        return roles

    def _stated(self, part: str) -> str:
        """Return the column that an option names for a part; "" if none does."""
        return checked(part, getattr(self._options, f"{part}_column", ""), self._usable)

    def _split(self, free: Mapping[str, str]) -> str:
        """Return the column of splits by option or name; ask the user if it holds numbers."""
        if stated := self._stated("split"):
            return stated
        name = first(known.SPLIT, free)
        if self._column(name).is_numeric:
            facts, option = {"column": name}, "split_column"
            raise ProblemError(
                Problem(code="numbered splits", facts=facts, option=option, choices=(name,))
            )
        return name

    def _media(self) -> tuple[Media, ...]:
        """Return the columns of paths, with main image, audio and array first."""
        audios = self._where(lambda column: column.media == "audio")
        audio = self._stated("audio") or first(known.AUDIO, audios)
        array = first(known.ARRAY, self._where(lambda column: column.media == "array"))
        image = self._stated("image") or self._image(alone=not audio and not array)
        if audio and audio == image:
            raise ConfigError(f"the column {audio!r} cannot hold images and audio; name another")
        main = {"image": image, "audio": audio, "array": array}
        columns = {name: self._column(name) for name in self._usable}
        files = [name for name, column in columns.items() if column.media and column.exists]
        others = [name for name in files if name not in main.values()]
        for kind in ("image", "audio"):
            alike = [name for name in others if columns[name].media == kind]
            if not main[kind] and len(alike) == 1:
                main[kind] = alike[0]
                others.remove(alike[0])
        return (
            *(Media(kind, name, kind) for kind, name in main.items() if name),
            *(Media(name, name, columns[name].media) for name in others),
        )

    def _image(self, *, alone: bool) -> str:
        """Find the column of images by name; next to audio, "path" needs images' suffixes."""
        possible = {
            key: name
            for key, name in self._plain.items()
            if name != self._options.audio_column and _may_be_images(key, self._column(name))
        }
        named = self._where(lambda column: bool(column.media))
        sure = {
            key: name for key, name in possible.items() if key in named or key not in known.FILE
        }
        return first(known.IMAGE, sure) or (first(known.IMAGE, possible) if alone else "")

    def _with_labels(self, roles: Roles, free: Mapping[str, str]) -> Roles:
        """Decide the columns of classes of the record or of its boxes."""
        options, optional = self._options, ""
        if options.label_column in self._usable:
            names = [options.label_column]
        elif options.label_column:
            names = [checked("label", name, self._usable) for name in options.labels]
        else:
            names, optional = self._label(roles, free)
        if roles.boxes.corners:
            if len(names) > 1:
                raise ConfigError(
                    f"--label-column {options.label_column!r} names several columns, but a box has "
                    "one class; name its column"
                )
            return _with_boxes(roles, labels="".join(names))
        label = names[0] if len(names) == 1 else ""
        column = self._column(label)
        if label and label == self._made_label:
            separator = OF_COLUMNS
        elif options.label_separator:
            separator = options.label_separator.removeprefix(NO_LABEL)
        else:
            has_lists = column.is_list or column.is_nested
            separator = "" if has_lists else _separator_of(label, column.texts)
        labels = tuple((name if names[1:] else "label", name) for name in names)
        return dataclasses.replace(roles, labels=labels, separator=separator, optional=optional)

    def _label(self, roles: Roles, free: Mapping[str, str]) -> tuple[list[str], str]:
        """Find the column of classes by name or values, or an optional number to predict."""
        if self._made_label:
            return [self._made_label], ""
        possible = self._where(lambda column: not column.are_no_classes, free)
        lists = self._where(lambda column: column.is_list and not column.are_no_classes)
        name = first(known.LABELS.of_tables, possible)
        if not name and not roles.boxes.lists:
            name = first(known.LABELS.lists_of_record, lists)
        if name or roles.boxes:
            return [name] if name else [], ""
        some = _column_of_some(self._sample.headers)
        if some in self._usable and some not in roles.taken:
            if _is_amount(self._column(some)):
                return [], some
            if _is_only_label([some], self._sample):
                return [some], ""
        others = _without_role(self._usable, roles, self._sample)
        is_label = roles.key and self._sample.found and _is_only_label(others, self._sample)
        return (others if is_label and not _is_amount(self._column(others[0])) else []), ""

    def _with_captions(self, roles: Roles, free: Mapping[str, str]) -> Roles:
        """Find the captions of images whose several rows differ in nothing else."""
        if roles.boxes or not self._column(roles.key).repeats:
            return roles
        others = {key: name for key, name in self._by_name.items() if name not in roles.taken}
        texts = self._where(lambda column: not column.is_numeric and not column.is_list, free)
        name = first(known.CAPTIONS, {key: texts[key] for key in texts if key in others})
        numbers = {other for key, other in others.items() if key in known.NUMBERS and other != name}
        if not name or {name, *numbers} != {*others.values()}:
            return roles
        return dataclasses.replace(roles, captions=name, numbers=frozenset(numbers))

    def _boxes(self, free: Mapping[str, str]) -> BoxColumns:
        """Find the columns of boxes by name; `free` columns hold neither lists nor paths."""
        lists = self._where(lambda column: column.is_nested)
        corners: tuple[str, ...] = ()
        box_format, boxes, runs = self._options.box_format, "", ""
        if one := first(known.BOXES, self._where(lambda column: column.are_fours)):
            corners, box_format = (one,), box_format or "xyxy"
        elif not (boxes := first(known.BOXES, lists)):
            corners, stated = _corners(free)
            box_format = box_format or stated
            if not corners:
                runs = first(
                    known.RUN_LENGTHS, {name.replace("_", ""): free[name] for name in free}
                )
        if runs:
            corners, box_format = (runs,), "xywh"
        in_texts = first(known.BOXES, self._where(lambda column: column.is_list))
        if in_texts and not boxes and not corners:
            raise ConfigError(
                f"column {in_texts!r} holds lists that are not four numbers: write JSON Lines for "
                f"several boxes in a row, or pass --ignore-columns {shlex.quote(in_texts)}"
            )
        others = {key: name for key, name in free.items() if name not in corners}
        width, height = first(known.WIDTH, others), first(known.HEIGHT, others)
        return BoxColumns(
            size=(width, height) if (boxes or corners) and width and height else None,
            corners=corners,
            has_runs=bool(runs),
            lists=boxes,
            labels=first(known.LABELS.beside_boxes, lists) if boxes else "",
            format=box_format,
        )

    def declared(self) -> Roles:
        """Find the column of every declared feature; leave out all others."""
        schema = self._options.schema
        declared = tuple(
            (feature, self._declared_column(feature))
            for feature in schema
            if feature.kind != "boxes"
        )
        used = {column for _, column in declared}
        plain = {key: name for key, name in self._plain.items() if name not in used}
        boxes = [feature for feature in schema if feature.kind == "boxes"]
        roles = Roles(
            key=self._declared_key(declared),
            split=self._split(plain),
            boxes=self._declared_boxes(boxes, plain) if boxes else BoxColumns(),
            declared=declared,
        )
        attributes = {name for feature in boxes for name in feature.attributes}
        left_out = (
            name
            for name in self._usable
            if name not in roles.taken and attribute_name(name) not in attributes
        )
        ignored = frozenset(left_out).union(self._options.ignore_columns)
        return dataclasses.replace(roles, ignored=ignored)

    def _declared_column(self, feature: Feature) -> str:
        """Find a feature's column: named by the user, or called like it or a usual name."""
        usual = _USUAL.get((feature.name, feature.kind), ())
        stated = self._stated(feature.name)
        if usual and stated:
            return stated
        if feature.name in self._usable:
            return feature.name
        others = {each.name for each in self._options.schema}
        free = {key: name for key, name in self._by_name.items() if name not in others}
        if not (column := first(usual, free)):
            raise ConfigError(
                f"--schema declares the feature {feature.name!r}, but there is no column for it; "
                f"{there_are(feature.name, self._usable)}"
            )
        return column

    def _declared_boxes(self, boxes: Sequence[Feature], plain: Mapping[str, str]) -> BoxColumns:
        columns = self._boxes(plain)
        if boxes[1:] or boxes[0].name != "boxes" or not columns:
            raise ConfigError(
                f"--schema declares the boxes {boxes[-1].name!r}, but a table has one feature of "
                f"boxes, 'boxes', of columns such as {', '.join(known.CORNERS[0][0])}; "
                f"{there_are('boxes', self._usable)}"
            )
        if columns.corners:
            label = self._stated("label") or first(known.LABELS.of_tables, plain)
            columns = dataclasses.replace(columns, labels=label)
        return columns

    def _declared_key(self, declared: Sequence[tuple[Feature, str]]) -> str:
        """Return the column of the main image, audio or array, if it holds paths."""
        main = {
            feature.name: column
            for feature, column in declared
            if feature.name == feature.kind or feature.name == self._column(column).media == "array"
        }
        return next((main[name] for name in ("image", "audio", "array") if name in main), "")


def _may_be_images(key: str, column: ColumnSample) -> bool:
    """Return whether the column with this lower-case name may hold paths of images."""
    if column.media not in ("", "image") or column.is_list:
        return False
    is_absent = not column.media and not column.exists and column.values
    are_texts = all(isinstance(value, str) for value in column.values)
    return key not in known.FILE or not (column.is_numeric or (is_absent and are_texts))


def _with_boxes(roles: Roles, **changes: object) -> Roles:
    return dataclasses.replace(roles, boxes=dataclasses.replace(roles.boxes, **changes))  # type: ignore[arg-type]


def _columns_of_classes(sample: Sample, options: TableOptions) -> tuple[str, ...]:
    """Return the columns next to files that mark one class each with 1, and 0 or -1.

    Tables may lack these columns.
    """
    if options.schema or options.label_column or not sample.tables[0].header:
        return ()
    roles = _Chooser(sample, options).proposed()
    if not roles.key or roles.label_columns or roles.boxes:
        return ()
    names = [name for name in _without_role(sample.names, roles, sample) if not _is_id(name)]
    marks = {
        mark_of(row.values.get(name))
        for row in sample.rows
        if any(name in row.values for name in names)
        for name in names
    }
    is_one = len(names) > 1 and "1" in marks and marks in ({"0", "1"}, {"-1", "1"})
    return tuple(names) if is_one and not any(OF_COLUMNS in name for name in names) else ()


def _open_label(roles: Roles, sample: Sample, options: TableOptions) -> Problem | None:
    """Ask which column is the label of a file, if there are several candidates.

    Candidates have few values, which repeat. There is no question if a column is named like a text
    of the record, such as a caption.
    """
    is_decided = roles.has_target or roles.optional or options.schema or options.label_column
    names = _without_role(sample.names, roles, sample)
    if is_decided or not roles.media or _TEXTS.intersection(map(lowered, names)):
        return None
    possible = tuple(name for name in names if _has_classes(name, sample))
    facts = {"path": sample.tables[0].file.path}
    choices = (*possible, NO_LABEL)
    question = Problem(code="several labels", facts=facts, option="label_column", choices=choices)
    return question if len(possible) > 1 else None


def _in_template(sample: Sample) -> set[str]:
    return {name for table in sample.tables for _, name in table.cells.template if name}


def _without_role(names: Iterable[str], roles: Roles, sample: Sample) -> list[str]:
    """Return the columns without a role that are not part of a path template."""
    taken = roles.taken | _in_template(sample)
    return [name for name in names if name not in taken]


def _check_clashes(usable: Iterable[str], roles: Roles) -> None:
    """Raise ConfigError for a column named like a feature from other columns."""
    features = {media.feature: media.column for media in roles.media} | dict(roles.labels)
    if boxes := roles.boxes.lists or ", ".join(roles.boxes.corners):
        features["boxes"] = boxes
    for name in usable:
        feature = next((each for each in features if f"{name}/".startswith(f"{each}/")), "")
        if feature and name not in roles.taken:
            raise ConfigError(
                f"column {name!r} has the name of the feature {feature!r}, which comes from "
                f"{features[feature]!r}; rename one, or pass --ignore-columns {shlex.quote(name)}"
            )


def _with_forms(roles: Roles, sample: Sample) -> Roles:
    """Decide which columns of JSON hold lists, and which lists belong to the list of boxes."""
    columns = {name: column for name, column in sample.columns.items() if name not in roles.taken}
    lists = [name for name, column in columns.items() if column.form == "list"]
    boxes = roles.boxes
    if lists and boxes.corners:
        raise ConfigError(
            f"column {min(lists)!r} holds lists, but an attribute of one box is a number or text; "
            f"pass --ignore-columns {shlex.quote(min(lists))}"
        )
    per_box = frozenset(
        name
        for name in (lists if boxes.lists else ())
        if all(
            _are_per_box(row.values.get(boxes.lists), row.values[name])
            for row in sample.rows
            if isinstance(row.values.get(name), list)
        )
    )
    forms = {
        name: column.form
        for name, column in columns.items()
        if column.form != "object" and name not in per_box
    }
    return dataclasses.replace(_with_boxes(roles, per_box=per_box), forms=forms)


def _understood(roles: Roles, sample: Sample) -> Iterator[tuple[str, str]]:
    """Describe the role of each column, one line per role."""
    others = [name for name in sample.names if name not in roles.taken]
    for media in roles.media:
        yield media.feature, f"column {media.column!r}"
    for feature, column in roles.labels:
        several = f", several separated by {roles.separator!r}" if roles.separator.strip() else ""
        yield feature, f"column {column!r}{several}"
    if roles.key and others and not (roles.has_target or roles.optional or roles.declared):
        yield "label", "none; --label-column names it"
    if roles.optional:
        yield "number to predict", f"column {roles.optional!r}, nan in the tables without it"
    if columns := roles.boxes.lists or ", ".join(roles.boxes.corners):
        what = "masks as run lengths" if roles.boxes.has_runs else roles.boxes.format or "by names"
        yield "boxes", f"columns {columns} ({what})"
    if roles.captions:
        yield "captions", f"column {roles.captions!r}, several rows an image"
    if roles.split:
        yield "split", f"column {roles.split!r}"
    if others:
        yield "attributes of boxes" if roles.boxes.corners else "features", _shown(others)
    if left_out := _left_out(roles, sample):
        yield "left out", _shown(left_out)


def _left_out(roles: Roles, sample: Sample) -> Collection[str]:
    nameless = {
        f"column {number}"
        for header in sample.headers.values()
        for number, name in enumerate(header, start=1)
        if not name
    }
    return sorted(roles.ignored.intersection(sample.names).union(nameless, roles.numbers))


def _shown(names: Collection[str]) -> str:
    few = [*names]
    return ", ".join(few[:8]) + (f", … ({len(few):,})" if few[8:] else "")


def _is_id(name: str) -> bool:
    return lowered(name).endswith("id")


def _is_only_label(names: Sequence[str], sample: Sample) -> bool:
    return len(names) == 1 and lowered(names[0]) not in _ASIDE and _may_be_classes(names[0], sample)


def _may_be_classes(name: str, sample: Sample) -> bool:
    """Return whether a column has no sentences, URLs, ids or many numbers."""
    texts = sample.column(name).texts
    is_other = lowered(name) in _NO_CLASSES or _is_id(name) or any("://" in text for text in texts)
    has_sentences = sum(text.count(" ") for text in texts) > _MAX_SPACES * len(texts)
    return bool(texts) and not is_other and not has_sentences and not _are_many(texts)


def _has_classes(name: str, sample: Sample) -> bool:
    """Return whether the values of a column repeat and may be classes."""
    column = sample.column(name)
    number = sum(is_stated(row.values.get(name)) for row in sample.rows)
    repeat = 1 < len(column.texts) <= number // _ROWS_OF_A_CLASS
    return repeat and not _is_amount(column) and _may_be_classes(name, sample)


def _is_amount(column: ColumnSample) -> bool:
    """Return whether the first rows of a column are numbers to predict, not classes."""
    return column.are_no_classes or (column.is_numeric and _are_many(column.texts))


def _are_many(values: Sequence[str]) -> bool:
    """Return whether numbers are too many, or too large, for numbers of classes."""
    numbers = [int(value) for value in values if value.isdecimal() and value.isascii()]
    return len(numbers) > _MANY_NUMBERS or max(numbers, default=0) >= _LARGE_NUMBER


def _separator_of(name: str, values: Sequence[str]) -> str:
    """Return the separator of classes in the texts of a column; "" if a text is one class.

    A bar always separates. Spaces and other signs separate in columns with plural names, if values
    share words and differ in their number of words.
    """
    if any("|" in value for value in values):
        return "|"
    is_plural = lowered(name).replace("_", " ").rpartition(" ")[2] in _PLURALS
    for sign in _SEPARATORS if is_plural else "":
        words = [[word.strip() for word in value.split(sign)] for value in values]
        every = [word for several in words for word in several]
        are_sets = all(len(set(several)) == len(several) for several in words)
        if are_sets and len(set(every)) < len(every) and len(set(map(len, words))) > 1:
            return sign
    return ""


def _column_of_some(headers: Mapping[str, Sequence[str]]) -> str:
    """Return the only column that some tables, such as a test set, lack; "" unless just one."""
    counts = Counter(name for header in headers.values() for name in header if name)
    some = [name for name, count in counts.items() if count < len(headers)]
    return some[0] if len(some) == 1 else ""


def _corners(names: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    for (left, top, right, bottom), box_format in known.CORNERS:
        third = right.replace("2", "3")  # of a landmark or a quadrilateral
        if {left, top, right, bottom} <= names.keys() and (third == right or third not in names):
            return (names[left], names[top], names[right], names[bottom]), box_format
    return (), ""


def _box_format(columns: BoxColumns, sample: Sample) -> str:
    """Return the format of boxes if names of columns do not state it, else "".

    Open Images has fractions. Lists of four numbers are corners, unless most cannot be: the third
    number is not above the first, or the fourth not above the second.
    """
    if len(columns.corners) == 4 and {"imageid", "labelname"} <= set(map(lowered, sample.names)):
        return "rel_xyxy"
    if len(columns.corners) != 1 or columns.has_runs:
        return ""
    boxes = (_numbers(value) for value in sample.column(columns.corners[0]).values)
    fours = [box for box in boxes if len(box) == 4]
    no_corners = sum(box[2] <= box[0] or box[3] <= box[1] for box in fours)
    no_sides = any(box[2] <= 0 or box[3] <= 0 for box in fours)
    return "xywh" if no_corners * 2 > len(fours) and not no_sides else ""


def _numbers(value: Any) -> list[float]:
    with contextlib.suppress(RecordError, TypeError, ValueError):
        return [*map(float, list_of_text(value) if isinstance(value, str) else value)]
    return []


def _are_per_box(boxes: Any, values: Any) -> bool:
    """Return whether `values` may be a list with one value per box in `boxes`."""
    return (
        isinstance(boxes, list)
        and isinstance(values, list)
        and len(values) == len(boxes)
        and not any(isinstance(box, dict) for box in boxes)
        and not any(isinstance(value, list | dict) for value in values)
    )


def _ignorable(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names that `ignore_columns` may contain: a row's columns and box attributes."""
    yield from values
    for column, value in values.items():
        if lowered(column) in known.BOXES and isinstance(value, list | dict):
            objects = value if isinstance(value, list) else [value]
            members = {name for each in objects if isinstance(each, dict) for name in each}
            per_box = {name for name, each in values.items() if isinstance(each, list)} - {column}
            yield from sorted(members)
            yield from (f"{column}.{attribute_name(name)}" for name in sorted(members | per_box))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """Plan for reading tables.

    Attributes:
        tables: The tables, with the preparation of cells and the resolution of files.
        roles: The role of each column.
        sample: The first rows.
        understood: Summary as (role, columns).
        classes: Classes that the tables themselves state.
        problem: A question that only the user can answer; None if there is none.
    """

    tables: Sequence[Table]
    roles: Roles
    sample: Sample
    understood: Sequence[tuple[str, str]]
    classes: Sequence[DeclaredClasses] = ()
    problem: Problem | None = None


def plan_tables(tables: Sequence[Table], options: TableOptions) -> TablePlan:
    """Plan tables by their first rows and by options.

    Raises:
        ConfigError: An option does not fit the tables, or the tables do not fit together.
    """
    sample = Sample(tables, [*map(first_rows, tables)])
    if not sample.rows and not tables[0].header:
        raise ConfigError(f"{tables[0].file.path} has no line with a JSON object; write some")
    members = (name for row in sample.rows for name in _ignorable(row.values))
    check_ignored(options.ignore_columns, [*dict.fromkeys((*sample.names, *members))])
    nested = _objects_in(sample, options).difference(options.ignore_columns)
    asked = _cells(options, sample.names)
    if asked != Cells():
        sample = Sample([dataclasses.replace(table, cells=asked) for table in tables], sample.raw)
    sample = sample.with_cells(as_json=nested)
    if options.decimal_comma:
        sample = sample.with_cells(commas=_commas_in(sample, options))
    sample = _with_files(sample, options)
    if classes := _columns_of_classes(sample, options):
        sample = sample.with_cells(classes=classes)
    roles = roles_of(sample, options)
    _check_headers(sample, options, roles, classes)
    return TablePlan(
        tables=sample.tables,
        roles=roles,
        sample=sample,
        understood=[*_files_understood(sample), *_understood(roles, sample)],
        classes=[*_classes_of_forms(sample, roles)],
        problem=_open_label(roles, sample, options),
    )


def _cells(options: TableOptions, names: Collection[str]) -> Cells:
    """Make the preparation of a table with columns `names` from options.

    Raises:
        ConfigError: The template of image paths cannot be used.
    """
    made = Cells(frozenset(options.missing_values), decimal_comma=options.decimal_comma)
    template, column, why = options.image_template, options.image_column or "image", ""
    if not template:
        return made
    try:
        parts = [(text, name or "") for text, name, *_ in string.Formatter().parse(template)]
    except ValueError as error:
        why = f"{error}; write a brace itself as {{{{ or }}}}"
        raise ConfigError(f"image_template {template!r} cannot be used: {why}") from error
    used = [name for _, name in parts if name]
    if unknown := [name for name in used if name not in names]:
        why = f"{unknown[0]!r} is not a column; {there_are(unknown[0], names)}"
    elif not used:
        why = "it names no column; write it as '{id}.png'"
    elif column in names and column not in used:
        why = (
            f"there is a column {column!r} already; name another with --image-column {column}_path"
        )
    if why:
        raise ConfigError(f"image_template {template!r} cannot be used: {why}")
    return dataclasses.replace(made, column=column, template=tuple(parts))


def _commas_in(sample: Sample, options: TableOptions) -> frozenset[str]:
    """Return the columns of numbers with decimal commas; raises as `columns_with_commas`."""
    values = {name: [row.values.get(name) for row in sample.rows] for name in sample.names}
    columns = {name: commas_of(each) for name, each in values.items()}
    return columns_with_commas(columns, options.decimal_comma, sample.tables[0].file.path)


def _objects_in(sample: Sample, options: TableOptions) -> frozenset[str]:
    """Return columns that mostly hold objects or lists of objects, other than boxes."""
    values: dict[str, list[bool]] = {}
    for row in sample.rows:
        for name, value in row.values.items():
            if value not in (None, "", [], {}):
                values.setdefault(name, []).append(_holds_object(value))
    stated = {options.image_column, options.audio_column, options.split_column, *options.labels}
    return frozenset(
        name
        for name, hold in values.items()
        if sum(hold) * 2 > len(hold) and name not in stated and lowered(name) not in _OF_ROLES
    )


def _holds_object(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_object, value)))


class _Names(NamedTuple):
    """A column of names of files elsewhere in the input."""

    num_files: int
    has_suffixes: bool  # ids have none
    column: str
    kind: str
    unclear: Sequence[str]  # files that the same value matches


def _with_files(sample: Sample, options: TableOptions) -> Sample:
    """Resolve files of the sample's tables with the file index, if needed."""
    has_files = any(each.media and each.exists for each in sample.columns.values())
    files = {feature.name for feature in options.schema if feature.kind in ("image", "audio")}
    if has_files or options.image_template or (options.schema and not files):
        return sample
    left_out = {*options.ignore_columns, *options.labels, options.split_column}
    left_out |= {feature.name for feature in options.schema if feature.name not in files}
    candidates = [_names_in(sample, table, left_out) for table in sample.tables]
    best = max(filter(None, candidates), key=lambda each: each[:2], default=None)
    if not best:
        return sample
    tables, kinds = [], {}
    for table, each in zip(sample.tables, candidates, strict=True):
        if not each:
            raise ConfigError(
                f"{table.file.path}: column {best.column!r} names no file below {table.file.root}, "
                f"as it does in another table; put its files there, or, if there are none, pass "
                f"--ignore {shlex.quote(table.file.relative)}"
            )
        if each.unclear:
            one, other = (_template_of(path, each) for path in each.unclear[:2])
            raise ConfigError(
                f"{table.file.path}: column {each.column!r} names {each.unclear[0]} and "
                f"{each.unclear[1]}; in a recipe: `image_template: {one}` or "
                f"`image_template: {other}`"
            )
        column, cells = each.column, table.cells
        if not each.has_suffixes and each.kind not in sample.names:  # the id stays a feature
            template = (("", column), ("", ""))
            cells = dataclasses.replace(cells, column=each.kind, template=template)
            column = each.kind
        kinds[column] = each.kind
        file = dataclasses.replace(table.file, by_index=True)
        tables.append(dataclasses.replace(table, file=file, cells=cells))
    return Sample(tables, sample.raw, kinds)


def _template_of(path: str, names: _Names) -> str:
    """Return the template of files like this one, quoted for YAML."""
    ending = "" if names.has_suffixes else f".{suffix(path)}"
    return json.dumps(f"{joined(folder(path), f'{{{names.column}}}')}{ending}", ensure_ascii=False)


def _names_in(sample: Sample, table: Table, left_out: Collection[str]) -> _Names | None:
    """Return the column of a table that names the most files below the input."""
    rows = [row.values for row in sample.rows if row.file == table.file]
    columns = {
        name: distinct
        for name in dict.fromkeys(itertools.chain(*rows))
        if name not in left_out and lowered(name) not in known.LABELS.lists_of_record
        if (distinct := _possible_names(name, [row.get(name) for row in rows]))
    }
    if not columns:
        return None  # the folder, which may be a whole bucket, is not listed
    index = FileIndex.of(table.file.root, table.file.ignored)
    found = []
    for name, distinct in columns.items():
        has_suffixes = any(map(media_kind, distinct))
        matches = [index.matches(value, table.file.near) for value in distinct]
        there = [each for each in matches if each]
        least = _SHARE_OF_NAMES if has_suffixes else _SHARE_OF_IDS if _is_of_files(name) else _SHARE
        if there and len(there) >= least * len(matches):
            kind = Counter(media_kind(each[0]) for each in there).most_common(1)[0][0]
            unclear = next((each for each in there if each[1:]), ())
            found.append(_Names(len(there), has_suffixes, name, kind, unclear))
    return max(found, key=lambda each: each[:2], default=None)


def _possible_names(column: str, values: Sequence[Any]) -> Sequence[str]:
    """Return the distinct values of a column that may name files; none if it cannot."""
    texts = (str(each).strip() for each in values if isinstance(each, str | int))
    stated = [*filter(None, texts)]
    distinct = sorted(set(stated))
    if any(map(media_kind, distinct)) or _is_of_files(column):
        return distinct
    # Numbers of rooms, or kinds, may match names of files by chance; fractions and texts do not.
    are_unlike = len(distinct) < len(stated) or any(len(each) > _LONGEST_NAME for each in distinct)
    return [] if are_unlike or all(map(_FRACTION.fullmatch, distinct)) else distinct


def _is_of_files(column: str) -> bool:
    return _is_id(column) or lowered(column) in (*known.IMAGE, *known.AUDIO)


def _files_understood(sample: Sample) -> Iterator[tuple[str, str]]:
    for table in sample.tables:
        if table.file.by_index:
            made_of = [name for _, name in table.cells.template if name]
            column = next(iter(made_of or sample.found))
            yield "paths", f"by the names in column {column!r} of {table.file.relative}"


def _check_headers(
    sample: Sample, options: TableOptions, roles: Roles, classes: Collection[str]
) -> None:
    """Raise ConfigError if a table lacks columns of another one, other than label and split."""
    may_lack = {
        *(*options.ignore_columns, *options.labels, *classes),
        *(roles.optional, roles.split, roles.label, ""),
    }
    headers = {table: frozenset(header) for table, header in sample.headers.items()}
    for name in dict.fromkeys(itertools.chain(*sample.headers.values())):
        without = [table for table, header in headers.items() if name not in header]
        if without and name not in may_lack and lowered(name) not in known.LABELS.of_tables:
            raise ConfigError(
                f"column {name!r} is not in {without[0]}, but in other tables; pass --label-column "
                f"{shlex.quote(name)} if it is the label, else --ignore-columns {shlex.quote(name)}"
            )


def _classes_of_forms(sample: Sample, roles: Roles) -> Iterator[DeclaredClasses]:
    """Yield the classes that the tables themselves state for labels and boxes."""
    for feature, column in (*roles.labels, ("boxes", roles.boxes.lists)):
        if column in sample.declarations and (classes := sample.declarations[column].classes):
            yield DeclaredClasses(feature=feature, names=dict(enumerate(classes)))
