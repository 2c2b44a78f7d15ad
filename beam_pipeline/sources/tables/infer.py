"""Infer the kind of a column from counts of its values by form, merged over batches of rows.

Numbers are recognized in all columns at once; only the other distinct texts are looked at one by
one. If up to one in a thousand values of a column of numbers or lists is text, the column keeps its
kind, and the rows with text are rejected. A column with digits that a number would change, such as
"007", is text.

A column whose numbers have decimal commas, such as 1,5 and 1.234,5, is recognized as a whole: its
points then separate thousands.
"""

import dataclasses
import functools
import itertools
import json
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute as compute

from beam_pipeline.kinds.counts import Counts, added, least, parts
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.sources.tables.types import (
    Kind,
    in_column,
    is_large,
    is_whole,
    kind_of_int,
    kind_of_json,
    kind_of_text,
    wider,
)
from tfrecord_dataset.cells import (
    has_comma,
    has_unclear_point,
    is_missing_number,
    is_with_comma,
    stripped,
    with_point,
)

CommaColumns = bool | tuple[str, ...]
"""Whether all columns may have decimal commas, or the names of those that have."""

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
# Forms of values: of a kind other than text; "NA" and the like, missing among numbers; and texts.
VALUE, WORD, DIGITS, LARGE, COMMA, TEXT = "value", "word", "digits", "large", "comma", "text"


class Place(NamedTuple):
    """A text and its place: file, line, and name of the row."""

    file: str
    line: int
    row: str
    text: str


@dataclasses.dataclass(init=False)
class Profile(Counts):
    """Counts of a column's values by form.

    Attributes:
        kind: The kind that holds the values that are not text; None if there are none.
        counts: Number of values by form, without missing ones. `DIGITS` are texts such as "007",
            `LARGE` those that need over 64 bits, `COMMA` is a number such as "1,5".
        is_text: Whether the column is text however few of its values are.
        first_text: The first text of a batch.
        first: The first text of all, with its place.
    """

    kind: Annotated[Kind | None, wider] = None
    counts: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    is_text: Annotated[bool, operator.or_] = False
    first_text: Annotated[str, least] = ""
    first: Annotated[Place | None, least] = None

    @property
    def num_values(self) -> int:
        """Number of values, of which words such as "NA" are none."""
        return self.counts.total() - self.counts[WORD]

    @property
    def num_texts(self) -> int:
        """Number of texts among the values."""
        return self.num_values - self.counts[VALUE]

    @property
    def widest(self) -> Kind | None:
        """The kind that holds all values, words included."""
        return wider(self.kind, str if self.num_texts or self.counts[WORD] else None)

    @property
    def are_numbers(self) -> bool:
        """Whether all values but words are numbers."""
        return self.kind in (int, float) and not self.num_texts

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
        return self.counts.keys() <= {VALUE, DIGITS, LARGE} and self.kind in (None, int)

    def count_values(self, kind: Kind | None, count: int) -> None:
        """Count values of a kind other than text."""
        if count:
            self.kind = wider(self.kind, kind)
            self.counts[VALUE] += count

    def count_texts(self, counts: Iterable[tuple[str, int]]) -> None:
        """Count texts with their numbers; stops at many, which are not errors."""
        number = 0
        for text, count in counts:
            form = _form_of(text.strip())
            self.counts[form] += count
            if form != WORD:
                self.first_text = self.first_text or text
                number += form in (COMMA, TEXT)
                self.is_text |= form in (DIGITS, LARGE) or number > _MANY_TEXTS
                if number > _MANY_TEXTS:
                    return


def _form_of(text: str) -> str:
    if is_missing_number(text):
        return WORD
    if is_whole(text):
        return LARGE if is_large(text) else DIGITS
    return COMMA if has_comma(text) else TEXT


