"""Plan tables by their first rows and by options, once per build.

The plan is the role of every column, the preparation of cells, and where named files are.
"""

import contextlib
import dataclasses
import itertools
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.problems import Problem
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.sources.tables import usual_columns as known
from beam_pipeline.sources.tables.choice import (
    OF_BOXES,
    Choice,
    has_classes,
    names_in_template,
    numbers_beside,
    without_role,
)
from beam_pipeline.sources.tables.named_files import cells_of, files_understood, with_files
from beam_pipeline.sources.tables.roles import BoxColumns, Roles
from beam_pipeline.sources.tables.sample import Sample, first_rows
from beam_pipeline.sources.tables.survey import columns_with_commas, commas_of
from beam_pipeline.sources.tables.table import Batch, Cells, Table
from beam_pipeline.sources.tables.types import OF_COLUMNS, list_of_text
from beam_pipeline.sources.tables.usual_columns import (
    NO_LABEL,
    TableOptions,
    attribute_name,
    check_ignored,
    checked,
    first,
    lowered,
    there_are,
)
from tfrecord_dataset.format.feature import Feature

# Names of columns that hold files, boxes, classes or splits, or are errors.
_OF_ROLES = frozenset(
    {*known.BOXES, *known.IMAGE, *known.AUDIO, *known.SPLIT, *known.LABELS.of_record}
)
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
# More distinct numbers with fractions cannot be classes, even if the user calls them a label.
_MANY_AMOUNTS = 20
_TEXTS = frozenset({*known.CAPTIONS, "transcript", "transcription"})
_FORMATS = {",".join(names): box_format for names, box_format in known.CORNERS}


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
        rejected: Rejects for files that cannot be read.
    """

    tables: Sequence[Table]
    roles: Roles
    sample: Sample
    understood: Sequence[tuple[str, str]]
    classes: Sequence[DeclaredClasses] = ()
    problem: Problem | None = None
    rejected: Sequence[Rejected] = ()


def plan_tables(tables: Sequence[Table], options: TableOptions) -> TablePlan:
    """Plan tables by their first rows and by options.

    Raises:
        ConfigError: An option does not fit the tables, or the tables do not fit together.
    """
    sample = Sample(tables, [*map(first_rows, tables)])
    if not any(map(len, sample.rows)) and not tables[0].header:
        raise ConfigError(f"{tables[0].file.path} has no line with a JSON object; write some")
    members = itertools.chain.from_iterable(map(_ignorable, sample.rows))
    check_ignored(options.ignore_columns, [*dict.fromkeys((*sample.names, *members))])
    nested = _objects_in(sample, options).difference(options.ignore_columns)
    asked = cells_of(options, sample.names)
    if asked != Cells():
        sample = Sample([dataclasses.replace(table, cells=asked) for table in tables], sample.raw)
    if nested:
        sample = sample.with_cells(as_json=nested)
    if options.decimal_comma:
        sample = sample.with_cells(commas=_commas_in(sample, options))
    choice = Choice(with_files(sample, options), options)
    roles = _roles_of(choice)
    sample = choice.sample
    _check_headers(sample, options, roles)
    return TablePlan(
        tables=sample.tables,
        roles=roles,
        sample=sample,
        understood=[*files_understood(sample), *_understood(roles, sample)],
        classes=[*_classes_of_forms(sample, roles)],
        problem=_open_label(roles, sample, options),
    )


def _commas_in(sample: Sample, options: TableOptions) -> frozenset[str]:
    """Return the columns of numbers with decimal commas; raises as `columns_with_commas`."""
    columns = {name: commas_of(sample.values(name)) for name in sample.names}
    return columns_with_commas(columns, options.decimal_comma, sample.tables[0].file.path)


def _objects_in(sample: Sample, options: TableOptions) -> frozenset[str]:
    """Return columns that mostly hold objects or lists of objects, other than boxes."""
    stated = {options.image_column, options.audio_column, options.split_column, *options.labels}
    hold = {
        name: [_holds_object(each) for _, each in sample.cells(name) if each not in ([], {})]
        for name in dict.fromkeys(name for rows in sample.rows for name in rows.columns)
        if name not in stated and lowered(name) not in _OF_ROLES
    }
    return frozenset(name for name, each in hold.items() if sum(each) * 2 > len(each))


def _holds_object(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_object, value)))


def _roles_of(choice: Choice) -> Roles:
    """Decide the role of every column by options, names and values, or as the schema declares.

    Raises:
        ConfigError: An option or the schema names a missing column, a column has the name of
            another feature, or all files of a column are outside the input.
    """
    options = choice.options
    roles = _declared(choice) if options.schema else _proposed(choice)
    sample = choice.sample
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


def _proposed(choice: Choice) -> Roles:
    """Decide roles by options, names and values."""
    options = choice.options
    choice.settle()
    choice.check()
    choice.join_classes()
    sample, caption = choice.sample, choice.one("captions")
    roles = Roles(
        key=choice.key,
        media=choice.media,
        split=choice.one("split"),
        boxes=_boxes(choice),
        ignored=frozenset(options.ignore_columns),
        optional=choice.one("number to predict"),
        captions=caption,
        numbers=(numbers_beside(choice, caption) if caption else None) or frozenset(),
    )
    roles = _with_labels(roles, choice)
    if not options.box_format and (stated := _box_format(roles.boxes, sample)):
        roles = _with_boxes(roles, format=stated)
    if roles.boxes.corners and sample.found:  # image ids are not attributes of boxes
        roles = dataclasses.replace(roles, ignored=roles.ignored | names_in_template(sample))
    _check_clashes(choice.usable, roles)
    return roles


def _with_labels(roles: Roles, choice: Choice) -> Roles:
    """Add the columns of classes of the record or of its boxes."""
    options, names = choice.options, choice.found.get("label", ())
    if roles.boxes.corners:
        if len(names) > 1:
            raise ConfigError(
                f"--label-column {options.label_column!r} names several columns, but a box has "
                "one class; name its column"
            )
        return _with_boxes(roles, labels="".join(names))
    label = choice.one("label")
    column = choice.column(label)
    if column.is_numeric and column.are_no_classes and len(column.texts) > _MANY_AMOUNTS:
        raise ConfigError(
            f"label_column (--label-column) {label!r} has amounts such as {column.texts[0]}; leave "
            "it out, or name a column of classes (`train --target` learns amounts)"
        )
    if label and label == choice.sample.tables[0].cells.label:
        separator = OF_COLUMNS
    elif options.label_separator:
        separator = options.label_separator.removeprefix(NO_LABEL)
    else:
        has_lists = column.is_list or column.is_nested
        separator = "" if has_lists else _separator_of(label, column.texts)
    labels = tuple((name if names[1:] else "label", name) for name in names)
    return dataclasses.replace(roles, labels=labels, separator=separator)


def _boxes(choice: Choice) -> BoxColumns:
    """Return the columns of boxes that were found."""
    found, stated = choice.found, choice.options.box_format
    size, boxes, runs = found.get("size", ()), choice.one("boxes"), found.get("run lengths", ())
    corners = found.get("box") or found.get("corners") or runs
    by_names = _FORMATS.get(",".join(map(lowered, found.get("corners", ()))), "")
    by_default = "xyxy" if found.get("box") else by_names
    return BoxColumns(
        size=(size[0], size[1]) if size else None,
        corners=corners,
        has_runs=bool(runs),
        lists=boxes,
        labels=choice.one("labels of boxes"),
        format="xywh" if runs else stated or by_default,
    )


def _declared(choice: Choice) -> Roles:
    """Find the column of every declared feature; leave out all others."""
    options, usable = choice.options, choice.usable
    declared = tuple(
        (feature, _declared_column(feature, choice))
        for feature in options.schema
        if feature.kind != "boxes"
    )
    boxes = [feature for feature in options.schema if feature.kind == "boxes"]
    choice.found["files"] = tuple(column for _, column in declared)
    if boxes:
        choice.found["image"] = ()  # one of the files
    choice.settle("split", *(OF_BOXES if boxes else ()))
    choice.check()
    roles = Roles(
        key=_declared_key(declared, choice),
        split=choice.one("split"),
        boxes=_declared_boxes(boxes, choice) if boxes else BoxColumns(),
        declared=declared,
    )
    attributes = {name for feature in boxes for name in feature.attributes}
    left_out = (
        name
        for name in usable
        if name not in roles.taken and attribute_name(name) not in attributes
    )
    return dataclasses.replace(roles, ignored=frozenset(left_out).union(options.ignore_columns))


def _declared_column(feature: Feature, choice: Choice) -> str:
    """Find a feature's column: named by the user, or called like it or a usual name."""
    usual = _USUAL.get((feature.name, feature.kind), ())
    option = getattr(choice.options, f"{feature.name}_column", "")
    stated = checked(feature.name, option, choice.usable)
    if usual and stated:
        return stated
    if feature.name in choice.usable:
        return feature.name
    others = {each.name for each in choice.options.schema}
    free = {key: name for key, name in choice.by_name.items() if name not in others}
    if not (column := first(usual, free)):
        raise ConfigError(
            f"--schema declares the feature {feature.name!r}, but there is no column for it; "
            f"{there_are(feature.name, choice.usable)}"
        )
    return column


