"""What a table's first rows say of the parts of its columns, where no name and no option does.

Each choice is told in a sentence, with the option that chooses otherwise.
"""

import contextlib
import dataclasses
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.columns.choice import lowered
from beam_pipeline.sources.columns.class_values import OF_COLUMNS, is_stated, mark_of
from beam_pipeline.sources.columns.column import CAPTIONS, ColumnFacts, Columns, TableOptions
from beam_pipeline.sources.columns.kinds import list_of_text
from beam_pipeline.sources.manifest.advice import advice
from beam_pipeline.sources.manifest.cells import Cells
from beam_pipeline.sources.manifest.first_rows import MOST_VALUES, FirstRows, Seen
from tfrecord_dataset.split_names import split_in_name

NO_SEPARATOR = "none"
# Columns that are called so hold several words a row more likely than one class of several words.
_PLURALS = frozenset({"labels", "tags", "classes", "categories", "genres", "attributes"})
_SEPARATORS = ",; "  # blanks may be beside the others
# What a column of classes may be called.
_OF_CLASSES = re.compile("label|class|categor|species|type|code$")
_MAX_SPACES = 2  # in a class's name, on average
_MANY_NUMBERS = 20
_MOST_SPLITS = 5
_LARGE_NUMBER = 1000  # larger than the number of a class
_NO_CLASSES = frozenset(
    {*CAPTIONS, "transcript", "transcription", "partition", "fold", "width", "height", "age", "sex"}
)


class Choice(NamedTuple):
    """What the first rows say.

    Attributes:
        label: The column of the record's classes; "" where names or options say it, or nothing.
        classes: Columns of which each is a class, in the place of one of labels.
        optional: A number to predict that only some tables have.
        told: What a user is told of it, if anything.
    """

    label: str = ""
    classes: tuple[str, ...] = ()
    optional: str = ""
    told: str = ""


def choose(seen: Seen, options: TableOptions, columns: Columns, with_found_files: bool) -> Choice:
    """The columns of classes, where no name and no option says them.

    Args:
        seen: The first rows.
        options: What a user says.
        columns: The parts that names and options say.
        with_found_files: Whether it was found out, too, where the files lie.
    """
    if options.schema or options.label_column or columns.label_columns or columns.boxes:
        return Choice()
    texts = seen.texts
    headers = {table.manifest.relative: table.header for table in seen.tables}
    name = label_of_some(headers)
    if name and name not in columns.taken and not columns.corners:
        tables = [table for table, header in headers.items() if name in header]
        having = f"{', '.join(tables)} {'have' if tables[1:] else 'has'}"
        which, quoted = f"column {name!r}, which only {having}, is", shlex.quote(name)
        if is_amount(name, seen.facts, texts):
            told = f"{which} a number to predict, and nan elsewhere; if it is a class, pass "
            return Choice(optional=name, told=f"{told}--label-column {quoted}")
        if only_column([name], texts):
            told = f"{which} the label; if it is not, pass --ignore-columns {quoted}"
            return Choice(label=name, told=told)
    if columns.corners or not columns.key:
        return Choice()
    made_of = {column for table in seen.tables for _, column in table.cells.template}
    free = [name for name in seen.names if name not in columns.taken | made_of]
    marks = [name for name in free if not _is_id(name)]
    if found := class_columns(marks, seen.rows):
        label = Cells(classes=found).label
        told = (
            f"columns {label} are classes, which a row has (1) or has not; to read them as "
            "numbers, declare them by --schema"
        )
        return Choice(label, found, told=told)
    name = only_column(free, texts) if with_found_files else ""
    if name and not is_amount(name, seen.facts, texts):
        told = (
            f"column {name!r} is the label, as the only one beside the files; if it is not, pass "
            f"--ignore-columns {shlex.quote(name)}"
        )
        return Choice(name, told=told)
    return Choice()


