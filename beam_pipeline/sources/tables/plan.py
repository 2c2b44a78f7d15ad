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
from beam_pipeline.problems import Problem, ignoring
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
    declared = _settle(choice)
    sample, caption, split = choice.sample, choice.one("captions"), choice.one("split")
    numbers = (numbers_beside(choice, caption) if caption else None) or frozenset()
    ignored = _ignored(choice)
    taken = choice.taken | ignored | numbers
    left = {name: column for name, column in sample.columns.items() if name not in taken}
    boxes = _boxes(choice, [name for name, column in left.items() if column.form == "list"])
    labels = () if options.schema or boxes.corners else _labels(choice)
    is_guess = not (options.label_column or options.classes)
    key = choice.key or _declared_key(declared, choice)
    has_index = any(table.file.by_index for table in sample.tables)
    roles = Roles(
        key="" if _are_held(key, sample) else key,
        media=choice.media,
        labels=labels,
        separator=_separator(choice) if labels else "",
        classes=tuple(options.classes),
        split=split,
        split_folders=not (split or has_index) and sample.are_in_split_folders(key),
        boxes=boxes,
        captions=caption,
        numbers=numbers,
        forms={
            name: column.form
            for name, column in left.items()
            if column.form != "object" and name not in boxes.per_box
        },
        declared=declared,
        ignored=ignored,
        missing_number=options.missing_number,
        decimal_comma=options.decimal_comma,
        optional=choice.one("number to predict"),
        doubtful=choice.one("label") if labels and is_guess else "",
    )
    _check_clashes(choice.usable, roles)
    sample.check_inside(media.column for media in roles.media)
    if boxes.corners and key != roles.key:
        corners = ",".join(boxes.corners)
        raise ConfigError(
            f"cannot group the boxes of {corners} by image, since {key!r} holds the images: "
            f"put the boxes of one into its row, or pass --ignore-columns {shlex.quote(corners)}"
        )
    return roles


def _settle(choice: Choice) -> tuple[tuple[Feature, str], ...]:
    """Settle roles, with a schema those that it declares; return the columns of its features."""
    schema = choice.options.schema
    declared = tuple(
        (feature, _declared_column(feature, choice))
        for feature in schema
        if feature.kind != "boxes"
    )
    if not schema:
        choice.settle()
    else:
        choice.found["declared"] = tuple(column for _, column in declared)
        has_boxes = len(declared) < len(schema)
        if has_boxes:
            choice.found["image"] = ()  # one of the files
        choice.settle("split", *(OF_BOXES if has_boxes else ()))
        if choice.corners:
            choice.settle("label")
    choice.check()
    choice.join_classes()
    return declared


def _ignored(choice: Choice) -> frozenset[str]:
    """Return the columns to leave out: by option, or not declared in the schema."""
    options, sample = choice.options, choice.sample
    ignored = frozenset(options.ignore_columns)
    if options.schema:
        attributes = {name for feature in options.schema for name in feature.attributes}
        left = (name for name in choice.usable if name not in choice.taken)
        return ignored.union(name for name in left if attribute_name(name) not in attributes)
    # Image ids are not attributes of boxes.
    return ignored | names_in_template(sample) if choice.corners and sample.found else ignored


def _are_held(key: str, sample: Sample) -> bool:
    """Return whether a table holds the main files of its records."""
    return key in sample.declarations and bool(sample.declarations[key].media)


def _labels(choice: Choice) -> tuple[tuple[str, str], ...]:
    """Return (feature, column) of the record's classes."""
    names, label = choice.found.get("label", ()), choice.one("label")
    column = choice.column(label)
    if column.is_numeric and column.are_no_classes and len(column.texts) > _MANY_AMOUNTS:
        raise ConfigError(
            f"label_column (--label-column) {label!r} has amounts such as {column.texts[0]}; leave "
            "it out, or name a column of classes (`train --target` learns amounts)"
        )
    return tuple((name if names[1:] else "label", name) for name in names)


def _separator(choice: Choice) -> str:
    """Return what separates the classes in a text of the label; "" if it is one class."""
    label, stated = choice.one("label"), choice.options.label_separator
    column = choice.column(label)
    if label and label == choice.sample.tables[0].cells.label:
        return OF_COLUMNS
    if stated:
        return stated.removeprefix(NO_LABEL)
    return "" if column.is_list or column.is_nested else _separator_of(label, column.texts)