def _declared_boxes(boxes: Sequence[Feature], choice: Choice) -> BoxColumns:
    columns = _boxes(choice)
    if boxes[1:] or boxes[0].name != "boxes" or not columns:
        raise ConfigError(
            f"--schema declares the boxes {boxes[-1].name!r}, but a table has one feature of "
            f"boxes, 'boxes', of columns such as {', '.join(known.CORNERS[0][0])}; "
            f"{there_are('boxes', choice.usable)}"
        )
    if columns.corners:
        stated = checked("label", choice.options.label_column, choice.usable)
        free = {key: name for key, name in choice.by_name.items() if choice.is_free(name)}
        label = stated or first(known.LABELS.of_tables, free)
        columns = dataclasses.replace(columns, labels=label)
    return columns


def _declared_key(declared: Sequence[tuple[Feature, str]], choice: Choice) -> str:
    """Return the column of the main image, audio or array, if it holds paths."""
    main = {
        feature.name: column
        for feature, column in declared
        if feature.name == feature.kind or feature.name == choice.column(column).media == "array"
    }
    return next((main[name] for name in ("image", "audio", "array") if name in main), "")


def _with_boxes(roles: Roles, **changes: object) -> Roles:
    return dataclasses.replace(roles, boxes=dataclasses.replace(roles.boxes, **changes))  # type: ignore[arg-type]


