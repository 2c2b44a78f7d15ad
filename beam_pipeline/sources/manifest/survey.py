"""The first pass over tables: what all rows are, and where the rows of each range begin.

Where a row may hold line ends in quotes, whether a range begins within such a row, only the ranges
before it tell. So each range guesses where its first row begins, and is read to where its last row
ends. Where every range ends as the next begins, all guesses were right; else the table is read as
one range.
"""

import dataclasses
import itertools
import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.columns.choice import check_ignored
from beam_pipeline.sources.columns.class_values import OF_COLUMNS, WholeNumbers, whole_numbers
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind, merge_kinds
from beam_pipeline.sources.manifest.first_rows import split_folders_of
from beam_pipeline.sources.manifest.kinds import ignorable, kinds_of
from beam_pipeline.sources.manifest.table import Batch, Range, Table, whole
from tfrecord_dataset.shown_text import one_line

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What the first pass is to find out, besides where rows begin.

    Attributes:
        columns: Which column is which.
        kinds: Whether the kinds of columns are needed.
        one_folder: Whether it matters that all main files lie in one split's folder, of which a
            build then makes several splits.
        ignored: What a user leaves out that the first rows do not have.
        names: What the first rows have that could be left out, for messages.
        label: The column of classes, where its name alone says so: it may be a number to predict.
        remedy: What makes it the column of classes, in the words of whoever builds.
    """

    columns: Columns
    kinds: bool = True
    one_folder: bool = False
    ignored: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    label: str = ""
    remedy: str = ""

    def about_label(self, name: str) -> "Questions":
        """These, and whether the column `name` holds classes; not where it is ""."""
        remedy = f"pass --label-column {name!r}"
        return dataclasses.replace(self, label=name, remedy=remedy)

    @property
    def of_all(self) -> bool:
        """Whether more than the labels has to be looked at."""
        return self.kinds or self.one_folder or bool(self.ignored) or self.has_class_columns

    @property
    def has_class_columns(self) -> bool:
        """Whether each class has a column of its own: a row may have one of them, or several."""
        return self.columns.separator == OF_COLUMNS


@dataclasses.dataclass(slots=True)
class Profile:
    """What some rows are.

    Attributes:
        kinds: Of their columns.
        split_folders: The splits' folders of their main files; None of a file in none.
        ignored: What they have of `Questions.ignored`.
        labels: What they have of `Questions.label`.
        has_several: Whether one has several classes, or none, of those with columns of their own.
    """

    kinds: dict[str, Kind | None] = dataclasses.field(default_factory=dict)
    split_folders: frozenset[str | None] = frozenset()
    ignored: frozenset[str] = frozenset()
    labels: WholeNumbers = dataclasses.field(default_factory=WholeNumbers)
    has_several: bool = False

    def and_of(self, other: "Profile") -> "Profile":
        """What these rows and others are."""
        return Profile(
            merge_kinds([self.kinds, other.kinds]),
            self.split_folders | other.split_folders,
            self.ignored | other.ignored,
            self.labels.and_of(other.labels),
            self.has_several or other.has_several,
        )


class Place(NamedTuple):
    """The rows of a range, and where these lie among those of their table.

    Attributes:
        start: The position at which the first of them begins.
        end: The first position at which none of them begins: there the next row does.
        num_lines: Lines between these.
        first_line: The line of the first, from 1.
    """

    start: int
    end: int
    num_lines: int = 0
    first_line: int = 1


class Survey(NamedTuple):
    """What one range is.

    Attributes:
        path: The table's.
        range_start: The range's first position.
        place: Of its rows, as if the table began there.
        profile: Of its rows.
        table: The table, of the range that begins it alone: a header may be long.
    """

    path: str
    range_start: int
    place: Place
    profile: Profile
    table: Table | None


@dataclasses.dataclass(frozen=True, slots=True)
class Overview:
    """What all tables are.

    Attributes:
        columns: Which column is which.
        kinds: Of the columns.
        places: Of the rows of ranges, by path and the range's first position.
    """

    columns: Columns
    kinds: Mapping[str, Kind | None]
    places: Mapping[tuple[str, int], Place]


def surveyed(part: object, questions: Questions) -> list[Survey]:
    """What one range is, if its table can be used."""
    return [survey(part, questions)] if isinstance(part, Range) else []


def survey(part: Range, questions: Questions) -> Survey:
    """What one range of a table is."""
    table = part.table.bare(() if questions.of_all else {questions.label} - {""})
    start = end = table.first_row(part.start)
    profile = Profile()
    num_lines = 0
    if start < part.end and not (questions.of_all or questions.label):
        num_lines, end = table.skim(start, part.end)
    elif start < part.end:
        for batch in table.batches(start, part.end):
            profile = profile.and_of(_profile(table, batch, questions))
            num_lines, end = batch.next_line, batch.next_offset
    path, of_table = table.manifest.path, None if part.start else part.table
    return Survey(path, part.start, Place(start, end, num_lines), profile, of_table)


def _profile(table: Table, batch: Batch, questions: Questions) -> Profile:
    """What some rows of a table are."""
    profile = Profile()
    columns = questions.columns
    if questions.kinds:
        profile.kinds = _kinds(table, batch, columns)
    if questions.one_folder:
        files = batch.columns.get(columns.key, ())
        profile.split_folders = frozenset(
            split_folders_of((table.manifest, name) for name in files)
        )
    if questions.ignored:
        names = (name for values in batch.by_row() for name in ignorable(values))
        profile.ignored = questions.ignored.intersection(names)
    if questions.label:
        profile.labels = whole_numbers(batch.columns.get(questions.label, ()))
    if questions.has_class_columns:
        labels = batch.columns.get(columns.label, ())
        profile.has_several = any(OF_COLUMNS in text for text in labels if text)
    return profile


def _kinds(table: Table, batch: Batch, columns: Columns) -> dict[str, Kind | None]:
    """The kinds of the columns over those rows that can be used."""
    try:
        return kinds_of(table, batch, columns)
    except RecordError:  # such rows are rejected when they are read
        if len(batch) == 1:
            return {}
    return merge_kinds(_kinds(table, half, columns) for half in batch.halves())


def overview(surveys: Iterable[Survey], questions: Questions) -> Overview:
    """What the ranges of all tables say together.

    Raises:
        ConfigError: A user leaves out what no row has.
    """
    places: dict[tuple[str, int], Place] = {}
    profile = Profile()
    ordered = sorted(surveys, key=lambda each: each[:2])
    for path, group in itertools.groupby(ordered, key=lambda each: each.path):
        ranges = list(group)
        if any(one.place.end != other.place.start for one, other in itertools.pairwise(ranges)):
            places |= {(path, each.range_start): Place(0, 0) for each in ranges}
            table = ranges[0].table
            assert table is not None  # it begins at 0
            ranges = [survey(whole(table), questions)]
        line = 1
        for each in ranges:
            places[path, each.range_start] = each.place._replace(first_line=line)
            line += each.place.num_lines
            profile = profile.and_of(each.profile)
    check_ignored(questions.ignored - profile.ignored, questions.names)
    columns = questions.columns
    if questions.one_folder and len(profile.split_folders - {None}) < 2:
        columns = dataclasses.replace(columns, split_folders=False)
    if questions.has_class_columns and not profile.has_several:
        columns = dataclasses.replace(columns, separator="")
    kinds = profile.kinds
    if columns.optional:
        kinds = {**kinds, columns.optional: float}
    if profile.labels.are_measures:
        _LOG.warning(
            "column %r is a number to predict, since it has %s different whole numbers in %s rows; "
            "if they are classes, %s",
            questions.label,
            f"{len(profile.labels.numbers):,}",
            f"{profile.labels.num_rows:,}",
            one_line(questions.remedy),
        )
        columns = dataclasses.replace(columns, labels=())
        kinds = {**kinds, questions.label: int}
    return Overview(columns, kinds, places)
