"""What the rows of all tables hold: types of columns, very large numbers, kinds of labels."""

import contextlib
import dataclasses
import functools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Consumed, DeclaredClasses, Rejected
from beam_pipeline.sources.tables.convert import Kinds, kinds_of
from beam_pipeline.sources.tables.labels import OF_COLUMNS, is_stated
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.table import Batch, Scratch, Table
from beam_pipeline.sources.tables.types import (
    Kind,
    is_whole,
    kind_of_texts,
    kind_of_values,
    merge_kinds,
)
from tfrecord_dataset.format.inflation import TOO_LARGE

_LOG = logging.getLogger(__name__)

# Whole numbers with so few different values are classes, with so many they are none; between
# these each class has so many rows.
_FEW_CLASSES = 1_000
_MANY_CLASSES = 100_000
_ROWS_OF_A_CLASS = 10

# What goes along with tables.
Other = Rejected | DeclaredClasses | Consumed


class Digits(NamedTuple):
    """What the whole numbers of a column are.

    Attributes:
        number: How many there are.
        large: Those that need over 64 bits.
        are_whole: Whether all values are whole numbers.
    """

    number: int
    large: int = 0
    are_whole: bool = False


def digits_of(
    columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind | None]
) -> dict[str, Digits]:
    """Count the whole numbers of some rows by column; those too large are text."""
    found = {}
    for name, values in columns.items():
        kind, are_whole = kinds.get(name), False
        stated = [value for value in values if value not in (None, "")]
        if kind in (int, str):
            are_whole = kind is int or all(map(is_whole, stated))
        large = sum(map(_is_large, stated)) if are_whole and kind is str else 0
        found[name] = Digits(len(stated), large, are_whole)
    return found


def _is_large(value: Any) -> bool:
    return not -(2**63) <= int(value) < 2**63


def merge_digits(one: Mapping[str, Digits], other: Mapping[str, Digits]) -> dict[str, Digits]:
    """Add the counts of some rows to those of others; none of a column that is text in some."""
    if not one or not other:
        return dict(one or other)
    return {
        name: Digits(
            one[name].number + other[name].number,
            one[name].large + other[name].large,
            one[name].are_whole and other[name].are_whole,
        )
        for name in one.keys() & other.keys()
    }


def digits_lost(found: Mapping[str, Digits], kinds: Mapping[str, Kind | None]) -> Iterator[str]:
    """Yield a message for each column that is text for its large whole numbers."""
    for name, (number, large, are_whole) in sorted(found.items()):
        if kinds.get(name) is str and are_whole and large:
            yield (
                f"column {name!r} is text: {large:,} of {number:,} whole numbers need over 64 bits"
            )


@dataclasses.dataclass(slots=True)
class Survey:
    """What the rows of some tables hold; filled batch by batch.

    Attributes:
        kinds: The kind of each column.
        has_several: Whether a row has several, or none, of the classes with columns of their own.
        num_labels: How many rows state `Roles.doubtful`.
        labels: Its distinct values, or the first few of very many.
        digits: The whole numbers by column.
        too_large: Why no row of a table is read, by the path of its file.
    """

    kinds: Kinds = dataclasses.field(default_factory=dict)
    has_several: bool = False
    num_labels: int = 0
    labels: set[str] = dataclasses.field(default_factory=set)
    digits: Mapping[str, Digits] = dataclasses.field(default_factory=dict)
    too_large: dict[str, RecordError] = dataclasses.field(default_factory=dict)

    def add(self, other: "Survey") -> "Survey":
        """Add what other rows hold; return the survey."""
        self.kinds = merge_kinds([self.kinds, other.kinds])
        self.has_several = self.has_several or other.has_several
        self.num_labels += other.num_labels
        if len(self.labels) <= _MANY_CLASSES:
            self.labels |= other.labels
        self.digits = merge_digits(self.digits, other.digits)
        self.too_large |= other.too_large
        return self

    def are_measures(self, column: str) -> bool:
        """Return whether a column has too many different whole numbers for classes."""
        count = len(self.labels)
        is_few = count <= _FEW_CLASSES or self.num_labels >= _ROWS_OF_A_CLASS * count
        return self.kinds.get(column) is int and (count > _MANY_CLASSES or not is_few)


class Overview(NamedTuple):
    """The roles and the kinds of columns, once all rows of all tables are known."""

    roles: Roles
    kinds: Kinds
    too_large: Mapping[str, RecordError]


def survey(table: Table | Other, roles: Roles, scratch_folder: str = "") -> Iterator[Survey]:
    """Yield what the rows of a table hold, if it can be read."""
    if not isinstance(table, Table) or (table.has_values and not roles.doubtful):
        return
    scratch = None
    if table.has_values:
        others = set(table.header) - {roles.doubtful}
        table, scratch = table.without(others), Scratch(table.file.path, scratch_folder)
    else:
        table = table.without(roles.texts)
    part = Survey(kinds=dict.fromkeys(roles.texts, str))
    try:
        for batch in table.batches(scratch):
            part.add(_survey_of(table, batch, roles))
    except RecordError as error:  # it is rejected when it is read
        part = Survey(too_large={table.file.path: error} if error.reason == TOO_LARGE else {})
    yield part


def _survey_of(table: Table, batch: Batch, roles: Roles) -> Survey:
    is_declared = table.has_values or (roles.declared and not roles.boxes.taken)
    kinds = {} if is_declared else _kinds(table, batch, roles)
    values = batch.columns.get(roles.doubtful, ())
    if values and roles.doubtful not in kinds:
        with contextlib.suppress(RecordError):
            kinds[roles.doubtful] = (kind_of_values if table.is_typed else kind_of_texts)(values)
    are_whole = kinds.get(roles.doubtful) is int
    labels = [str(value).strip() for value in values if are_whole and is_stated(value)]
    marked = batch.columns.get(roles.label, ()) if roles.separator == OF_COLUMNS else ()
    return Survey(
        kinds,
        any(OF_COLUMNS in text for text in marked if text),
        len(labels),
        set(labels),
        digits_of(batch.columns, kinds),
    )


def _kinds(table: Table, batch: Batch, roles: Roles) -> dict[str, Any]:
    """Return the kinds of the columns over those rows that can be used."""
    try:
        return kinds_of(table, batch, roles)
    except RecordError:  # such rows are rejected when they are read
        if len(batch) == 1:
            return {}
    return merge_kinds(_kinds(table, half, roles) for half in batch.halves())


def overview(surveys: Iterable[Survey], roles: Roles) -> Overview:
    """Return the roles and kinds of columns over the rows of all tables."""
    survey = functools.reduce(Survey.add, surveys, Survey())
    kinds = dict(survey.kinds)
    if roles.separator == OF_COLUMNS and not survey.has_several:
        roles = dataclasses.replace(roles, separator="")
    if roles.optional:
        kinds[roles.optional] = float
    for message in digits_lost(survey.digits, kinds):
        _LOG.warning(message)
    if roles.doubtful and survey.are_measures(roles.doubtful):
        _LOG.warning(
            "column %r is a number to predict, not a class, by its %s different whole numbers; "
            "pass --label-column %s if it is a class",
            *(roles.doubtful, f"{len(survey.labels):,}", roles.doubtful),
        )
        roles = dataclasses.replace(roles, labels=())
    return Overview(roles, kinds, survey.too_large)
