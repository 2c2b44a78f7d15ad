"""Checks, measures and hashes examples: files one by one, other values by column.

No Beam here: worker processes import this module.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from beam_pipeline import kinds
from beam_pipeline.batch import Examples, by_row, columns_of
from beam_pipeline.errors import RecordError, attempts
from beam_pipeline.files import storage
from beam_pipeline.inspect.deferred import read_deferred
from beam_pipeline.inspect.digest import content_digests
from beam_pipeline.inspect.stored_example import inspect_existing
from beam_pipeline.kinds.kind import MAX_RECORD_BYTES, Inspection, Kind, Rules
from beam_pipeline.records import (
    Consumed,
    DeclaredClasses,
    Deferred,
    Expectation,
    FileRef,
    Rejected,
    Value,
    alike,
)
from beam_pipeline.running.record_limits import too_large
from beam_pipeline.schema.conformance import conforming

# Approximate size of an Example's framing, keys and numbers without the payload.
EXAMPLE_OVERHEAD_BYTES = 400

_T = TypeVar("_T")
_R = TypeVar("_R")
Problem = RecordError | None
Each = Callable[[Callable[[Any], Problem], Iterable[Any]], Iterable[Problem]]
"""`map`, or what bounds each call and returns a problem of one that goes beyond."""
Other = Rejected | DeclaredClasses | Consumed


def inspect_elements(
    elements: Iterable[Examples | Other],
    rules: Rules,
    read: storage.ReadFile = storage.read_bytes,
    each: Each = map,
) -> Iterator[Examples | Other]:
    """Inspect examples; unusable ones become Rejected. The order may change."""
    for element in elements:
        if isinstance(element, Examples):
            yield from _inspected(element, rules, read, each)
        else:
            yield element


def _inspected(
    given: Examples, rules: Rules, read: storage.ReadFile, each: Each
) -> Iterator[Examples | Rejected]:
    parts: Iterable[Examples | Rejected] = [given]
    classes = [{*map(type, values)} for values in given.features.values()]
    if "example" in given.fields or not kinds.are_by_column(set[type]().union(*classes)):
        parts = _with_files(given, rules, read, each)
    check = functools.partial(_limited, functools.partial(_checked, rules=rules))
    for part in parts:
        if isinstance(part, Examples) and "content_digest" not in part.fields:
            for some, result in attempts(check, part, Examples.taken):
                if isinstance(result, RecordError):
                    yield Rejected.of(some.sources[0], result)
                else:
                    yield result
        else:
            yield part


@dataclasses.dataclass(slots=True, kw_only=True)
class _Row(Inspection):
    """An example whose files are inspected.

    Attributes:
        number: Its row in the batch.
        features: The values, checked so far.
        deferred: As in `Examples`.
        content_digest: Of an existing Example.
        problem: Why it cannot be used.
    """

    number: int
    features: Mapping[str, Value]
    example: FileRef | None
    expected: Mapping[str, Expectation]
    deferred: Mapping[str, Deferred] = dataclasses.field(default_factory=dict)
    content_digest: str = ""
    problem: RecordError | None = None


def _with_files(
    given: Examples, rules: Rules, read: storage.ReadFile, each: Each
) -> Iterator[Examples | Rejected]:
    """Inspect the files of each example, and turn annotations with its image."""
    features = by_row(given.features, len(given), are_complete=True)
    stated = zip(features, given.field("notes"), given.field("example"), strict=True)
    rows = [
        _Row(
            rules=rules,
            read=read,
            notes=Counter(notes),
            num_bytes=EXAMPLE_OVERHEAD_BYTES,
            number=number,
            features=values,
            example=example,
            expected=given.expected,
        )
        for number, (values, notes, example) in enumerate(stated)
    ]
    problems = each(functools.partial(_problem_of, _check_files), rows)
    for row, problem in zip(rows, problems, strict=True):
        row.problem = problem
    groups = alike(row for row in rows if not row.problem)
    list(each(_turn, groups))
    for group in map(_left, groups):
        if group:
            yield _columns_of(group, given)
    sources = given.sources
    for row in rows:
        if row.problem:
            yield Rejected.of(sources[row.number], row.problem)


def _left(rows: Iterable[_Row]) -> list[_Row]:
    return [row for row in rows if row.problem is None]


def _columns_of(rows: Sequence[_Row], given: Examples) -> Examples:
    """Return rows that are `alike` as columns."""
    fields = {
        **given.taken([row.number for row in rows]).fields,
        "notes": [dict(row.notes) for row in rows],
        "num_bytes": [row.num_bytes for row in rows],
        "look": [row.look for row in rows],
    }
    if rows[0].example:
        fields["example"] = [row.example for row in rows]
        fields["content_digest"] = [row.content_digest for row in rows]
    features = columns_of([row.features for row in rows])
    return Examples(fields, features, columns_of([row.deferred for row in rows]))


def _problem_of(function: Callable[[_T], None], checked: _T) -> Problem:
    try:
        _limited(function, checked)
    except RecordError as error:
        return RecordError(error.reason, error.detail)  # its traceback refers to `checked`
    return None


def _limited(function: Callable[[_T], _R], checked: _T) -> _R:
    """Call a function; values that take too much memory are a RecordError."""
    try:
        return function(checked)
    except MemoryError:
        raise too_large() from None


def _check_files(row: _Row) -> None:
    """Check the values that are not checked by column: files and annotations."""
    if row.example:
        found = inspect_existing(row.example, row.rules, row.expected, row.read)
        row.features, row.notes = found.features, Counter(found.notes)
        row.example, row.num_bytes = found.example, found.num_bytes
        row.content_digest = found.content_digest
        return
    given, row.deferred = read_deferred(row.features, row.read)
    row.features = {
        name: value if kinds.is_by_column(value) else kinds.of(value).check(name, value, row)
        for name, value in given.items()
    }


def _turn(rows: Sequence[_Row]) -> None:
    """Turn the values of rows that are `alike` with their images, and note problems."""
    for name, value in rows[0].features.items():
        if not rows[0].example and kinds.of(value).has_geometry:
            _turn_feature(name, kinds.of(value), rows)


def _turn_feature(name: str, kind: Kind[Any], rows: Sequence[_Row]) -> None:
    def turned(some: Sequence[_Row]) -> Sequence[Any]:
        return kind.turn_column([row.features[name] for row in some], some)

    for some, made in attempts(functools.partial(_limited, turned), rows):
        results = [made] if isinstance(made, RecordError) else made
        for row, result in zip(some, results, strict=True):
            if isinstance(result, RecordError):
                row.problem = row.problem or result
            else:
                row.features = {**row.features, name: result}


def _checked(given: Examples, rules: Rules) -> Examples:
    """Check the other values of examples, and their schema, size and content."""
    features = dict(given.features)
    num_bytes = np.array(
        given.fields.get("num_bytes") or [EXAMPLE_OVERHEAD_BYTES] * len(given), np.int64
    )
    for name, values in given.features.items():
        if kinds.is_by_column(values[0]):
            features[name], sizes = kinds.of(values[0]).check_column(name, values)
            num_bytes += sizes
    if rules.schema:
        features = _fitting(features, rules, len(given))
    if (largest := int(num_bytes.max())) > MAX_RECORD_BYTES:
        raise RecordError(
            "record too large",
            f"about {largest:,} bytes in all (limit: {MAX_RECORD_BYTES:,})",
        )
    found = {
        "content_digest": content_digests(features, len(given)),
        "num_bytes": num_bytes.tolist(),
    }
    deferred = {name: values for name, values in given.deferred.items() if name in features}
    return Examples({**given.fields, **found}, features, deferred)


def _fitting(
    features: Mapping[str, Sequence[Any]], rules: Rules, num_rows: int
) -> dict[str, Sequence[Any]]:
    """Check values against the declared schema, and return those that it declares."""
    rows = by_row(features, num_rows)
    fitting = [conforming(row, rules.schema, may_be_nan=rules.may_be_nan) for row in rows]
    return {**columns_of(fitting)}
