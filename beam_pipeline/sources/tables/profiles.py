"""Profile of a column: the kind of its values, and how many are text or missing, over all rows.

If up to one in a thousand values of a column of numbers or lists is text, the column keeps its
kind, and the rows with text are rejected. A column with digits that a number would change, such as
"007", is text.
"""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute as compute

from beam_pipeline.sources.tables.types import (
    Kind,
    is_large,
    is_whole,
    kind_of_int,
    kind_of_json,
    kind_of_text,
    wider,
)
from tfrecord_dataset.cells import has_comma, is_missing_number

# Numbers per text that make the text an error.
_NUMBERS_PER_ERROR = 1_000
# A batch with more distinct texts is of a column of texts; they are not counted further.
_MANY_TEXTS = 64

# Only numbers with few enough digits for 64 bits; `kind_of_text` handles the rest.
_INTEGERS = r"\A[+-]?(0|[1-9][0-9]{0,17})\z"
_FRACTIONS = (
    r"\A[+-]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
    r"|\A[+-]?(0|[1-9][0-9]*)[eE][+-]?[0-9]+\z"
)


class Place(NamedTuple):
    """A text and its place: file, line, and name of the row."""

    file: str
    line: int
    row: str
    text: str


@dataclasses.dataclass(slots=True, kw_only=True)
class Profile:
    """Counts of a column's values; mergeable.

    Attributes:
        kind: The kind that holds the values that are not text; None if there are none.
        num_rows: Number of rows.
        num_values: Number of values, without missing ones.
        num_texts: Number of texts among them.
        num_digits: Number of texts of digits only, such as "007".
        num_large: Number of those that need over 64 bits.
        num_words: Number of words such as "NA", which are missing values in a column of numbers.
        is_text: Whether the column is text however few of its values are.
        has_words: Whether a text is not a number with a comma, such as "1,5".
        first_text: The first text of a batch.
        first: The first text of all, with its place.
    """

    kind: Kind | None = None
    num_rows: int = 0
    num_values: int = 0
    num_texts: int = 0
    num_digits: int = 0
    num_large: int = 0
    num_words: int = 0
    is_text: bool = False
    has_words: bool = False
    first_text: str = ""
    first: Place | None = None

    def merge(self, other: "Profile") -> None:
        """Add the values of other rows."""
        self.kind = wider(self.kind, other.kind)
        self.num_rows += other.num_rows
        self.num_values += other.num_values
        self.num_texts += other.num_texts
        self.num_digits += other.num_digits
        self.num_large += other.num_large
        self.num_words += other.num_words
        self.is_text |= other.is_text
        self.has_words |= other.has_words
        self.first = min(filter(None, (self.first, other.first)), default=None)

    @property
    def widest(self) -> Kind | None:
        """The kind that holds all values, words included."""
        return wider(self.kind, str if self.num_texts or self.num_words else None)

    @property
    def has_errors(self) -> bool:
        """Whether so few values are text that these are errors."""
        few = self.num_texts * _NUMBERS_PER_ERROR <= self.num_values
        return bool(self.num_texts) and self.kind not in (None, str) and few and not self.is_text

    @property
    def usual(self) -> Kind | None:
        """The kind that holds all values but errors, and missing ones."""
        if self.kind is None or (self.num_texts and not self.has_errors):
            return self.widest
        return self.kind

    @property
    def are_whole(self) -> bool:
        """Whether all values are whole numbers of any size."""
        is_countable = self.num_digits == self.num_texts and not self.num_words
        return is_countable and self.kind in (None, int)

    def count_texts(self, counts: Iterable[tuple[str, int]]) -> None:
        """Count texts with their numbers; stops at many, which are not errors."""
        number = 0
        for text, count in counts:
            if is_missing_number(text):
                self.num_words += count
                continue
            self.num_values += count
            self.num_texts += count
            self.has_words |= not has_comma(text.strip())
            self.first_text = self.first_text or text
            if is_whole(text.strip()):
                self.num_digits += count
                self.num_large += count if is_large(text.strip()) else 0
                self.is_text = True
            elif (number := number + 1) > _MANY_TEXTS:
                self.is_text = True
                return


