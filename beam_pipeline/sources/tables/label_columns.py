"""Decide which columns of a table hold classes, and what separates several in a text."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from beam_pipeline.sources.tables.labels import OF_COLUMNS, is_stated, mark_of
from beam_pipeline.sources.tables.names import CAPTIONS, lowered
from beam_pipeline.sources.tables.sample import ColumnFacts, Sample

NO_SEPARATOR = "none"
# Columns that are called so hold several words a row more likely than one class of several words.
_PLURALS = frozenset({"labels", "tags", "classes", "categories", "genres", "attributes"})
_SEPARATORS = ",; "  # blanks may be beside the others
_MAX_SPACES = 2  # in a class's name, on average
_MANY_NUMBERS = 20
_LARGE_NUMBER = 1000  # larger than the number of a class
_TEXTS = frozenset({*CAPTIONS, "transcript", "transcription"})
_NO_CLASSES = _TEXTS | {"partition", "fold", "width", "height"}
# Classes only if the user asks for them.
_ASIDE = frozenset({"age", "sex"})
# Of a column of classes so many rows have each value, on average.
_ROWS_OF_A_CLASS = 2


def class_columns(columns: Iterable[str], sample: Sample) -> tuple[str, ...]:
    """Return the columns, if each is a class that a row has (1) or has not (0, or -1); else none.

    Args:
        columns: All that have no other role.
        sample: The first rows of all tables, of which some may lack these columns.
    """
    names = tuple(columns)
    marks = {
        mark_of(row.values.get(name))
        for row in sample.rows
        if any(name in row.values for name in names)
        for name in names
    }
    is_one = len(names) > 1 and "1" in marks and marks in ({"0", "1"}, {"-1", "1"})
    return names if is_one and not any(OF_COLUMNS in name for name in names) else ()


def only_column(names: Collection[str], texts: Mapping[str, Sequence[str]]) -> str:
    """Return the one column beside the files, if it may be classes: no sentences, ids, amounts.

    Args:
        names: The columns that have no role.
        texts: Values by column, each once.
    """
    if len(names) != 1:
        return ""
    [name] = names
    return name if lowered(name) not in _ASIDE and _may_be_classes(name, texts) else ""


def _may_be_classes(name: str, texts: Mapping[str, Sequence[str]]) -> bool:
    values = texts.get(name, ())
    has_sentences = sum(value.count(" ") for value in values) > _MAX_SPACES * len(values)
    is_other = has_sentences or lowered(name) in _NO_CLASSES or is_id(name)
    is_other = is_other or any("://" in value for value in values)
    return bool(values) and not is_other and not _are_many(values)


def possible_labels(names: Collection[str], sample: Sample) -> tuple[str, ...]:
    """Return the columns that may be the label: their values are few and repeat.

    There is none if a column is called like a text of the record, such as a caption.
    """
    if _TEXTS.intersection(map(lowered, names)):
        return ()
    return tuple(name for name in names if _has_classes(name, sample))


def _has_classes(name: str, sample: Sample) -> bool:
    number = sum(is_stated(row.values.get(name)) for row in sample.rows)
    is_repeated = 1 < len(sample.texts.get(name, ())) <= number // _ROWS_OF_A_CLASS
    is_sure = is_repeated and not is_amount(name, sample.facts, sample.texts)
    return is_sure and _may_be_classes(name, sample.texts)


def is_id(name: str) -> bool:
    """Return whether a column's name says that it has ids."""
    return lowered(name).endswith("id")


def separator_of(name: str, values: Sequence[str]) -> str:
    """Return what is between classes in the texts of a column; "" if each is one class.

    A bar always is. Blanks and other signs are in a column with a name in the plural, if words
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
    """Return the one column that some tables have and others lack, as those of a test; or ""."""
    if len(headers) < 2:
        return ""
    every = set().union(*headers.values())
    some = [name for name in every if name and not all(name in each for each in headers.values())]
    return some[0] if len(some) == 1 else ""


def is_amount(name: str, facts: ColumnFacts, texts: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a column holds numbers to predict by its first rows, and not classes."""
    is_number = name in facts.numbers and _are_many(texts.get(name, ()))
    return name in facts.no_classes or is_number


def _are_many(values: Sequence[str]) -> bool:
    """Return whether numbers are too many, or too large, for those of classes."""
    numbers = [int(value) for value in values if value.isdecimal() and value.isascii()]
    return len(numbers) > _MANY_NUMBERS or max(numbers, default=0) >= _LARGE_NUMBER
