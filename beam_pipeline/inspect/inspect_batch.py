"""Inspect a batch of elements in one process, and pack it again: check, measure and hash examples.

Files are checked one by one, other values by column. No Beam here: worker processes import this
module.
"""

import dataclasses
import functools
import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from beam_pipeline import kinds
from beam_pipeline.batch import Examples, RecordBatch, by_row, columns_of
from beam_pipeline.errors import RecordError, attempts
from beam_pipeline.files import storage
from beam_pipeline.files.kept import NOTHING_KEPT, Kept
from beam_pipeline.inspect.deferred import read_deferred
from beam_pipeline.inspect.stored_example import inspect_existing
from beam_pipeline.kinds.kind import MAX_RECORD_BYTES, Inspection, Kind, Rules
from beam_pipeline.records import (
    ClassLabel,
    Consumed,
    DeclaredClasses,
    Deferred,
    Expectation,
    FileRef,
    Rejected,
    Value,
    alike,
    file_of,
)
from beam_pipeline.running.parallel import (
    MOST_RECORDS_AT_ONCE,
    Turns,
    files_of,
    map_threads,
)
from beam_pipeline.running.pickling import Constant, Parcel, unpack
from beam_pipeline.running.record_limits import (
    bounded_memory,
    ending_after,
    too_large,
    too_slow,
)
from beam_pipeline.running.worker_processes import Death, Work, run_isolated
from beam_pipeline.schema.conformance import conforming
from tfrecord_dataset.format.inference import is_label_key

Columns = Mapping[str, Sequence[Value]]
# From here on, searching for the characters that `repr` escapes is faster than `repr`.
_LONG_CHARACTERS = 1000
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def content_digests(features: Columns, num_rows: int) -> list[str]:
    """Return digests of the examples' files, or of all values for examples without files.

    Args:
        features: The features of records that are `alike`.
    """
    files = _columns_of_files(features)
    if not files:
        return list(map(sha256_of, _texts_beside_files(features, num_rows, "content")))
    contents = [[*map(kinds.of(values[0]).content, values)] for values in files]
    if len(contents) == 1:
        return list(map(str, contents[0]))
    return [sha256_of(repr([*row])) for row in zip(*contents, strict=True)]


def annotations(examples: Examples) -> list[str]:
    """Return texts of the annotations of examples from `content_digests`.

    Equal contents with different annotations conflict.
    """
    if "example" in examples.fields:
        return [file.sha256 for file in examples.fields["example"]]
    if not _columns_of_files(examples.features):
        digests: list[str] = [*examples.fields["content_digest"]]
        return digests  # covers the annotations
    return _texts_beside_files(examples.features, len(examples), "annotation")


def label_texts(examples: Examples) -> Iterator[str]:
    """Yield the class names of each example, for messages."""
    rows = examples.rows()
    for features, example in zip(rows, examples.field("example"), strict=True):
        names: list[str] = []
        for name, value in features.items():
            if not example:
                names.extend(kinds.of(value).class_names(value))
            elif isinstance(value, int) and is_label_key(name):
                names.append(str(value))
        yield ", ".join(names)


def _columns_of_files(features: Columns) -> list[Sequence[Value]]:
    columns = (values for _, values in sorted(features.items()))
    return [values for values in columns if file_of(values[0]) is not None]


def _texts_beside_files(
    features: Columns, num_rows: int, stated: Literal["content", "annotation"]
) -> list[str]:
    """Return the `repr` of each row's (name, content or annotation) pairs for values without files.

    Splits of records without files depend on these texts, so the texts must not change.
    """
    others = {name: values for name, values in features.items() if file_of(values[0]) is None}
    return texts_of(others, stated) if others else ["[]"] * num_rows


def texts_of(columns: Columns, stated: Literal["content", "annotation"] = "content") -> list[str]:
    """Return the same texts for one or more columns, each with values of one class."""
    names = sorted(columns)
    pairs = ", ".join(f"({name!r}, ".replace("%", "%%") + "%s)" for name in names)
    values = [_shown(columns[name], stated) for name in names]
    return [f"[{pairs}]" % each for each in zip(*values, strict=True)]


def _shown(values: Sequence[Value], stated: Literal["content", "annotation"]) -> Iterable[str]:
    """Return the `repr` of contents or annotations of values of one class."""
    state = getattr(kinds.of(values[0]), stated)
    if type(values[0]) is not ClassLabel:
        return map(_repr, map(state, values))
    few = {id(value): value for value in values}  # often the same objects
    shown = {number: repr(state(value)) for number, value in few.items()}
    return [shown[id(value)] for value in values]


def _repr(value: object) -> str:
    """Like `repr`, in a tenth of the time for long ASCII texts."""
    if type(value) is not str or len(value) < _LONG_CHARACTERS or not value.isascii():
        return repr(value)
    text = value
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped) if character in text else text
    codes = np.frombuffer(text.encode(), np.uint8) - np.uint8(ord(" "))
    if codes.max() > ord("~") - ord(" "):  # another control character
        return repr(value)
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if '"' not in text else "'{}'".format(text.replace("'", "\\'"))


