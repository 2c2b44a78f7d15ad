"""Decide roles and kinds of columns from the survey of all rows, and report what is doubtful."""

import dataclasses
import logging
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.paths import suffix, uncompressed
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.survey import (
    COMMA,
    DIGITS,
    LARGE,
    Kinds,
    Profile,
    Survey,
    columns_with_commas,
)
from beam_pipeline.sources.tables.types import (
    OF_COLUMNS,
)

_LOG = logging.getLogger(__name__)
# A column of text is reported if up to one in this many values is text.
_NUMBERS_PER_TEXT = 10
_FEW_COLUMNS = 3  # in a message
_LINE_OF_UNITS = 2  # below a header
_HEADED = ("csv", "tsv", "xlsx")


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