def _boxes(choice: Choice, lists: Sequence[str]) -> BoxColumns:
    """Return the columns of boxes; `lists` are columns of lists without another role.

    Raises:
        ConfigError: The columns, or those that the schema declares, are not of boxes.
    """
    found, options, corners = choice.found, choice.options, choice.corners
    size, labels = found.get("size", ()), found.get("label" if corners else "labels of boxes", ())
    boxes = choice.one("boxes")
    if labels[1:]:
        raise ConfigError(
            f"a box has one class, not one of each of the columns {', '.join(labels)}; pass "
            f"--label-column {shlex.quote(labels[0])}, or the name of another one"
        )
    declared = [feature.name for feature in options.schema if feature.kind == "boxes"]
    if declared and (declared != ["boxes"] or not (corners or boxes)):
        raise ConfigError(
            f"--schema declares the boxes {declared[-1]!r}, but a table has one feature of "
            f"boxes, 'boxes', of columns such as {', '.join(known.CORNERS[0][0])}; "
            f"{there_are('boxes', choice.usable)}"
        )
    if lists and corners:
        raise ConfigError(
            f"column {min(lists)!r} holds lists, but an attribute of one box is a number or text; "
            f"pass --ignore-columns {shlex.quote(min(lists))}"
        )
    per_box = (name for name in lists if boxes and _are_per_box(boxes, name, choice.sample))
    return BoxColumns(
        size=(size[0], size[1]) if size else None,
        corners=corners,
        has_runs="run lengths" in found,
        lists=boxes,
        labels="".join(labels),
        per_box=frozenset(per_box),
        format=_box_format(choice),
    )


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


def _declared_key(declared: Sequence[tuple[Feature, str]], choice: Choice) -> str:
    """Return the column of the main image, audio or array, if it holds paths."""
    main = {
        feature.name: column
        for feature, column in declared
        if feature.name == feature.kind or feature.name == choice.column(column).media == "array"
    }
    return next((main[name] for name in ("image", "audio", "array") if name in main), "")


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


def _box_format(choice: Choice) -> str:
    """Return the format of boxes by option, names or values; "" if lists of JSON state it.

    Open Images has fractions. Lists of four numbers are corners, unless most cannot be: the third
    number is not above the first, or the fourth not above the second.
    """
    sample, corners = choice.sample, choice.corners
    if "run lengths" in choice.found:
        return "xywh"
    if choice.options.box_format or not corners:
        return choice.options.box_format
    if len(corners) == 4:
        is_open_images = {"imageid", "labelname"} <= set(map(lowered, sample.names))
        return "rel_xyxy" if is_open_images else _FORMATS[",".join(map(lowered, corners))]
    boxes = (_numbers(value) for value in sample.column(corners[0]).values)
    fours = [box for box in boxes if len(box) == 4]
    no_corners = sum(box[2] <= box[0] or box[3] <= box[1] for box in fours)
    no_sides = any(box[2] <= 0 or box[3] <= 0 for box in fours)
    return "xywh" if no_corners * 2 > len(fours) and not no_sides else "xyxy"


def _numbers(value: Any) -> list[float]:
    with contextlib.suppress(RecordError, TypeError, ValueError):
        return [*map(float, list_of_text(value) if isinstance(value, str) else value)]
    return []


def _are_per_box(boxes: str, name: str, sample: Sample) -> bool:
    """Return whether the lists of a column have a value per box in the lists of `boxes`."""
    rows = zip(sample.values(boxes), sample.values(name), strict=True)
    return all(_is_per_box(*row) for row in rows if isinstance(row[1], list))


def _is_per_box(boxes: Any, values: Sequence[Any]) -> bool:
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
    lacked = {
        name: without[0]
        for name in dict.fromkeys(itertools.chain(*sample.headers.values()))
        if (without := [table for table, header in headers.items() if name not in header])
        and name not in may_lack
        and lowered(name) not in known.LABELS.of_tables
    }
    if not lacked:
        return
    (first, table), *others = lacked.items()
    what = f"columns {_shown(lacked)} are" if others else f"column {first!r} is"
    has_label = roles.label_columns or roles.optional
    label = "" if has_label else f"--label-column {shlex.quote(first)} if it is the label, else "
    ignored = shlex.quote(",".join([*options.ignore_columns, *lacked]))
    left_out = f", or {ignoring(table)} to leave that table out" if others else ""
    raise ConfigError(
        f"{what} not in {table}, but in other tables; pass {label}--ignore-columns {ignored}"
        f"{left_out}"
    )


def _classes_of_forms(sample: Sample, roles: Roles) -> Iterator[DeclaredClasses]:
    """Yield the classes that the tables themselves state for labels and boxes."""
    for feature, column in (*roles.labels, ("boxes", roles.boxes.lists)):
        if column in sample.declarations and (classes := sample.declarations[column].classes):
            yield DeclaredClasses(feature=feature, names=dict(enumerate(classes)))
