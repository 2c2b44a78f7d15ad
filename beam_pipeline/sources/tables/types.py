"""Kinds of columns: whole numbers, numbers, text, or lists of one of these; and names of classes.

The kind of a column is the narrowest that holds all its values: int < float < text. Texts preserve
leading zeros, and digits beyond 64 bits.
"""

import contextlib
import decimal
import enum
import functools
import itertools
import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.numbers import FIRST_SKIPPED_BY_FLOAT64, Number, Rounding, rounding
from beam_pipeline.records import Array, ClassLabel, ClassLabels, Value, composed
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.json_items import is_deep
from beam_pipeline.sources.rejects import malformed
from tfrecord_dataset.cells import is_missing_number, truth_as_number

Scalar = type[int] | type[float] | type[str]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 100
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DECIMAL = re.compile(rf"{_NUMBER}|nan|[+-]?inf(inity)?")
_SPACED = re.compile(rf"{_NUMBER}(\s+{_NUMBER})+")
_NAMES = {
    "None": "null", "True": "true", "False": "false", "nan": "NaN", "inf": "Infinity",
}  # fmt: skip
# A name, or a text in quotes, up to the end if unclosed (matched in linear time).
_PYTHON = re.compile(r"'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?|\b[A-Za-z]+\b", re.DOTALL)
_ESCAPE = re.compile(r"\\.|\"", re.DOTALL)
_ESCAPES = {"\\'": "'", '"': r"\"", "\\x": r"\u00"}
_SEPARATORS = re.compile("[\x1c-\x1f]")
# Limit of NumPy and of the trainer.
_MAX_AXES = 32
# More distinct numbers with a point, such as 151.0, are not classes.
_MANY_WRITTEN_SO = 20
# Python refuses to parse numbers with thousands of digits.
_DIGITS = 20
# Separates the names of classes that have a column each.
OF_COLUMNS = "\n"


class ListOf(NamedTuple):
    """The kind of lists.

    Attributes:
        element: Kind of the elements; None while all lists are empty.
        inner: Largest sizes of nested lists, by axis.
        spaced: Whether lists are texts of numbers separated by spaces.
    """

    element: Scalar | None
    inner: tuple[int, ...] = ()
    spaced: bool = False


Kind = Scalar | ListOf
CommaColumns = bool | tuple[str, ...]
"""Whether all columns may have decimal commas, or the names of those that have."""


_UNSUPPORTED = "unsupported column"


class Unlabelled(enum.Enum):
    """The label of a row that may lack one."""

    LABEL = ""


def unsupported(detail: str, column: str) -> RecordError:
    """Return the error for a column that no feature can hold."""
    option = f"--ignore-columns {shlex.quote(column)}"
    return RecordError(_UNSUPPORTED, f"{detail}; change it, or leave the column out with {option}")


def _unsupported_value(detail: str) -> RecordError:
    """Return the error for a value that no feature can hold, to be completed by `in_column`."""
    return RecordError(_UNSUPPORTED, detail)


@contextlib.contextmanager
def in_column(name: str) -> Iterator[None]:
    """Name the column in a RecordError, and how to leave it out if no feature can hold it."""
    try:
        yield
    except RecordError as error:
        detail = f"column {name!r}: {error.detail}"
        is_unsupported = error.reason == _UNSUPPORTED
        named = unsupported(detail, name) if is_unsupported else RecordError(error.reason, detail)
        raise named from error


def out_of_range(what: str) -> RecordError:
    """Return the error for a number that is too large."""
    return RecordError("value out of range", f"{what}, which float32 cannot hold")


def loads(text: str) -> Any:
    """Parse JSON; raises RecordError for a number beyond float64, which would become infinite."""
    value = json.loads(text)
    # Patterns of such numbers take forty times as long to find in a long text as its parse.
    return json.loads(text, parse_float=_finite) if _has_infinity(value) else value


def _has_infinity(value: Any) -> bool:
    if not isinstance(value, dict | list):
        return value in (math.inf, -math.inf)
    values = value.values() if isinstance(value, dict) else value
    nested = (each for each in values if isinstance(each, dict | list))
    return math.inf in values or -math.inf in values or any(map(_has_infinity, nested))


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise out_of_range(f"a number is {text[:50]}")
    return number


