"""Survey all rows of tables: kinds of columns, and which rows may lack a label."""

import dataclasses
import functools
import logging
import operator
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.counts import Counts, added, least, taken_over
from beam_pipeline.records import Consumed, DeclaredClasses, Rejected
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.paths import suffix, uncompressed
from beam_pipeline.sources.tables.infer import (
    COMMA,
    DIGITS,
    LARGE,
    Commas,
    Place,
    Profile,
    columns_with_commas,
    commas_of,
    profiles_of_columns,
)
from beam_pipeline.sources.tables.parts import WHOLE
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.row_objects import boxes_from_lists
from beam_pipeline.sources.tables.table import Batch, Scratch, Table
from beam_pipeline.sources.tables.types import (
    OF_COLUMNS,
    Kind,
    Unlabelled,
    is_stated,
    lacks_label,
    unsupported,
)
from tfrecord_dataset.format.inflation import TOO_LARGE

_LOG = logging.getLogger(__name__)
# Whole numbers with up to _FEW_CLASSES distinct values are classes, with over _MANY_CLASSES they
# are not; in between, a class must have _ROWS_OF_A_CLASS rows on average.
_FEW_CLASSES = 1_000
_MANY_CLASSES = 100_000
_ROWS_OF_A_CLASS = 10
# A column of text is reported if up to one in this many values is text.
_NUMBERS_PER_TEXT = 10
_FEW_COLUMNS = 3  # in a message
_LINE_OF_UNITS = 2  # below a header
_HEADED = ("csv", "tsv", "xlsx")

# Elements that pass unchanged next to tables.
Other = Rejected | DeclaredClasses | Consumed
Group = tuple[str, str]
"""A table's relative path, and the text in its column of splits; "" without one."""
Profiles = dict[str, Profile]
Kinds = Mapping[str, Kind | None]


def _profiles(one: Profiles, other: Profiles) -> Profiles:
    together = taken_over(one, other)
    check_number(together, "the rows")
    return together


def _few(one: set[str], other: set[str]) -> set[str]:
    return one | other if len(one) <= _MANY_CLASSES else one


@dataclasses.dataclass(init=False)
class Survey(Counts):
    """Statistics over the rows of tables; `merge` takes over those of other columns.

    Attributes:
        profiles: The profile of each column.
        commas: Forms of the numbers in each column, if it may have decimal commas.
        num_rows: Number of rows in the profiles.
        has_several: Whether a row has several, or none, of the classes with columns of their own.
        num_labels: Number of rows with a whole number in `Roles.doubtful`.
        labels: Distinct values of `Roles.doubtful`, or the first of very many.
        labelled, unlabelled: Groups of rows of which some have, and some lack, a label.
        too_large: Error by path of tables that are not read at all.
        table: The path of the table whose part this is; "" for whole tables.
        is_undivided: Whether it is of that whole table, since a part cannot be read.
    """

    profiles: Annotated[Profiles, _profiles] = dataclasses.field(default_factory=dict)
    commas: Annotated[dict[str, Commas], taken_over] = dataclasses.field(default_factory=dict)
    num_rows: Annotated[int, operator.add] = 0
    has_several: Annotated[bool, operator.or_] = False
    num_labels: Annotated[int, operator.add] = 0
    labels: Annotated[set[str], _few] = dataclasses.field(default_factory=set)
    labelled: Annotated[set[Group], added] = dataclasses.field(default_factory=set)
    unlabelled: Annotated[set[Group], added] = dataclasses.field(default_factory=set)
    too_large: Annotated[dict[str, RecordError], added] = dataclasses.field(default_factory=dict)
    table: Annotated[str, least] = ""
    is_undivided: Annotated[bool, operator.or_] = False

    def are_measures(self, column: str) -> bool:
        """Return whether a column has too many distinct whole numbers for classes."""
        count = len(self.labels)
        is_few = count <= _FEW_CLASSES or self.num_labels >= _ROWS_OF_A_CLASS * count
        is_int = column in self.profiles and self.profiles[column].widest is int
        return is_int and (count > _MANY_CLASSES or not is_few)

    def kind_of(self, name: str, roles: Roles) -> Kind | None:
        """Return the kind of a column, which is float if numbers are missing and stored as nan."""
        profile = self.profiles[name]
        if name in roles.label_columns:
            return profile.widest
        # Attributes of boxes are missing where there is no box.
        has_gaps = not roles.boxes and profile.num_values < self.num_rows
        if profile.usual is int and has_gaps and isinstance(roles.missing_number, float):
            return float
        return profile.usual


class Overview(NamedTuple):
    """Roles and kinds of columns over all rows of all tables, and columns of decimal commas.

    Attributes:
        too_large: As in `Survey`.
        undivided: Paths of tables that are not read in parts.
    """

    roles: Roles
    kinds: Kinds
    too_large: Mapping[str, RecordError]
    commas: frozenset[str] = frozenset()
    undivided: frozenset[str] = frozenset()


