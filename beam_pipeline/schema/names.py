"""Which names a dataset can have: of features, of their attributes, and of classes."""

import re
from collections.abc import Collection, Iterable

from beam_pipeline.errors import DataError
from tfrecord_dataset.format.example import MAX_KEYS, TOO_MANY
from tfrecord_dataset.format.feature import Feature

# Those that end a line, in the eyes of any program, those that act on a terminal, and what is left
# of bytes that are not UTF-8.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_names(schema: Iterable[Feature]) -> None:
    """Raises DataError where a name is empty, has a control character, or is not Unicode.

    In a file with a class name in each line, a line end would give all later classes other numbers.
    """
    for feature in schema:
        for name in (feature.name, feature.key, *feature.attributes):
            _check(name, "the feature", "rename its column or key, or leave it out")
        for name in feature.classes:
            _check(name, f"the class of {feature.name!r}", "rename it")


def check_number(names: Collection[str], whose: str = "the records together") -> None:
    """Raises DataError where these are too many names of features."""
    if len(names) > MAX_KEYS:
        raise DataError(f"{whose} have {len(names):,} features, such as {min(names)!r}, {TOO_MANY}")


def _check(name: str, what: str, remedy: str) -> None:
    if not name:
        raise DataError(f"{what} {name!r} has no name; {remedy}")
    if _CONTROL.search(name):
        raise DataError(
            f"{what} {name!r} has a line end or another control character, or bytes that are not "
            f"UTF-8, in its name, which the files that describe a dataset cannot hold; {remedy}"
        )
