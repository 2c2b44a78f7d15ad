"""Survey all rows of tables: the kind of each column, and which rows may lack a label.

The kind follows from counts of a column's values by form, merged over batches of rows. Numbers are
recognized in all columns at once; only the other distinct texts are looked at one by one. If up to
one in a thousand values of a column of numbers or lists is text, the column keeps its kind, and the
rows with text are rejected. A column with digits that a number would change ("007") is text.

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

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.counts import Counts, added, least, parts, taken_over
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.records import Consumed, DeclaredClasses, Rejected
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.tables.parts import WHOLE
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.row_objects import boxes_from_lists
from beam_pipeline.sources.tables.table import Batch, Scratch, Table
from beam_pipeline.sources.tables.types import (
    OF_COLUMNS,
    CommaColumns,
    Kind,
    Unlabelled,
    in_column,
    is_large,
    is_stated,
    is_whole,
    kind_of_int,
    kind_of_json,
    kind_of_text,
    lacks_label,
    unsupported,
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
from tfrecord_dataset.format.inflation import TOO_LARGE

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


# Whole numbers with up to _FEW_CLASSES distinct values are classes, with over _MANY_CLASSES they
# are not; in between, a class must have _ROWS_OF_A_CLASS rows on average.
_FEW_CLASSES = 1_000
_MANY_CLASSES = 100_000
_ROWS_OF_A_CLASS = 10
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
