"""Classes that are written as numbers."""

from collections.abc import Sequence


def named_class(name: str, classes: Sequence[str]) -> str:
    """The class of that name among `classes`; where there is none, of that number.

    A name that is neither stays as it is: whether classes are missing is told of all at once.
    """
    if name not in classes and name.isascii() and name.isdigit() and int(name) < len(classes):
        return classes[int(name)]
    return name