def kind_of_text(text: str) -> Kind | None:
    """Return the kind of a CSV field: int (also true and false), float, str, a list; None if empty.

    "007" is text, since a number would lose its zeros; so is an integer beyond 64 bits.
    """
    kind = _kind_of_stripped(text.strip())
    if kind in (None, str):
        return kind
    return str if _SEPARATORS.search(text) else kind  # space to strip(), but not to float()


def _kind_of_stripped(text: str) -> Kind | None:
    if not text:
        return None
    if isinstance(truth_as_number(text), int):
        return int
    if _INTEGER.fullmatch(text):
        return kind_of_int(int(text)) if len(text) < 25 else str
    if text[0] == "[":
        try:
            return _kind_of_list(_list_in(text, json.loads))  # a far number is an error of its row
        except RecordError:
            return str
    if _SPACED.fullmatch(text):
        elements = set(map(kind_of_text, text.split()))
        return str if str in elements else ListOf(float if float in elements else int, spaced=True)
    return float if _DECIMAL.fullmatch(text.lower()) else str


def parse_list(text: str) -> list[Any]:
    """Parse a list written as JSON or in Python, such as ['a', None]; refuse anything else."""
    return _list_in(text, loads)


def _list_in(text: str, parse: Callable[[str], Any]) -> list[Any]:
    try:
        value = None if is_deep(text) else _parsed(text, parse)
    except (ValueError, RecursionError) as error:
        raise malformed(f"{text[:100]!r} is not a list: {error}") from error
    if not isinstance(value, list):
        raise malformed(f"{text[:100]!r} is not a list")
    return value


