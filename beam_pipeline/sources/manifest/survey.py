"""The first pass over manifests: where the rows of each range begin, and what all rows are.

A row of a CSV may hold line ends in quotes. Whether a range begins within such a row, only the
ranges before it tell. So each range says what it is in either case, and the cases of all ranges
are put in a chain. Two readings of one range soon agree on where a row ends, and from there on
they are one.
"""

import bisect
import dataclasses
import logging
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from beam_pipeline.sources.columns.choice import check_ignored
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.manifest.lines import Block
from beam_pipeline.sources.manifest.profile import Profile, Questions, profile_of
from beam_pipeline.sources.manifest.ranges import RowRange
from beam_pipeline.sources.manifest.rows import CHUNK_BYTES, CHUNK_ROWS, Row
from tfrecord_dataset.shown_text import one_line

_LOG = logging.getLogger(__name__)


class Case(NamedTuple):
    """What a range is where its first line begins a row, or goes on with one.

    Attributes:
        profile: Of the rows that begin in it.
        ends_in_row: Whether the first line behind it goes on with a row.
    """

    profile: Profile
    ends_in_row: bool


class Survey(NamedTuple):
    """What one range is.

    Attributes:
        path: The manifest.
        start: The range's first byte.
        num_lines: Lines that begin in it.
        at_row: Where its first line begins a row.
        in_row: Where its first line goes on with one.
    """

    path: str
    start: int
    num_lines: int
    at_row: Case
    in_row: Case


class Place(NamedTuple):
    """Where a range lies among the rows of its manifest.

    Attributes:
        first_line: The line, from 1, that begins in it or behind it first.
        in_row: Whether that line goes on with a row.
    """

    first_line: int
    in_row: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Overview:
    """What all manifests are.

    Attributes:
        columns: Which column is which.
        kinds: Of the columns.
        places: Of the ranges, by path and first byte.
    """

    columns: Columns
    kinds: Mapping[str, Kind | None]
    places: Mapping[tuple[str, int], Place]


def survey(part: RowRange, questions: Questions) -> Survey:
    """What one range of a manifest is."""
    return (not questions.of_rows and _survey_of_lines(part)) or _survey_of_rows(part, questions)


def _survey_of_lines(part: RowRange) -> Survey | None:
    """The same where nothing but lines is asked for; None where quotes may hold their ends."""
    blocks = _RangeBlocks(part.blocks(), part.end, alone=True)
    for _ in blocks:
        pass
    if blocks.has_quotes and part.form.spans_lines:
        return None
    at_row, in_row = Case(Profile(), ends_in_row=False), Case(Profile(), ends_in_row=True)
    return Survey(part.manifest.path, part.start, blocks.num_lines, at_row, in_row)


def _survey_of_rows(part: RowRange, questions: Questions) -> Survey:
    walk = _Walk(part, questions)
    while not walk.blocks.has_quotes and walk.step():
        pass
    beside = None
    if part.start and walk.blocks.has_quotes and part.form.spans_lines:
        beside = _Walk(part, questions, in_row=True)
        while walk.end != beside.end:
            (walk if walk.end < beside.end else beside).step()
    before = walk.take()
    while walk.step():
        pass
    rest = walk.take()
    at_row = Case(before.and_of(rest), walk.ends_in_row)
    in_row = Case(Profile(), ends_in_row=True)
    if beside:
        ends_in_row = (beside if beside.end == math.inf else walk).ends_in_row
        in_row = Case(beside.take().and_of(rest), ends_in_row)
    return Survey(part.manifest.path, part.start, walk.blocks.num_lines, at_row, in_row)