def completed(
    columns: Columns,
    choice: Choice,
    seen: Seen,
    options: TableOptions,
    with_found_files: bool,
) -> tuple[Columns, list[str]]:
    """The columns with what their values say: what separates classes, and the format of boxes.

    Returns:
        The columns, and what a user is told of them.
    """
    told: list[str] = []
    if options.schema or not seen.names:
        return columns, told
    if choice.classes:
        columns = dataclasses.replace(columns, separator=OF_COLUMNS)
    elif columns.label:
        columns = dataclasses.replace(columns, separator=_separator(columns, seen, options, told))
    if columns.has_runs and columns.corners:
        told.append(
            f"column {columns.corners[0]!r} has masks as run lengths by its name: starts, from 1 "
            "down each column, and lengths; if they are not, pass --ignore-columns "
            f"{shlex.quote(columns.corners[0])}"
        )
    elif not options.box_format and (box_format := box_format_of(columns, seen.rows, seen.names)):
        columns = dataclasses.replace(columns, box_format=box_format)
        told.append(
            f"boxes of {', '.join(columns.corners or ())} are {box_format}, "
            f"{'as Open Images has them' if box_format.startswith('rel_') else 'by their values'}; "
            "if they are not, pass --box-format"
        )
    if columns.corners and with_found_files:
        ids = {column for table in seen.tables for _, column in table.cells.template if column}
        columns = dataclasses.replace(columns, ignored=columns.ignored | ids)
    columns = dataclasses.replace(columns, optional=choice.optional)
    if any(table.header for table in seen.tables):
        lists = seen.facts.lists if not columns.separator else seen.names
        labels = [name for _, name in columns.labels if name not in lists]
        texts = seen.texts
        told += advice(texts, labels)
        told += _may_be(texts, len(seen.rows), columns)
    return columns, told


def _may_be(texts: Mapping[str, Sequence[str]], num_rows: int, columns: Columns) -> Iterator[str]:
    """What a column may be that is a feature of its own name: the split, or of files the label."""
    free = {
        name: values
        for name, values in texts.items()
        if name not in columns.taken and 1 < len(values) < min(num_rows, MOST_VALUES)
    }
    for name, values in free.items() if not columns.split else ():
        if len(values) <= _MOST_SPLITS and all(map(split_in_name, values)):
            yield (
                f"column {name!r} has the names of splits, such as {values[0]!r}; if it states "
                f"each row's, pass --split-column {shlex.quote(name)}"
            )
    has_target = columns.label_columns or columns.corners or columns.boxes or columns.optional
    if free and columns.key and not has_target:
        likely = [name for name in free if lowered(name) not in _NO_CLASSES and not _is_id(name)]
        name = max(likely or free, key=lambda name: _OF_CLASSES.search(lowered(name)) is not None)
        yield (
            "no column is the label by its name; if one is, say so, as in --label-column "
            f"{shlex.quote(name)}"
        )


def _separator(columns: Columns, seen: Seen, options: TableOptions, told: list[str]) -> str:
    if options.label_separator:
        return "" if options.label_separator == NO_SEPARATOR else options.label_separator
    values = seen.texts.get(columns.label, ())
    separator = separator_of(columns.label, values)
    if separator and columns.label not in {*seen.facts.lists, *seen.facts.nested}:
        example = next(value for value in values if separator in value)
        told.append(
            f"column {columns.label!r} has several classes a row, separated by {separator!r}, such "
            f"as {example!r}; if a text is one class, pass --label-separator {NO_SEPARATOR}"
        )
        return separator
    return ""


def class_columns(columns: Iterable[str], rows: FirstRows) -> tuple[str, ...]:
    """The columns, if each is a class that a row has (1) or has not (0, or -1); else none.

    Args:
        columns: All that play no other part.
        rows: The first of all tables, of which some may lack these columns.
    """
    names = tuple(columns)
    values = {
        mark
        for row in rows
        if any(name in row.values for name in names)
        for mark in (mark_of(row.values.get(name)) for name in names)
    }
    is_one = len(names) > 1 and "1" in values and (values == {"0", "1"} or values == {"-1", "1"})
    return names if is_one and not any(OF_COLUMNS in name for name in names) else ()


