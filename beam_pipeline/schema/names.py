"""Valid names of features, their attributes, and classes."""

import re
from collections.abc import Collection, Iterable

from beam_pipeline.errors import DataError
from tfrecord_dataset.format.example import MAX_KEYS, TOO_MANY
from tfrecord_dataset.format.feature import Feature

# Line ends of any program, terminal control characters, and surrogates left by invalid UTF-8.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_names(schema: Iterable[Feature]) -> None:
    """Raise DataError if a name is empty, has a control character, or is not Unicode.

    Class names are written one per line, so a line end would renumber all later classes.
    """
    for feature in schema:
        for name in (feature.name, feature.key, *feature.attributes):
            _check(name, "the feature", "rename its column or key, or leave it out")
        for name in feature.classes:
            _check(name, f"the class of {feature.name!r}", "rename it")


def check_number(names: Collection[str], whose: str = "the records together") -> None:
    """Raise DataError for too many feature names."""
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