def survey(table: Table | Other, roles: Roles, scratch_folder: str = "") -> Iterator[Survey]:
    """Yield the survey of a table's rows."""
    if not isinstance(table, Table):
        return
    scratch, part = None, Survey()
    if table.has_values:
        groups = {(table.file.relative, "")}
        has_labels = bool({*roles.label_columns} & {*table.header})
        part = Survey(labelled=groups) if has_labels else Survey(unlabelled=groups)
        if not roles.doubtful:
            yield part
            return
        scratch = Scratch(table.file.path, scratch_folder)
        table = table.without(frozenset(table.header) - {roles.doubtful})
    try:
        for batch in table.with_commas(frozenset()).batches(scratch):
            part.merge(_survey_of(table, batch, roles))
    except RecordError as error:
        if not table.part.is_whole:  # limits on inflation are for whole files
            [part] = survey(dataclasses.replace(table, part=WHOLE), roles, scratch_folder)
            part.table, part.is_undivided = table.file.path, True
            yield part
            return
        # Rejected in the second pass.
        part = Survey(too_large={table.file.path: error} if error.reason == TOO_LARGE else {})
    part.table = "" if table.part.is_whole else table.file.path
    yield part


def _survey_of(table: Table, batch: Batch, roles: Roles) -> Survey:
    found = Survey()
    if not roles.declared or roles.boxes:
        parts = batch.attempts(functools.partial(profiles_of, table, roles=roles))
        for rows, profiles in parts:
            if not isinstance(profiles, RecordError):  # rejected in the second pass
                found.merge(Survey(profiles=profiles, num_rows=len(rows)))
    if roles.decimal_comma:
        found.commas = {name: commas_of(values) for name, values in batch.columns.items()}
    if roles.doubtful in found.profiles and found.profiles[roles.doubtful].widest is int:
        labels = [str(each).strip() for each in batch.columns[roles.doubtful] if is_stated(each)]
        found.num_labels, found.labels = len(labels), set(labels)
    marked = batch.columns.get(roles.label, ()) if roles.separator == OF_COLUMNS else ()
    found.has_several = any(OF_COLUMNS in text for text in marked if text)
    if roles.label_columns and not table.has_values:
        groups, lacking = _groups_of(table, batch, roles), _lacking(batch, roles)
        for group, lacks in set(zip(groups, lacking, strict=True)):
            (found.unlabelled if lacks else found.labelled).add(group)
    return found


def profiles_of(table: Table, batch: Batch, roles: Roles) -> dict[str, Profile]:
    """Return the profiles of rows' columns and labels, and of attributes as "<boxes>.<name>".

    Raises:
        RecordError: A row has an unusable value.
    """
    if table.is_typed:
        check_forms(batch.columns, roles)
    taken = roles.taken.difference(column for _, column in roles.labels)
    columns = {name: values for name, values in batch.columns.items() if name not in taken}
    profiles = profiles_of_columns(columns, are_texts=not table.is_typed)
    for name, profile in profiles.items():
        if text := profile.first_text:
            line = batch.lines[columns[name].index(text)]
            profile.first = Place(table.file.relative, line, table.row(line), text)
    if roles.boxes.lists:
        attributes: dict[str, list[Any]] = {}
        for row in batch.by_row():
            for name, values in boxes_from_lists(row, roles, None).attributes.items():
                attributes.setdefault(f"{roles.boxes.lists}.{name}", []).extend(values)
        profiles |= profiles_of_columns(attributes, are_texts=not table.is_typed)
    return profiles


def check_forms(columns: Mapping[str, Sequence[Any]], roles: Roles) -> None:
    """Raise "unsupported column" for an object, or a list or plain value unlike the first rows."""
    boxes = roles.boxes
    excepted = {boxes.lists, boxes.labels, *boxes.per_box} | roles.ignored
    for name, values in columns.items():
        types = set() if name in excepted else set(map(type, values)) - {type(None)}
        wrong = types & {dict}
        if name in roles.forms:
            wrong |= types - {list} if roles.forms[name] == "list" else types & {list}
        if wrong:
            shown = next(str(value) for value in values if type(value) in wrong)
            raise unsupported(f"column {name!r} holds {shown[:100]}, unlike other rows", name)


def _groups_of(table: Table, batch: Batch, roles: Roles) -> list[Group]:
    """Return the group of each row."""
    if roles.split not in batch.columns:
        return [(table.file.relative, "")] * len(batch)
    splits = batch.columns[roles.split]
    return [(table.file.relative, "" if each is None else str(each).strip()) for each in splits]


def _lacking(batch: Batch, roles: Roles) -> list[bool]:
    """Return whether each row lacks all labels."""
    columns = [batch.columns[name] for name in roles.label_columns if name in batch.columns]
    if not columns:
        return [True] * len(batch)
    rows = [*zip(*columns, strict=True)]
    if not all({str}.issuperset(map(type, column)) for column in columns):  # lists have no hash
        return [all(map(lacks_label, row)) for row in rows]
    lacking = {row: all(map(lacks_label, row)) for row in set(rows)}
    return [lacking[row] for row in rows]