def profile_of_texts(texts: Sequence[Any]) -> Profile:
    """Return the profile of texts, such as fields of a CSV."""
    return next(profiles_of_texts([texts]))


def profiles_of_texts(columns: Sequence[Sequence[Any]]) -> Iterator[Profile]:
    """Yield the profile of each column of texts.

    The patterns are matched in all columns at once, as a call per column of few rows takes longer
    than the match.
    """
    texts = pyarrow.array([*itertools.chain.from_iterable(columns)], pyarrow.string())
    bounds = np.cumsum([0, *map(len, columns)])
    texts, bounds, integers = _without_matches(_INTEGERS, texts, bounds)
    texts, bounds, fractions = _without_matches(_FRACTIONS, texts, bounds)
    for column, whole, broken, (start, end) in zip(
        columns, integers, fractions, itertools.pairwise(bounds.tolist()), strict=True
    ):
        profile = Profile(kind=int if whole else None, num_rows=len(column))
        profile.num_values = whole + broken
        if broken:
            profile.kind = wider(profile.kind, float)
        if end > start:
            counted = texts.slice(start, end - start).value_counts()
            counts = zip(*map(pyarrow.Array.to_pylist, counted.flatten()), strict=True)
            profile.count_texts(_without_numbers(counts, profile))
        yield profile


def _without_matches(pattern: str, texts: Any, bounds: Any) -> tuple[Any, Any, list[int]]:
    """Return the texts of columns that do not match, and the number by column of those that do.

    `bounds` are int64 [columns + 1], where the columns start and end in the texts.
    """
    is_match = compute.match_substring_regex(texts, pattern).fill_null(True)
    before = np.append(0, np.cumsum(is_match.to_numpy(zero_copy_only=False)))[bounds]
    return texts.filter(compute.invert(is_match)), bounds - before, np.diff(before).tolist()


def _without_numbers(
    counts: Iterable[tuple[str, int]], profile: Profile
) -> Iterator[tuple[str, int]]:
    """Yield texts with their numbers; count the other values in the profile."""
    for text, count in counts:
        kind = kind_of_text(text)
        if kind is str:
            yield text, count
        elif kind is not None:
            profile.num_values += count
            profile.kind = wider(profile.kind, kind)


def profile_of_values(values: Sequence[Any]) -> Profile:
    """Return the profile of JSON values; raises as `kind_of_json`."""
    texts = Counter(value for value in values if isinstance(value, str))
    others = [value for value in values if value is not None and not isinstance(value, str)]
    profile = Profile(num_rows=len(values), kind=_kind_of_others(others), num_values=len(others))
    profile.is_text = any(map(_is_number, itertools.islice(texts, _MANY_TEXTS)))
    profile.count_texts(texts.items())
    if profile.kind is str:  # a whole number of over 64 bits
        profile.kind, profile.is_text, profile.num_values = None, True, profile.num_texts
        profile.count_texts((str(value), 1) for value in others)
        profile.first_text = ""
    return profile


def _kind_of_others(values: Sequence[Any]) -> Kind | None:
    """Return the kind that holds all values, which are neither text nor null."""
    types = set(map(type, values))
    if not types <= {int, float, bool}:
        return functools.reduce(wider, map(kind_of_json, values))
    whole = [value for value in values if type(value) is int]
    kind: Kind | None = int if types - {float} else None
    if whole:
        kind = wider(kind_of_int(min(whole)), kind_of_int(max(whole)))
    return wider(kind, float) if float in types else kind


def _is_number(text: str) -> bool:
    """Return whether a text is a number that the writer has put in quotes."""
    return not is_missing_number(text) and kind_of_text(text) is not str
