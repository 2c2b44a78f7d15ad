"""Texts in the cells of a table: truths, missing numbers, decimal commas."""

import re
from typing import Any

_TRUTHS = {"true": 1, "false": 0}
_MISSING_NUMBERS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "-", "?"})
# Lowering a long text takes time.
_LONGEST_WORD = max(map(len, (*_TRUTHS, *_MISSING_NUMBERS)))
_GROUPS = r"[1-9][0-9]{0,2}(\.[0-9]{3})"
_UNCLEAR = re.compile(rf"[+-]?{_GROUPS}")
_WITH_COMMA = re.compile(rf"[+-]?([0-9]+|{_GROUPS}+)(,[0-9]+)?")
_SURE = re.compile(rf"[+-]?([0-9]+|{_GROUPS}+),[0-9]+|[+-]?{_GROUPS}{{2,}}")


def truth_as_number(text: str) -> int | str:
    """Return 1 for "True" and 0 for "false", in any case; other texts unchanged."""
    bare = text.strip()
    return _TRUTHS.get(bare.lower(), text) if len(bare) <= _LONGEST_WORD else text


def is_missing_number(text: str) -> bool:
    """Return whether a text means a missing number in a column of numbers: "", "NA", "?"."""
    bare = text.strip()
    return len(bare) <= _LONGEST_WORD and bare.lower() in _MISSING_NUMBERS


def stripped(value: Any) -> str:
    """Return a text without blanks around it; "" for any other value."""
    return value.strip() if isinstance(value, str) else ""


def is_with_comma(text: str) -> bool:
    """Return whether a text is a number if commas are decimal and points between thousands."""
    return bool(_WITH_COMMA.fullmatch(text))


def has_comma(text: str) -> bool:
    """Return whether a number has a decimal comma, or several points between thousands."""
    return bool(_SURE.fullmatch(text))


def has_unclear_point(text: str) -> bool:
    """Return whether the point of a number may separate thousands or a fraction, as in 1.234."""
    return bool(_UNCLEAR.fullmatch(text))


def with_point(value: Any) -> Any:
    """Replace the decimal comma of a number by a point; other values are unchanged.

    A point of such a number is between thousands.
    """
    is_number = _WITH_COMMA.fullmatch(text := stripped(value))
    return text.replace(".", "").replace(",", ".") if is_number else value