def _parsed(text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except ValueError:
        # Python's own parser would join 'a' 'b', two texts of a NumPy array.
        return parse(_PYTHON.sub(_token_as_json, text))


def _token_as_json(token: re.Match[str]) -> str:
    word = token[0]
    if word[0] == "'":
        word = _ESCAPE.sub(lambda part: _ESCAPES.get(part[0], part[0]), word[1:-1])
        return f'"{word}"'
    return _NAMES.get(word, word)


def listed(text: str, kind: ListOf) -> list[Any]:
    """Parse a text as a list of this kind; raises as `parse_list`."""
    if not kind.spaced:
        return parse_list(text)
    number = _finite if kind.element is float else int
    return [number(str(truth_as_number(word))) for word in text.split()]


def list_of_text(text: str) -> list[Any]:
    """Parse a text as a list; any other text is a list of one."""
    kind = kind_of_text(text)
    return listed(text, kind) if isinstance(kind, ListOf) else [text]


def kind_of_json(value: Any) -> Kind | None:
    """Return the kind of a JSON value: int (also true and false), float, str, a list, or None.

    Raises:
        RecordError: It is an object, a list with objects, or a list of unequal lists.
    """
    match value:
        case None:
            return None
        case int():
            return kind_of_int(value)
        case float():
            return float
        case str():
            return str
        case list():
            return _kind_of_list(value)
    raise _unsupported_value(f"{str(value)[:100]} is a {type(value).__name__}")


def kind_of_int(number: int) -> Scalar:
    """Return int, or str beyond 64 bits."""
    return int if -(2**63) <= number < 2**63 else str


def _kind_of_list(value: list[Any]) -> ListOf:
    flat, shape = flatten(value)
    types = set(map(type, flat)) - {type(None)}
    if dict in types or (str in types and len(shape) > 1):
        raise _unsupported_value(f"{str(value)[:100]} is not a list of plain values")
    if not types:
        return ListOf(None)
    return ListOf(str if str in types else float if float in types else int, shape[1:])


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of any size, also as text."""
    return type(value) is int or (isinstance(value, str) and bool(_WHOLE.fullmatch(value)))


def is_large(whole: int | str) -> bool:
    """Return whether a whole number needs over 64 bits."""
    if isinstance(whole, str) and len(whole) > _MOST_DIGITS:  # Python refuses to convert thousands
        return True
    return not -(2**63) <= int(whole) < 2**63


def merge_kinds(several: Iterable[Mapping[str, Kind | None]]) -> dict[str, Kind | None]:
    """Return the kind that holds all values of a column, by column; None if all are missing."""
    merged: dict[str, Kind | None] = {}
    for kinds in several:
        for name, kind in kinds.items():
            merged[name] = wider(merged.get(name), kind)
        check_number(merged, "the rows")
    return dict(sorted(merged.items()))


def wider(one: Kind | None, other: Kind | None) -> Kind | None:
    """Return the kind that holds values of both: int < float < str, also for elements of lists.

    A number among spaced lists is a list of one. Other mixtures of lists and values are text.
    """
    if one == other or one is None or other is None:
        return one or other
    one, other = _as_spaced(one, other), _as_spaced(other, one)
    if isinstance(one, ListOf) and isinstance(other, ListOf) and one.spaced == other.spaced:
        element = _wider_scalar(one.element, other.element)
        return ListOf(element, max(one.inner, other.inner), one.spaced)
    if isinstance(one, ListOf) or isinstance(other, ListOf):
        return str
    return _wider_scalar(one, other)


def _as_spaced(kind: Kind, other: Kind) -> Kind:
    if isinstance(kind, ListOf) or kind is str:
        return kind
    return ListOf(kind, spaced=True) if isinstance(other, ListOf) and other.spaced else kind


def _wider_scalar(one: Scalar | None, other: Scalar | None) -> Scalar | None:
    return max(one, other, key=(None, int, float, str).index)


def convert_column(
    values: Sequence[Any], name: str, kind: Kind | None, missing_number: Number | None
) -> list[Value | None]:
    """Convert each value of a column; raises as `convert`."""
    are_texts = set(map(type, values)) == {str}
    if are_texts and kind in (None, str):
        return list(values)
    parse: Callable[[Any], int | float] = int if kind is int else float
    # Less than what float64 may have changed; nan never is.
    is_exact = (math.inf if kind is int else FIRST_SKIPPED_BY_FLOAT64).__gt__
    is_plain = kind in (int, float) and _are_plain(values)
    if is_plain:  # all at once, nearly always
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            numbers = list(map(parse, values))
            if all(map(is_exact, map(abs, numbers))):
                return list(numbers)

    def converted(value: Any) -> Value:
        try:
            number = parse(value) if is_plain else math.nan
        except (TypeError, ValueError, OverflowError):  # a word, or nothing
            number = math.nan
        if is_exact(abs(number)):
            return number
        return convert(name, value, kind, missing_number=missing_number)

    # Texts such as "NA" and "True" repeat. Of equal values of JSON, 0.0 and -0.0 differ.
    return list(map(functools.cache(converted) if are_texts else converted, values))


def _are_plain(values: Sequence[Any]) -> bool:
    """Return whether Python reads no more numbers in these values than `kind_of_text` does."""
    joined = "".join(map(str, values))
    return "_" not in joined and joined.isascii()


def convert(
    name: str, value: Any, kind: Kind | None, *, missing_number: Number | None = None
) -> Value:
    """Convert a CSV's text or a JSON value to its column's kind; a missing text is "".

    Args:
        name: Column, for messages.
        value: The value.
        kind: Kind of the column.
        missing_number: Replaces a missing number, if not None.

    Returns:
        An int, float or str; for a list, an `Array` of int64 or float32, or a tuple of str. A
        whole number that float64 would change is an int.

    Raises:
        RecordError: "missing value": a number or a list is missing; "unsupported column": a
            list or object in a column of other values; "malformed annotation", "value out of
            range": a text among numbers, or an unusable list.
    """
    if kind is None or kind is str:
        if isinstance(value, list | dict):
            raise unsupported(f"column {name!r} holds {str(value)[:100]}, unlike other rows", name)
        return "" if value is None else str(value)
    if isinstance(kind, ListOf):
        if value is None or (isinstance(value, str) and is_missing_number(value)):
            raise RecordError(
                "missing value",
                f"column {name!r} is empty here, but has lists elsewhere; fill it, or write [] for "
                "an empty list",
            )
        with in_column(name):
            return _listed(value, kind)
    number = _number(name, value, kind) if kind is int else _number(name, value, float)
    if number is not None:
        return number
    if missing_number is None:
        raise RecordError(
            "missing value",
            f"column {name!r} is empty here, but has numbers elsewhere; fill it, or pass "
            "--missing-numbers nan",
        )
    return float(missing_number) if kind is float else missing_number


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float | None:
    """Return a value as a number; None if it is missing; raise RecordError for any other."""
    if value is None or (isinstance(value, str) and is_missing_number(value)):
        return None
    if isinstance(value, list | dict):
        raise unsupported(f"column {name!r} holds {str(value)[:100]}, unlike other rows", name)
    is_number = not isinstance(value, str) or kind_of_text(value) in (int, float)
    if not is_number and not is_whole(value.strip()):
        raise malformed(
            f"column {name!r} is {value[:50]!r} here, but has numbers elsewhere; correct it, or in "
            f"a recipe: `missing_values: [{json.dumps(value[:50])}]`"
        )
    stated = truth_as_number(value) if isinstance(value, str) else value
    try:
        number = float(stated)
        if math.isinf(number) and isinstance(stated, str) and "inf" not in stated.lower():
            raise OverflowError
    except OverflowError:  # also for a whole number with hundreds of digits
        raise out_of_range(f"column {name!r} is {str(value)[:50]}") from None
    if math.isnan(number):
        return None
    return int(stated) if kind is int else _exact(stated, number)


def _exact(stated: Any, number: float) -> int | float:
    """Return the whole number of 64 bits that float64 would change, else `number`."""
    if not FIRST_SKIPPED_BY_FLOAT64 <= abs(number) < 2.0**63 or isinstance(stated, float):
        return number
    exact = decimal.Decimal(stated)
    whole = int(exact)
    return whole if whole == exact != number else number


def _listed(value: Any, kind: ListOf) -> Value:
    values = listed(value, kind) if isinstance(value, str) else value
    if kind.element is str:
        return listed_texts(values)
    return number_array(values, "float32" if kind.element is float else "int64", kind.inner)


def flatten(value: list[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """Return the values of nested lists in C order, and the sizes by axis.

    Raises:
        RecordError: "malformed annotation": lists of one axis differ in length or mix lists and
            other values, or there are too many axes.
    """
    flat, shape = value, [len(value)]
    while list in (types := set(map(type, flat))):
        sizes = set(map(len, flat)) if types == {list} else set()
        if len(sizes) != 1 or len(shape) == _MAX_AXES:
            raise malformed(
                f"{str(value)[:100]} holds lists that differ in length or depth; make them alike"
            )
        shape.append(sizes.pop())
        flat = list(itertools.chain.from_iterable(flat))
    return flat, tuple(shape)


def number_array(value: list[Any], dtype: str, inner: tuple[int, ...] = ()) -> Array:
    """Convert nested lists of numbers; an empty list gets the sizes `inner` for further axes.

    Raises:
        RecordError: As `flatten`; "missing value": a null; "value out of range": a number that
            the type cannot hold; "unsupported column": text, or an object.
    """
    flat, shape = flatten(value)
    if None in flat:
        raise RecordError("missing value", f"{str(value)[:100]} has null among its numbers")
    if not {int, float, bool}.issuperset(map(type, flat)):
        raise _unsupported_value(f"{str(value)[:100]} holds something other than numbers")
    return array_of(flat, shape if flat or not inner else (0, *inner), dtype)


def array_of(flat: list[Any], shape: tuple[int, ...], dtype: str) -> Array:
    """Convert numbers in C order to an array of little-endian bytes.

    Raises:
        RecordError: "value out of range": a number that the type cannot hold; "malformed
            annotation": an array that is empty along an axis other than the first.
    """
    if 0 in shape[1:]:
        raise malformed("there are empty lists in the list")
    wanted = numpy.dtype(dtype).newbyteorder("<")
    widest = {"f": "float64", "u": "uint64"}.get(wanted.kind, "int64")
    try:
        wide = numpy.array(flat, dtype=widest)
        with numpy.errstate(over="ignore"):
            values = wide.astype(wanted)
        lost = numpy.isinf(values) != numpy.isinf(wide) if wanted.kind == "f" else values != wide
        if lost.any():
            raise OverflowError
    except OverflowError:
        raise RecordError(
            "value out of range", f"{str(flat)[:100]} holds numbers beyond the range of {dtype}"
        ) from None
    rounded = rounding(flat) if dtype == "float32" and shape else Rounding()
    return Array(dtype=dtype, shape=shape, data=values.tobytes(), **rounded._asdict())


def listed_texts(value: list[Any]) -> tuple[str, ...]:
    """Return the texts of a list, with numbers as text and null as ""; refuse nested lists."""
    if nested := [each for each in value if isinstance(each, list | dict)]:
        raise _unsupported_value(f"a list of texts holds {str(nested[0])[:100]}")
    return tuple("" if each is None else str(each) for each in value)


def class_name(value: Any) -> str:
    """Return the name of a value's class: 3, 3.0 and "3" are the class "3"; "" for none.

    Names that differ only in their Unicode form, as of macOS, are one class.
    """
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return "" if value is None else composed(str(value).strip())


def named_class(name: str, classes: Sequence[str]) -> str:
    """Return the class called `name` in `classes`, else the one with that number, else `name`."""
    is_number = name.isascii() and name.isdigit() and len(name) < _DIGITS
    if name not in classes and is_number and int(name) < len(classes):
        return classes[int(name)]
    return name


def is_stated(value: Any) -> bool:
    """Return whether a value is neither null nor blank."""
    return bool(value.strip()) if isinstance(value, str) else value is not None


def lacks_label(value: Any) -> bool:
    """Return whether a label is missing; classes with columns of their own may all be absent."""
    return value is Unlabelled.LABEL or (value != OF_COLUMNS and not is_stated(value))


def label_name(value: Any, column: str) -> str:
    """Return the class of a label; raise "missing value" if there is none."""
    name = class_name(value)
    if not name:
        raise RecordError("missing value", f"column {column!r} is empty here: there is no label")
    return name


def class_label(
    value: Any,
    column: str,
    kind: Kind | None,
    classes: Sequence[str] = (),
    separator: str = "",
    has_several: bool = False,
) -> ClassLabel | ClassLabels:
    """Return the class or classes of a text, a number or a list.

    Args:
        value: The value.
        column: Column, for messages.
        kind: Kind of the column.
        classes: Names of classes that are written as numbers.
        separator: Separates the classes in a text; "" if a text is one class.
        has_several: Whether a record may have several classes; a missing value then means none.

    Raises:
        RecordError: "missing value": there is no class, or a name in the list is missing.
    """
    if has_several and not is_stated(value):
        return ClassLabels(())
    is_divided = separator and isinstance(value, str)
    if is_divided and (value or separator != OF_COLUMNS):
        value = list(filter(None, map(str.strip, value.split(separator))))
    elif isinstance(kind, ListOf) and isinstance(value, str) and value.strip():
        value = listed(value, kind)
    if isinstance(value, list):
        return ClassLabels(tuple(named_class(label_name(each, column), classes) for each in value))
    if kind is float and isinstance(value, str) and value.strip():
        value = float(value)  # pandas writes 3 as "3.0" if other values are missing
    return ClassLabel(named_class(label_name(value, column), classes))


def mark_of(value: object) -> str:
    """Return "1", "0" or "-1", also for 1.0 or true; any other value as text."""
    text = str(value).strip().lower().removesuffix(".0")
    return {"true": "1", "false": "0"}.get(text, text)


def classes_marked(names: Sequence[str], values: Sequence[object]) -> str:
    """Join the names of a row's classes to one text; "" if a value is not 1, 0 or -1."""
    marks = list(map(mark_of, values))
    if not {"1", "0", "-1"}.issuperset(marks):
        return ""
    marked = [name for name, mark in zip(names, marks, strict=True) if mark == "1"]
    return OF_COLUMNS.join(marked) or OF_COLUMNS


def are_no_classes(values: Sequence[Any]) -> bool:
    """Return whether numbers or lists cannot be classes, whatever their column's name.

    This is so for numbers with fractions, nested lists, lists with repeated values, or many numbers
    written with a point.
    """
    is_written_so = any(not isinstance(value, list) and "." in str(value) for value in values)
    many = len(set(map(str, values))) > _MANY_WRITTEN_SO
    return (many and is_written_so) or any(map(_is_no_class, values))


def _is_no_class(value: Any) -> bool:
    if isinstance(value, str):
        is_list = isinstance(kind_of_text(value), ListOf)
        value = list_of_text(value) if is_list else float(truth_as_number(value))
    if isinstance(value, list):
        plain = [each for each in value if not isinstance(each, list | dict | float)]
        return len(set(plain)) < len(value)
    return not (isinstance(value, int) or float(value).is_integer())
