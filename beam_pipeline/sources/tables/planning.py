"""Plan tables by their first rows: find the roles of columns, and the files that they name."""

import dataclasses
import itertools
import string
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.problems import Problem
from beam_pipeline.records import DeclaredClasses
from beam_pipeline.sources.paths import media_kind
from beam_pipeline.sources.tables import columns as known
from beam_pipeline.sources.tables.columns import TableOptions, check_ignored, lowered, there_are
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tables.roles import (
    Roles,
    columns_of_classes,
    ignorable,
    is_id,
    open_label,
    roles_of,
    understood,
)
from beam_pipeline.sources.tables.sample import Sample
from beam_pipeline.sources.tables.table import Cells, Table

# Names of columns that hold files, boxes, classes or splits, or are errors.
_OF_ROLES = frozenset(
    {*known.BOXES, *known.IMAGE, *known.AUDIO, *known.SPLIT, *known.LABELS.of_record}
)
# Minimum share of values that must match files, for ids and for names with a suffix.
_SHARE, _SHARE_OF_NAMES = 0.9, 0.5


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
    sample = Sample.of(tables)
    if not sample.rows and not tables[0].header:
        raise ConfigError(f"{tables[0].file.path} has no line with a JSON object; write some")
    members = (name for row in sample.rows for name in ignorable(row.values))
    check_ignored(options.ignore_columns, [*dict.fromkeys((*sample.names, *members))])
    nested = _objects_in(sample, options).difference(options.ignore_columns)
    asked = _cells(options, sample.names)
    if asked != Cells():
        sample = Sample([dataclasses.replace(table, cells=asked) for table in tables], sample.raw)
    sample = _with_files(sample.with_cells(as_json=nested), options)
    if classes := columns_of_classes(sample, options):
        sample = sample.with_cells(classes=classes)
    roles = roles_of(sample, options)
    _check_headers(sample, options, roles, classes)
    return TablePlan(
        tables=sample.tables,
        roles=roles,
        sample=sample,
        understood=[*_files_understood(sample), *understood(roles, sample)],
        classes=[*_classes_of_forms(sample, roles)],
        problem=open_label(roles, sample, options),
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
        why = f"there is a column {column!r} already; name the column of the path by --image-column"
    if why:
        raise ConfigError(f"image_template {template!r} cannot be used: {why}")
    return dataclasses.replace(made, column=column, template=tuple(parts))


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
                f"{table.file.path}: column {best.column!r} names no files, as it does in another "
                f"table; pass --ignore {table.file.relative}"
            )
        if each.unclear:
            raise ConfigError(
                f"{table.file.path}: column {each.column!r} names {each.unclear[0]} and "
                f"{each.unclear[1]}; leave one out by --ignore, or set image_template"
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


def _names_in(sample: Sample, table: Table, left_out: Collection[str]) -> _Names | None:
    """Return the column of a table that names the most files below the input."""
    index = FileIndex.of(table.file.root, table.file.ignored)
    rows = [row.values for row in sample.rows if row.file == table.file] if index else []
    found = []
    for name in dict.fromkeys(itertools.chain(*rows)):
        if name in left_out or lowered(name) in known.LABELS.lists_of_record:
            continue
        values = (row.get(name) for row in rows)
        texts = (str(each).strip() for each in values if isinstance(each, str | int))
        stated = [*filter(None, texts)]
        distinct = sorted(set(stated))
        has_suffixes = any(map(media_kind, distinct))
        is_usual = is_id(name) or lowered(name) in (*known.IMAGE, *known.AUDIO) or has_suffixes
        if len(distinct) < len(stated) and not is_usual:
            continue  # numbers of rooms, or kinds, may match names of files by chance
        matches = [index.matches(value, table.file.near) for value in distinct]
        there = [each for each in matches if each]
        if there and len(there) >= (_SHARE_OF_NAMES if has_suffixes else _SHARE) * len(matches):
            kind = Counter(media_kind(each[0]) for each in there).most_common(1)[0][0]
            unclear = next((each for each in there if each[1:]), ())
            found.append(_Names(len(there), has_suffixes, name, kind, unclear))
    return max(found, key=lambda each: each[:2], default=None)


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
    headers = sample.headers
    for name in dict.fromkeys(itertools.chain(*headers.values())):
        without = [table for table, header in headers.items() if name not in header]
        if without and name not in may_lack and lowered(name) not in known.LABELS.of_tables:
            raise ConfigError(
                f"column {name!r} is not in {without[0]}, but in other tables; pass --label-column "
                f"{name} if it is the label, else --ignore-columns {name}"
            )


def _classes_of_forms(sample: Sample, roles: Roles) -> Iterator[DeclaredClasses]:
    """Yield the classes that the tables themselves state for labels and boxes."""
    for feature, column in (*roles.labels, ("boxes", roles.boxes.lists)):
        if column in sample.declarations and (classes := sample.declarations[column].classes):
            yield DeclaredClasses(feature=feature, names=dict(enumerate(classes)))
