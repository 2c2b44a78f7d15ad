"""Checks, measures and hashes records: files one by one, other values by column.

No Beam here: worker processes import this module.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from beam_pipeline import kinds
from beam_pipeline.batch import RecordBatch, values_by_feature
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.deferred import read_deferred
from beam_pipeline.inspect.digest import content_digests, sha256_of, texts_of
from beam_pipeline.inspect.stored_example import inspect_existing
from beam_pipeline.kinds.kind import MAX_RECORD_BYTES, Inspection, Kind, Rules, check_text
from beam_pipeline.records import (
    Deferred,
    Element,
    Inspected,
    InspectedElement,
    Record,
    Rejected,
    Value,
    alike,
)
from beam_pipeline.running.record_limits import too_large
from beam_pipeline.schema.conformance import conforming

# Approximate size of an Example's framing, keys and numbers without the payload.
EXAMPLE_OVERHEAD_BYTES = 400

# Notes of records without files: their values add none.
_NO_NOTES = Counter[str]()

_T = TypeVar("_T")
Problem = RecordError | None
Each = Callable[[Callable[[Any], Problem], Iterable[Any]], Iterable[Problem]]
"""`map`, or what bounds each call and returns a problem of one that goes beyond."""


@dataclasses.dataclass(frozen=True, slots=True)
class InspectedRows:
    """Checked rows: values by feature, and digests and sizes as in `Inspected`."""

    rows: RecordBatch
    columns: Mapping[str, Sequence[Value]]
    content_digests: Sequence[str]
    num_bytes: npt.NDArray[np.int64]

    def records(self) -> Iterator[Inspected]:
        """Return a record for each row."""
        digests = zip(self.content_digests, self.num_bytes.tolist(), strict=True)
        for record, (digest, num_bytes) in zip(self.rows.records(), digests, strict=True):
            yield Inspected.of(record, content_digest=digest, num_bytes=num_bytes)


def inspect_elements(
    elements: Iterable[Element | RecordBatch],
    rules: Rules,
    read: storage.ReadFile = storage.read_bytes,
    each: Each = map,
) -> list[InspectedElement | InspectedRows]:
    """Inspect records; unusable ones become Rejected. The order may change."""
    records: list[Record] = []
    results: list[InspectedElement | InspectedRows] = []
    for element in elements:
        if isinstance(element, Record):
            records.append(element)
        elif isinstance(element, RecordBatch):
            if inspected := inspect_rows(element, rules):
                results.append(inspected)
            else:
                records += element.records()
        else:
            results.append(element)
    for group in alike(records):
        some = [_UnderWay(record, rules, read) for record in group]
        _inspect(some, rules, each)
        for under_way in some:
            result = under_way.result
            if isinstance(result, RecordError):
                results.append(rejected(under_way.record, result))
            elif result:
                results.append(result)
    return results


def inspect_rows(rows: RecordBatch, rules: Rules) -> InspectedRows | None:
    """Inspect rows as columns; None if their records must be inspected one by one."""
    if rules.schema or not rows.has_only_values:
        return None
    columns: Mapping[str, Sequence[Any]] = values_by_feature(rows.table)
    num_bytes = np.full(len(rows), EXAMPLE_OVERHEAD_BYTES, np.int64)
    try:
        for name, values in columns.items():
            checked, sizes = kinds.of(values[0]).check_column(name, values)
            if checked is not values:
                return None
            num_bytes += sizes
    except RecordError:
        return None
    if not columns or (num_bytes > MAX_RECORD_BYTES).any():
        return None
    digests = list(map(sha256_of, texts_of(columns)))
    return InspectedRows(rows, columns, digests, num_bytes)


def rejected(record: Record, problem: RecordError) -> Rejected:
    """Return the reject of a record that cannot be used."""
    # Makes names that are not UTF-8 printable.
    source = (record.source or record.key).encode(errors="backslashreplace").decode()
    return Rejected.of(source, problem)


class _UnderWay(Inspection):
    """A record under inspection.

    Attributes:
        features: The values, checked so far.
        example: None, for `alike`: existing Examples are inspected as a whole.
        deferred: The same as in `Inspected`.
        result: The inspected record or its problem; None until it is known.
    """

    __slots__ = ("deferred", "example", "features", "record", "result")

    def __init__(self, record: Record, rules: Rules, read: storage.ReadFile) -> None:
        self.record, self.features, self.rules, self.read = record, record.features, rules, read
        self.notes, self.num_bytes, self.frames = _NO_NOTES, EXAMPLE_OVERHEAD_BYTES, {}
        self.look = self.example = None
        self.deferred: Mapping[str, Deferred] = {}
        self.result: Inspected | RecordError | None = None


def _inspect(records: list[_UnderWay], rules: Rules, each: Each) -> None:
    """Find the results of records that are `alike`."""
    groups = [records]
    first = records[0].record
    if first.example or not kinds.are_by_column(first.features.values()):
        _run(each, _check_files, records)
        groups = alike(_left(records))
        list(each(_turn, groups))
    for group in filter(None, map(_left, groups)):
        _by_halves(_check_columns, group)
        if rules.schema:
            _run(each, _hold_against, _left(group))
        for checked in alike(_left(group)):
            _finish(checked)


def _left(records: Iterable[_UnderWay]) -> list[_UnderWay]:
    return [record for record in records if record.result is None]


def _run(each: Each, function: Callable[[_UnderWay], None], records: list[_UnderWay]) -> None:
    problems = each(functools.partial(_problem_of, function), records)
    for record, problem in zip(records, problems, strict=True):
        record.result = problem or record.result


def _problem_of(function: Callable[[_T], None], checked: _T) -> Problem:
    try:
        function(checked)
    except RecordError as error:
        return error
    except MemoryError:
        return too_large()
    return None


def _by_halves(
    function: Callable[[Sequence[_UnderWay]], None], records: Sequence[_UnderWay]
) -> None:
    """Call a function for records that are `alike`; halve failing sets to find the bad records."""
    if problem := _problem_of(function, records):
        middle = len(records) // 2
        if not middle:
            records[0].result = problem
            return
        _by_halves(function, records[:middle])
        _by_halves(function, records[middle:])


def _check_files(under_way: _UnderWay) -> None:
    """Check the values that are not checked by column: files and annotations."""
    record = under_way.record
    check_text("key", record.key)
    if record.example:
        under_way.result = inspect_existing(record, under_way.rules, under_way.read)
        return
    under_way.notes = Counter(record.notes)
    given, under_way.deferred = read_deferred(record.features, under_way.read)
    under_way.features = {
        name: value if kinds.is_by_column(value) else kinds.of(value).check(name, value, under_way)
        for name, value in given.items()
    }


def _turn(records: Sequence[_UnderWay]) -> None:
    """Turn the values of records that are `alike` with their images, and note problems."""
    for name, value in records[0].features.items():
        if kinds.of(value).has_geometry:
            _by_halves(functools.partial(_turn_feature, name, kinds.of(value)), records)


def _turn_feature(name: str, kind: Kind[Any], records: Sequence[_UnderWay]) -> None:
    turned = kind.turn_column([record.features[name] for record in records], records)
    for record, result in zip(records, turned, strict=True):
        if isinstance(result, RecordError):
            record.result = record.result or result
        else:
            record.features = {**record.features, name: result}


def _check_columns(records: Sequence[_UnderWay]) -> None:
    """Check the other values of records that are `alike`."""
    num_bytes = np.zeros(len(records), np.int64)
    changed: dict[str, Sequence[Value]] = {}
    for record in records:
        check_text("key", record.record.key)
    for name, value in records[0].features.items():
        if kinds.is_by_column(value):
            values = [record.features[name] for record in records]
            checked, sizes = kinds.of(value).check_column(name, values)
            num_bytes += sizes
            if checked is not values:
                changed[name] = checked
    for record, size in zip(records, num_bytes.tolist(), strict=True):
        record.num_bytes += size
    for name, checked in changed.items():  # usually empty
        for record, value in zip(records, checked, strict=True):
            record.features = {**record.features, name: value}


def _hold_against(under_way: _UnderWay) -> None:
    """Check the values against the declared schema."""
    rules, deferred = under_way.rules, under_way.deferred
    features = conforming(under_way.features, rules.schema, may_be_nan=rules.may_be_nan)
    under_way.features = features
    under_way.deferred = {name: value for name, value in deferred.items() if name in features}


def _finish(records: Sequence[_UnderWay]) -> None:
    """Set the results of records that are `alike`."""
    digests = content_digests([record.features for record in records])
    for record, digest in zip(records, digests, strict=True):
        if record.num_bytes > MAX_RECORD_BYTES:
            record.result = RecordError(
                "record too large",
                f"about {record.num_bytes:,} bytes in all (limit: {MAX_RECORD_BYTES:,})",
            )
            continue
        record.result = Inspected.of(
            record.record,
            features=record.features,
            notes=dict(record.notes) if record.notes else record.record.notes,
            content_digest=digest,
            num_bytes=record.num_bytes,
            deferred=record.deferred,
            look=record.look,
        )
