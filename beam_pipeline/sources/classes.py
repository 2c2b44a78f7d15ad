"""Classes that are written as numbers."""

from collections.abc import Sequence

# Python makes no number of thousands of digits.
_DIGITS = 20


def named_class(name: str, classes: Sequence[str]) -> str:
    """The class of that name among `classes`; where there is none, of that number.

    A name that is neither stays as it is: whether classes are missing is told of all at once.
    """
    is_number = name.isascii() and name.isdigit() and len(name) < _DIGITS
    if name not in classes and is_number and int(name) < len(classes):
        return classes[int(name)]
    return name