def profiles_of_columns(
    columns: Mapping[str, Sequence[Any]], *, are_texts: bool
) -> dict[str, Profile]:
    """Return the profile of each column of texts, or of JSON values; raises as `kind_of_json`."""
    if are_texts:
        return dict(zip(columns, profiles_of_texts([*columns.values()]), strict=True))
    profiles: dict[str, Profile] = {}
    for name, values in columns.items():
        with in_column(name):
            profiles[name] = profile_of_values(values)
    return profiles


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
    ranges = itertools.pairwise(bounds.tolist())
    for whole, broken, (start, end) in zip(integers, fractions, ranges, strict=True):
        profile = Profile()
        profile.count_values(int, whole)
        profile.count_values(float, broken)
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
            profile.count_values(kind, count)


def profile_of_values(values: Sequence[Any]) -> Profile:
    """Return the profile of JSON values; raises as `kind_of_json`."""
    texts = Counter(value for value in values if isinstance(value, str))
    others = [value for value in values if value is not None and not isinstance(value, str)]
    kind = _kind_of_others(others)
    profile = Profile()
    profile.is_text = any(map(_is_number, itertools.islice(texts, _MANY_TEXTS)))
    profile.count_texts(texts.items())
    if kind is str:  # a whole number of over 64 bits
        profile.is_text = True
        profile.count_texts((str(value), 1) for value in others)
        profile.first_text = ""
    else:
        profile.count_values(kind, len(others))
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


@dataclasses.dataclass(init=False)
class Commas(Counts):
    """Forms of a column's numbers, whose commas may be decimal.

    Attributes:
        has_commas: Whether a number has a decimal comma, or several points between thousands.
        has_points: Whether a number has a decimal point.
        unclear: The first number whose point may be either, such as 1.234.
        profile: The profile of the values as `with_point` writes them.
    """

    has_commas: Annotated[bool, operator.or_] = False
    has_points: Annotated[bool, operator.or_] = False
    unclear: Annotated[str, least] = ""
    profile: Annotated[Profile, parts] = dataclasses.field(default_factory=Profile)

    @property
    def are_numbers(self) -> bool:
        """Whether the column holds numbers, in whatever form."""
        return self.profile.usual in (int, float)

    @property
    def is_question(self) -> bool:
        """Whether the column's other numbers do not decide what a point means."""
        return self.are_numbers and bool(self.unclear) and self.has_commas == self.has_points


def commas_of(values: Sequence[Any]) -> Commas:
    """Return the forms of a column's values: texts, or values of JSON."""
    texts = {stripped(value) for value in values}
    written = ["" if value is None else str(with_point(value)) for value in values]
    points = (text for text in texts if "." in text and not is_with_comma(text))
    return Commas(
        has_commas=any(map(has_comma, texts)),
        has_points=profile_of_texts([*points]).kind is float,
        unclear=min(filter(has_unclear_point, texts), default=""),
        profile=profile_of_texts(written),
    )


def columns_with_commas(
    columns: Mapping[str, Commas], choice: CommaColumns, path: str
) -> frozenset[str]:
    """Return the columns of numbers with decimal commas.

    Raises:
        ProblemError: The points in the numbers of a column may separate thousands or fractions.
    """
    if isinstance(choice, tuple):
        return frozenset(name for name in choice if name in columns and columns[name].are_numbers)
    if not choice:
        return frozenset()
    sure = sorted(name for name, each in columns.items() if each.has_commas and each.are_numbers)
    for name, each in sorted(columns.items()):
        if each.is_question:
            others = [other for other in sure if other != name]
            facts = {"path": path, "column": name, "number": each.unclear}
            choices = (_listed([*others, name]), _listed(others))
            raise ProblemError(
                Problem(code="unclear points", facts=facts, option="decimal_comma", choices=choices)
            )
    return frozenset(sure)


def _listed(names: Iterable[str]) -> str:
    """Return names as a list in YAML."""
    quoted = (
        name if name.isidentifier() else json.dumps(name, ensure_ascii=False) for name in names
    )
    return f"[{', '.join(quoted)}]"
