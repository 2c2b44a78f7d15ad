"""Formats values, classes and counts for messages and summaries."""

import re
from collections.abc import Collection, Iterable, Iterator

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.observed import Observed
from tfrecord_dataset.format.feature import Feature, shape_text
from tfrecord_dataset.shown_text import counted

_CLASSES = 5
_CHARACTERS = 80


def shortened(value: object) -> str:
    """Return the `repr` of a value, shortened to its beginning if long."""
    return brief(repr(value))


def brief(name: str) -> str:
    """Return a name, shortened to its beginning if long."""
    return name if len(name) <= _CHARACTERS else f"{name[: _CHARACTERS - 1]}…"


def first_names(names: Iterable[str]) -> str:
    """List the first names: "cat, dog, …"."""
    shown = list(names)
    more = ", …" if len(shown) > _CLASSES else ""
    return ", ".join(map(brief, shown[:_CLASSES])) + more


def of_classes(what: str, feature: Feature) -> str:
    """Append the feature's declared classes to `what`, if any: "a class of cat, dog"."""
    return what + (f" of {first_names(feature.classes)}" if feature.classes else "")


def described(feature: Feature) -> str:
    """Describe a declaration: "tensor int64 [3] from 0 to 9", "class_label int64 of cat, dog"."""
    words = [feature.kind, feature.dtype]
    if feature.shape:
        words.append(shape_text(feature))
    if feature.sample_rate:
        words.append(f"at {feature.sample_rate} Hz")
    low, high = feature.minimum, feature.maximum
    if low is not None:
        words.append(f"of {low:g} or more" if high is None else f"from {low:g}")
    if high is not None:
        words.append(f"of {high:g} or less" if low is None else f"to {high:g}")
    return of_classes(" ".join(words), feature)


def unsupported(value: object) -> RecordError:
    """Return the error for a value of no kind."""
    return RecordError(
        "unsupported value",
        f"{value!r} is a {type(value).__name__}; use Image, Map, Audio, Array, RawFile, "
        "ClassLabel, ClassLabels, Objects, int, float, str, bytes or a tuple of str",
    )


def count_classes(classes: Collection[str]) -> str:
    """ "1 class", "2 classes"."""
    return counted(len(classes), "class")


_WHOLE = re.compile(r"[+]?(-?)0*([0-9]+)(?:\.0*)?")


def similar(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that differ only by case or blanks, or are the same whole number.

    For example ("Cat", "cat"), ("1", "1.0") and ("01", "1").
    """
    first: dict[str, str] = {}
    for name in names:
        key = " ".join(name.casefold().split())
        if number := _WHOLE.fullmatch(key):
            key = f"{number[1]}{number[2]}"
        other = first.setdefault(key, name)
        if other != name:
            yield other, name


def between(least: int, most: int, what: str) -> str:
    """ "3 values", "1 to 3 values"."""
    if least == most:
        return counted(most, what)
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{least:,} to {most:,} {plural}"


def range_words(observed: Observed) -> Iterator[str]:
    """Yield the range of a feature's numbers in words: "17 to 90"."""
    if observed.range:
        low, high = (
            f"{each:,}" if isinstance(each, int) else f"{each:,.6g}" for each in observed.range
        )
        yield f"always {low}" if low == high else f"{low} to {high}"
    if observed.nans:
        yield f"nan in {counted(observed.nans, 'record')}"
