"""What the rows of a manifest are: the kinds of their columns, and what else is asked of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind, merge_kinds
from beam_pipeline.sources.manifest.first_rows import split_folders_of
from beam_pipeline.sources.manifest.json_columns import ignorable
from beam_pipeline.sources.manifest.ranges import RowRange
from beam_pipeline.sources.manifest.rows import Row, RowForm
from beam_pipeline.sources.manifest.whole_numbers import WholeNumbers, whole_numbers


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
    """

    columns: Columns
    kinds: bool = True
    one_folder: bool = False
    ignored: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    label: str = ""

    @property
    def of_rows(self) -> bool:
        """Whether the rows have to be looked at."""
        return self.kinds or self.one_folder or bool(self.ignored or self.label)


@dataclasses.dataclass(slots=True)
class Profile:
    """What some rows are.

    Attributes:
        kinds: Of their columns.
        split_folders: The splits' folders of their main files; None of a file in none.
        ignored: What they have of `Questions.ignored`.
        labels: What they have of `Questions.label`.
    """

    kinds: dict[str, Kind | None] = dataclasses.field(default_factory=dict)
    split_folders: frozenset[str | None] = frozenset()
    ignored: frozenset[str] = frozenset()
    labels: WholeNumbers = dataclasses.field(default_factory=WholeNumbers)

    def and_of(self, other: "Profile") -> "Profile":
        """What these rows and others are."""
        return Profile(
            merge_kinds([self.kinds, other.kinds]),
            self.split_folders | other.split_folders,
            self.ignored | other.ignored,
            self.labels.and_of(other.labels),
        )


def profile_of(rows: Sequence[Row], part: RowRange, questions: Questions) -> Profile:
    """What some rows of a range are."""
    values = [row.values for row in rows]
    profile = Profile()
    if questions.kinds:
        profile.kinds = _kinds(part.form, values, questions.columns)
    if questions.one_folder:
        folders = split_folders_of(
            ((part.manifest, each) for each in values), questions.columns.key
        )
        profile.split_folders = frozenset(folders)
    if questions.ignored:
        names = (name for each in values for name in ignorable(each))
        profile.ignored = questions.ignored.intersection(names)
    if questions.label:
        profile.labels = whole_numbers(each.get(questions.label) for each in values)
    return profile


def _kinds(
    form: RowForm, rows: Sequence[Mapping[str, Any]], columns: Columns
) -> dict[str, Kind | None]:
    """The kinds of the columns over those rows that can be used."""
    try:
        return form.kinds(rows, columns)
    except RecordError:  # such rows are rejected when they are read
        if len(rows) == 1:
            return {}
    middle = len(rows) // 2
    return merge_kinds(_kinds(form, half, columns) for half in (rows[:middle], rows[middle:]))