class _Walk:
    """One reading of a range, a row at a time.

    Attributes:
        blocks: What is read.
        end: The byte behind the last row so far; infinite once there are no more.
    """

    def __init__(self, part: RowRange, questions: Questions, *, in_row: bool = False):
        self.blocks = _RangeBlocks(part.blocks(), part.end, alone=in_row)
        self.end: float = -1
        self._part = part
        self._questions = questions
        self._rows = part.form.rows(self.blocks, part.end, in_row=in_row)
        self._waiting: list[Row] = []
        self._waiting_bytes = 0
        self._profile = Profile()
        self._last_end = -1
        if in_row:
            self.step()
            self.blocks.alone = False
            if self.blocks.is_cut:  # no row of its own ends here
                self.end = math.inf

    def step(self) -> bool:
        """Goes to the next row, and says whether there is one."""
        row = next(self._rows, None)
        if row is None:
            self.end = math.inf
            return False
        self.end = self._last_end = row.end
        if isinstance(row, Row):
            self._waiting.append(row)
            self._waiting_bytes += row.length
            if len(self._waiting) == CHUNK_ROWS or self._waiting_bytes >= CHUNK_BYTES:
                self._profile = self.take()
        return True

    def take(self) -> Profile:
        """What the rows are that were not taken yet."""
        profile = self._profile.and_of(profile_of(self._waiting, self._part, self._questions))
        self._profile, self._waiting, self._waiting_bytes = Profile(), [], 0
        return profile

    @property
    def ends_in_row(self) -> bool:
        """Whether the last row goes on behind the range."""
        behind = self.blocks.behind
        return self.blocks.is_cut or (behind is not None and self._last_end > behind)


class _RangeBlocks:
    """The lines of a range on their way to a reader, and what they show themselves.

    Attributes:
        num_lines: Lines that begin in the range.
        behind: Where the first line behind it begins, once that is known.
        has_quotes: Whether any has a quote, so that a row may have several lines.
        alone: Whether the reader gets no line that is wholly behind the range.
        is_cut: Whether the reader asked for such lines in vain.
    """

    def __init__(self, blocks: Iterator[Block], end: int, *, alone: bool):
        self._blocks = blocks
        self._end = end
        self.num_lines = 0
        self.behind: int | None = None
        self.has_quotes = False
        self.alone = alone
        self.is_cut = False

    def __iter__(self) -> Iterator[Block]:
        return self

    def __next__(self) -> Block:
        if self.behind is not None and self.alone:
            self.is_cut = True
            raise StopIteration
        block = next(self._blocks)
        if self.behind is None:
            number = bisect.bisect_left(block.starts, self._end)
            self.num_lines += min(number, len(block.lines))
            if number < len(block.starts):
                self.behind = block.starts[number]
            self.has_quotes = self.has_quotes or (block.has_quotes and number > 0)
        return block


def overview(surveys: Iterable[Survey], questions: Questions) -> Overview:
    """What the ranges of all manifests say together.

    Raises:
        ConfigError: A user leaves out what no row has.
    """
    places = {}
    profile = Profile()
    path, place = "", Place(1, in_row=False)
    for each in sorted(surveys, key=lambda survey: survey[:2]):
        if each.path != path:
            path, place = each.path, Place(1, in_row=False)
        places[path, each.start] = place
        case = each.in_row if place.in_row else each.at_row
        profile = profile.and_of(case.profile)
        place = Place(place.first_line + each.num_lines, case.ends_in_row)
    check_ignored(questions.ignored - profile.ignored, questions.names)
    columns = questions.columns
    if questions.one_folder and len(profile.split_folders - {None}) < 2:
        columns = dataclasses.replace(columns, split_folders=False)
    kinds = profile.kinds
    if profile.labels.are_measures:
        _LOG.warning(
            "column %r is a number to predict, since it has %s different whole numbers in %s rows; "
            "if they are classes, pass --label-column %s",
            questions.label,
            f"{len(profile.labels.numbers):,}",
            f"{profile.labels.num_rows:,}",
            one_line(shlex.quote(questions.label)),
        )
        columns = dataclasses.replace(columns, labels=())
        kinds = {**kinds, questions.label: int}
    return Overview(columns, kinds, places)