def _open_label(roles: Roles, sample: Sample, options: TableOptions) -> Problem | None:
    """Ask which column is the label of a file, if there are several candidates.

    Candidates have few values, which repeat. There is no question if a column is named like a text
    of the record, such as a caption.
    """
    is_decided = roles.has_target or roles.optional or options.schema or options.label_column
    names = without_role(sample.names, roles.taken, sample)
    if is_decided or not roles.media or _TEXTS.intersection(map(lowered, names)):
        return None
    possible = tuple(name for name in names if has_classes(name, sample))
    facts = {"path": sample.tables[0].file.path}
    choices = (*possible, NO_LABEL)
    question = Problem(code="several labels", facts=facts, option="label_column", choices=choices)
    return question if len(possible) > 1 else None


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
            _are_per_box(*both)
            for both in zip(sample.values(boxes.lists), sample.values(name), strict=True)
            if isinstance(both[1], list)
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
    """List the first columns and the last one, which is often what is to be predicted."""
    few = [*names]
    return ", ".join([*few[:7], "…", f"{few[-1]} ({len(few):,})"] if few[8:] else few)


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


def _are_per_box(boxes: Any, values: Sequence[Any]) -> bool:
    """Return whether `values` may be a list with one value per box in `boxes`."""
    return (
        isinstance(boxes, list)
        and len(values) == len(boxes)
        and not any(isinstance(box, dict) for box in boxes)
        and not any(isinstance(value, list | dict) for value in values)
    )


def _ignorable(rows: Batch) -> Iterator[str]:
    """Yield the names that `ignore_columns` may contain: columns and attributes of boxes."""
    yield from rows.columns
    for column in rows.columns:
        if lowered(column) in known.BOXES:
            nested = [each if isinstance(each, list) else [each] for each in rows.column(column)]
            objects = itertools.chain.from_iterable(nested)
            members = {name for each in objects if isinstance(each, dict) for name in each}
            per_box = {name for name in rows.columns if list in map(type, rows.column(name))}
            per_box.discard(column)
            yield from sorted(members)
            yield from (f"{column}.{attribute_name(name)}" for name in sorted(members | per_box))


def _check_headers(sample: Sample, options: TableOptions, roles: Roles) -> None:
    """Raise ConfigError if a table lacks columns of another one, other than label and split."""
    may_lack = {
        *(*options.ignore_columns, *options.labels, *sample.tables[0].cells.classes),
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