def sha256_of(text: str) -> str:
    """Return the hex digest of such a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


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


Check = Callable[[Any], Problem]


class PackedBatch(NamedTuple):
    """A packed batch of inspected elements; fields without content are empty bytes.

    Attributes:
        records: Table of records (`assign.columns.to_bytes`).
        rejects: Packed rejects (`pickling.pack`).
        statistics: Statistics of its elements (`assign.statistics.Statistics`), to be merged.
        looks: Perceptual hashes of its images (`assign.likeness.SCHEMA`), if requested.
    """

    num_records: int
    records: bytes
    num_rejects: int
    rejects: bytes
    statistics: Parcel[Any]
    looks: bytes = b""


Pack = Callable[[Iterable[Examples | Other]], PackedBatch]
"""Packs all elements of a batch (`assign.packing.Packer.pack`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Options for inspecting batches and packing them again; what is read is kept."""

    rules: Rules
    pack: Pack
    kept: Kept = NOTHING_KEPT


@dataclasses.dataclass(frozen=True, slots=True)
class InspectBatch(Work[bytes, PackedBatch]):
    """Inspect the elements of a packed batch, `threads` at once, and pack them again."""

    settings: Constant[Settings]
    threads: int

    def __call__(self, batch: bytes) -> PackedBatch:
        elements, read = self._with_reader(batch)
        at_once = min(self.threads, MOST_RECORDS_AT_ONCE)
        seconds = self.settings.value.rules.max_seconds * at_once
        with bounded_memory(read, at_once) as bounded, ending_after(seconds) as start_time:

            def check(function: Check, record: Any) -> Problem:
                start_time()
                return function(record)

            inspected = list(self._inspected(elements, bounded, check))
        # The limits are per record, so they do not apply to packing.
        return self.settings.value.pack(inspected)

    def here(self, batch: bytes) -> PackedBatch:
        """Do the same in a process that must not end; a record's time is checked afterwards."""
        rules = self.settings.value.rules

        def check(function: Check, record: Any) -> Problem:
            before = time.thread_time()
            problem = function(record)
            is_slow = time.thread_time() - before > rules.max_seconds
            return too_slow(rules.max_seconds) if is_slow else problem

        return self.settings.value.pack(self._inspected(*self._with_reader(batch), check))

    def _inspected(
        self,
        elements: Iterable[Examples | Other],
        read: storage.ReadFile,
        check: Callable[[Check, Any], Problem],
    ) -> Iterator[Examples | Other]:
        turns = Turns(self.threads)

        def each(function: Check, records: Iterable[Any]) -> Iterator[Problem]:
            work = turns.working(functools.partial(check, function))
            return map_threads(work, records, self.threads)

        return inspect_elements(elements, self.settings.value.rules, turns.waiting(read), each)

    def _with_reader(self, batch: bytes) -> tuple[list[Examples | Other], storage.ReadFile]:
        """Return (elements of a batch, function that reads their files)."""
        elements = unpacked(batch)
        examples = (each for each in elements if isinstance(each, Examples))
        reader = storage.PrefetchingReader(itertools.chain.from_iterable(map(files_of, examples)))
        return elements, self.settings.value.kept.keeping(reader.read)

    def piece_by_piece(self, batch: bytes) -> PackedBatch:
        rules, pack = self.settings.value.rules, self.settings.value.pack
        elements = [*_one_by_one(unpack(batch))]
        outcomes = run_isolated(functools.partial(_inspect_alone, rules=rules), elements)
        return pack(
            _rejected(element, outcome, rules) if isinstance(outcome, Death) else outcome
            for element, outcome in zip(elements, outcomes, strict=True)
        )


def unpacked(batch: bytes) -> list[Examples | Other]:
    """Return the elements of a batch, and the records among them as columns of values."""
    return [each.examples() if isinstance(each, RecordBatch) else each for each in unpack(batch)]


def _one_by_one(elements: Iterable[RecordBatch | Other]) -> Iterator[RecordBatch | Other]:
    for element in elements:
        if isinstance(element, RecordBatch):
            yield from element.one_by_one()
        else:
            yield element


def _inspect_alone(element: RecordBatch | Other, rules: Rules) -> Examples | Other:
    """Inspect a record in a separate process."""
    given = element.examples() if isinstance(element, RecordBatch) else element
    with bounded_memory(storage.read_bytes, 1) as read, ending_after(rules.max_seconds):
        [inspected] = inspect_elements([given], rules, read)
    return inspected


def _rejected(element: RecordBatch | Other, death: Death, rules: Rules) -> Rejected:
    """Return the reject of a record whose inspection killed its process."""
    assert isinstance(element, RecordBatch)
    crashed = RecordError("crashed its process", f"{death}; leave it out")
    problem = too_slow(rules.max_seconds) if death.ran_out_of_time else crashed
    [source] = element.examples().sources
    return Rejected.of(source, problem)
