"""Classes in the names of files that no class folders hold, such as "cat_1.jpg" and "dog_1.jpg"."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from beam_pipeline.kinds.wording import count_classes, first_names
from beam_pipeline.problems import Problem, Reading
from beam_pipeline.sources.folders.pattern import literal, parse_pattern
from beam_pipeline.sources.folders.readings import effect
from beam_pipeline.sources.paths import stem
from beam_pipeline.sources.tables.types import class_name
from tfrecord_dataset.format.split_names import is_split

_SEPARATORS = ("_", "-", ".", " ")
_SHARE_OF_A_FORM = 0.9
_MOST_CLASSES = 100
_LEAST_FILES = 3
# A number at one place is a class, not a count, only if each has many files for so few numbers.
_FILES_PER_NUMBER = 3
_MOST = 2


def _each(counts: Counter[str]) -> bool:
    """Whether each value has so many files that it must be a class."""
    least = _LEAST_FILES
    if any(value.isdigit() for value in counts):
        least = max(least, _FILES_PER_NUMBER * len(counts))
    return min(counts.values()) >= least


def _on_average(counts: Counter[str]) -> bool:
    """Whether values without digits have so many files, although some are rare."""
    has_digits = any(letter.isdigit() for value in counts for letter in value)
    return not has_digits and counts.total() >= _LEAST_FILES * len(counts)


def classes_in_names(paths: Sequence[str], kind: str, facts: dict[str, str]) -> Problem | None:
    """Return the question whether a part of the names is the class; None if no part may be one.

    Args:
        paths: The files below the input, whose first folders are splits, if any.
        kind: What they are: "image".
        facts: `path`, the input, and `at_least`, the prefix of numbers of files.
    """
    readings = [*_readings(paths, kind, facts["at_least"])]
    if not readings:
        return None
    splits = {path.split("/")[0] for path in paths} if "/" in paths[0] else set()
    unlabelled = effect(facts["at_least"], kind, {None: len(paths)}, splits)
    readings.append(Reading({"path_pattern": ("{_}",)}, unlabelled))
    return Problem(code="classes in names", facts=facts, readings=tuple(readings))


def proposed(paths: Sequence[str]) -> str:
    """Return what a pattern would read if some of its classes are too rare to be sure, or ""."""
    for pattern in _patterns([*map(stem, paths)], _on_average)[:1]:
        found = [parse_pattern(pattern).match(path) for path in paths]
        names = sorted({class_name(each[0] or "") for each in found if each})
        classes = f"{count_classes(names)} ({first_names(names)})"
        return f"share a form; --path-pattern '{pattern}' reads {classes}"
    return ""


def _readings(paths: Sequence[str], kind: str, at_least: str) -> Iterator[Reading]:
    for pattern in _patterns([*map(stem, paths)]):
        matches = [(path, parse_pattern(pattern).match(path)) for path in paths]
        read = {path: class_name(found[0] or "") for path, found in matches if found}
        splits = {path.split("/")[0] for path in read if "/" in path}
        what = effect(at_least, kind, Counter[str | None](read.values()), splits)
        yield Reading({"path_pattern": (pattern,)}, what)


def _patterns(
    stems: Sequence[str], are_enough: Callable[[Counter[str]], bool] = _each
) -> Sequence[str]:
    """Return up to two patterns of stems of one form, the one with the fewest classes first."""
    for separator in _SEPARATORS:
        parts = [stem.split(separator) for stem in stems]
        if patterns := _patterns_of_long_classes(separator, parts, are_enough):
            return patterns
        [(length, number)] = Counter(map(len, parts)).most_common(1)
        if length > 1 and number >= _SHARE_OF_A_FORM * len(stems):
            columns = [*zip(*(each for each in parts if len(each) == length), strict=True)]
            places = [at for at in range(length) if _are_classes(columns[at], are_enough)]
            places.sort(key=lambda at: (columns[at][0].isdigit(), len({*columns[at]})))
            if places and not all(columns[at][0].isdigit() for at in places):
                return [_pattern(separator, at, length) for at in places[:_MOST]]
    return ()


def _patterns_of_long_classes(
    separator: str, parts: Sequence[Sequence[str]], are_enough: Callable[[Counter[str]], bool]
) -> Sequence[str]:
    """Return the pattern of classes of several parts, as in "cat_1" and "great_dane_1"."""
    lengths = {*map(len, parts)}
    if 1 in lengths or len(lengths) == 1:
        return ()
    for pattern, own in (("{label+}%s{_}", slice(-1)), ("{_}%s{label}", slice(1, None))):
        values = [separator.join(each[own]) for each in parts]
        if not any(value.isdigit() for value in values) and _are_classes(values, are_enough):
            return [pattern % literal(separator)]
    return ()


def _are_classes(values: Sequence[str], are_enough: Callable[[Counter[str]], bool]) -> bool:
    counts = Counter(values)
    is_word = all(class_name(value) and not is_split(value) for value in counts)
    return is_word and 1 < len(counts) <= _MOST_CLASSES and are_enough(counts)


def _pattern(separator: str, at: int, length: int) -> str:
    """Return the pattern with the class at one place; the last name of a pattern takes the rest."""
    names = ["{_}"] * at + ["{label}"] + ["{_}"] * (at < length - 1)
    return literal(separator).join(names)