def only_column(names: Collection[str], texts: Mapping[str, Sequence[str]]) -> str:
    """The one column beside the files, if it may be of classes: not of sentences, ids, amounts.

    Args:
        names: The columns that play no part.
        texts: Values by column, each once.
    """
    if len(names) != 1:
        return ""
    [name] = names
    values = texts.get(name, ())
    has_sentences = sum(value.count(" ") for value in values) > _MAX_SPACES * len(values)
    is_other = has_sentences or lowered(name) in _NO_CLASSES or _is_id(name)
    is_other = is_other or any("://" in value for value in values)
    return name if values and not is_other and not _are_many(values) else ""


def _is_id(name: str) -> bool:
    return lowered(name).endswith("id")


def separator_of(name: str, values: Sequence[str]) -> str:
    """What stands between classes in the texts of a column of labels; "" where each is one class.

    A bar always does. Blanks and other signs do in a column with a name in the plural, if words
    that some values combine occur in others, and values have more or fewer of them.
    """
    if any("|" in value for value in values):
        return "|"
    if lowered(name).replace("_", " ").rpartition(" ")[2] not in _PLURALS:
        return ""
    return next((sign for sign in _SEPARATORS if _combines(values, sign)), "")


def _combines(values: Sequence[str], sign: str) -> bool:
    words = [[word.strip() for word in value.split(sign)] for value in values]
    every = [word for several in words for word in several]
    is_set = all(len(set(several)) == len(several) for several in words)
    return is_set and len(set(every)) < len(every) and len(set(map(len, words))) > 1


def label_of_some(headers: Mapping[str, Sequence[str]]) -> str:
    """The one column that some tables have and others lack, as those of a test; "" for none."""
    headers = {table: header for table, header in headers.items() if header}
    if len(headers) < 2:
        return ""
    every = set().union(*headers.values())
    some = [name for name in every if name and not all(name in each for each in headers.values())]
    return some[0] if len(some) == 1 else ""


def is_amount(name: str, facts: ColumnFacts, texts: Mapping[str, Sequence[str]]) -> bool:
    """Whether a column holds numbers to predict by its first rows, and not classes."""
    is_number = name in facts.numbers and _are_many(texts.get(name, ()))
    return name in facts.no_classes or is_number


def _are_many(values: Sequence[str]) -> bool:
    """Whether numbers are too many, or too large, for those of classes."""
    numbers = [int(value) for value in values if value.isdecimal() and value.isascii()]
    return len(numbers) > _MANY_NUMBERS or max(numbers, default=0) >= _LARGE_NUMBER


def box_format_of(columns: Columns, rows: FirstRows, names: Collection[str]) -> str:
    """The format of boxes, where the names of columns say nothing or something else; "" for none.

    Open Images states fractions. Lists of four numbers are corners, unless most of them can be
    none, since the third number is not above the first, or the fourth not above the second.
    """
    known = set(map(lowered, names))
    if columns.corners and len(columns.corners) == 4 and {"imageid", "labelname"} <= known:
        return "rel_xyxy"
    if columns.corners is None or len(columns.corners) != 1:
        return ""
    boxes = []
    for row in rows:
        value: Any = row.values.get(columns.corners[0])
        if is_stated(value):
            with contextlib.suppress(RecordError, TypeError, ValueError):
                box: list[Any] = list_of_text(value) if isinstance(value, str) else [*value]
                boxes.append([float(number) for number in box])
    fours = [box for box in boxes if len(box) == 4]
    no_corners = sum(box[2] <= box[0] or box[3] <= box[1] for box in fours)
    no_sides = any(box[2] <= 0 or box[3] <= 0 for box in fours)
    return "xywh" if no_corners * 2 > len(fours) and not no_sides else ""