def with_unlabelled(table: Table, batch: Batch, roles: Roles) -> Batch:
    """Return rows with `Unlabelled.LABEL` as the label where none is needed."""
    if all(relative != table.file.relative for relative, _ in roles.unlabelled):
        return batch
    may_lack = [
        lacks and group in roles.unlabelled
        for group, lacks in zip(
            _groups_of(table, batch, roles), _lacking(batch, roles), strict=True
        )
    ]
    columns = dict(batch.columns)
    for name in roles.label_columns:
        values = batch.column(name)
        columns[name] = [
            Unlabelled.LABEL if may else value for may, value in zip(may_lack, values, strict=True)
        ]
    return dataclasses.replace(batch, columns=columns)


def overview(surveys: Iterable[Survey], roles: Roles) -> Overview:
    """Derive the final roles and kinds of columns from surveys."""
    survey, undivided = _joined(surveys)
    unlabelled = survey.unlabelled - survey.labelled if survey.labelled else ()
    roles = dataclasses.replace(roles, unlabelled=frozenset(unlabelled))
    if roles.separator == OF_COLUMNS and not survey.has_several:
        roles = dataclasses.replace(roles, separator="")
    commas = columns_with_commas(survey.commas, roles.decimal_comma, "the table")
    survey.profiles |= {
        name: survey.commas[name].profile for name in commas & survey.profiles.keys()
    }
    kinds = {name: survey.kind_of(name, roles) for name in sorted(survey.profiles)}
    if roles.optional:
        kinds[roles.optional] = float
    for sentence in _sentences(survey, roles):
        _LOG.warning("%s", sentence)
    if roles.doubtful and survey.are_measures(roles.doubtful):
        _LOG.warning(
            "column %r is a number to predict, not a class, by its %s different whole numbers; "
            "pass --label-column %s if it is a class",
            *(roles.doubtful, f"{len(survey.labels):,}", shlex.quote(roles.doubtful)),
        )
        roles = dataclasses.replace(roles, labels=())
    return Overview(roles, kinds, survey.too_large, commas, undivided)


def _joined(surveys: Iterable[Survey]) -> tuple[Survey, frozenset[str]]:
    """Merge surveys, and return the paths of tables that are not read in parts."""
    by_table: dict[str, Survey] = {}
    undivided: dict[str, Survey] = {}
    for each in surveys:
        if each.is_undivided:
            undivided[each.table] = each
        else:
            by_table.setdefault(each.table, Survey()).merge(each)
    whole = Survey()
    for each in (by_table | undivided).values():
        whole.merge(each)
    return whole, frozenset(undivided)


def _sentences(survey: Survey, roles: Roles) -> Iterator[str]:
    """Yield a sentence for each kind of columns whose values are not all numbers."""
    columns = {
        name: profile
        for name, profile in sorted(survey.profiles.items())
        if profile.num_texts and name not in roles.label_columns
    }
    large = {name: each for name, each in columns.items() if each.counts[LARGE] and each.are_whole}
    yield from _sentence(
        "text",
        {
            name: f"{each.counts[LARGE]:,} of {each.num_values:,} whole numbers need over 64 bits"
            for name, each in large.items()
        },
    )
    odd = {name: _odd(each) for name, each in columns.items() if _is_nearly_numbers(each)}
    errors = {name: text for name, text in odd.items() if columns[name].has_errors}
    are_units = all(_may_be_unit(columns[name]) for name in odd)
    remedy = "if it is a unit, in a recipe: `header_rows: 2`" if are_units else ""
    yield from _sentence("a number", errors, remedy)
    yield from _sentence("text", {name: odd[name] for name in odd if name not in errors}, remedy)
    commas = {
        name: f"{each.first.text[:20]!r} ({each.first.row}) has a comma"
        for name, each in columns.items()
        if each.first and each.num_texts == each.counts[COMMA]
        if not (each.has_errors or roles.decimal_comma)
    }
    yield from _sentence("text", commas, "if it is decimal, in a recipe: `decimal_comma: true`")


def _sentence(what: str, columns: Mapping[str, str], remedy: str = "") -> Iterator[str]:
    if columns:
        few = [f"{name} is {what}: {why}" for name, why in columns.items()][:_FEW_COLUMNS]
        more = len(columns) - len(few)
        others = f"and {more} more columns are {what}" if more else ""
        yield "; ".join(filter(None, [*few, others, remedy]))


def _is_nearly_numbers(profile: Profile) -> bool:
    is_number = profile.kind in (int, float)
    few = profile.num_texts * _NUMBERS_PER_TEXT <= profile.num_values
    return (
        is_number
        and not profile.counts.keys() & {DIGITS, LARGE}
        and few
        and profile.first is not None
    )


def _may_be_unit(profile: Profile) -> bool:
    """Return whether the only text of a column is in the second line of a CSV or a sheet."""
    first = profile.first
    if not first or first.line != _LINE_OF_UNITS:
        return False
    return profile.num_texts == 1 and suffix(uncompressed(first.file)) in _HEADED


def _odd(profile: Profile) -> str:
    assert profile.first
    are = "values is not a number" if profile.num_texts == 1 else "values are not numbers"
    text, row = profile.first.text[:20], profile.first.row
    return f"{profile.num_texts:,} of {profile.num_values:,} {are} ({text!r}, {row})"
