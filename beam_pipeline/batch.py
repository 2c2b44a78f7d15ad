"""Values of examples as Arrow columns, the form in which they pass from a source to a shard.

A column of values is named after their form and their feature; it is null if an example lacks the
feature, or has a value of another form. Arrays, objects and summaries of existing Examples are
pickled one by one, as they consist of buffers of their own: 10,000 of 9.6 boxes took 0.18 s of CPU
time to pack and unpack, and 0.42 s as columns of lists.

No Beam here: worker processes import this module.
"""

import dataclasses
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, get_type_hints

import pyarrow as pa

from beam_pipeline.errors import RecordError, attempts
from beam_pipeline.records import (
    Audio,
    ClassLabel,
    ClassLabels,
    Deferred,
    Expectation,
    FileRef,
    Image,
    Map,
    RawFile,
    Record,
    Rejected,
    Value,
    alike,
    made,
)

_TEXT = pa.large_string()
_SHA256_BYTES = 32
# Below that, the columns of a batch cost more than their values.
_BYTES_PER_COLUMN = 1 << 10
READ = pa.ipc.IpcReadOptions(use_threads=False)
PLAIN = pa.ipc.IpcWriteOptions(use_threads=False)
# Values that a column cannot hold: texts that are not UTF-8, numbers beyond 64 bits, other types.
_NOT_HELD = (UnicodeEncodeError, OverflowError, ValueError, TypeError, AttributeError)


class Form(NamedTuple):
    """How values of one class are a column, in which None is null."""

    name: str
    dtype: pa.DataType
    pack: Callable[[Sequence[Any]], pa.Array]
    unpack: Callable[[pa.Array], list[Any]]


def _plain(name: str, dtype: pa.DataType) -> Form:
    return Form(name, dtype, lambda values: pa.array(values, dtype), pa.Array.to_pylist)


def _pack_classes(values: Sequence[ClassLabel | None]) -> pa.Array:
    return pa.array([value if value is None else value.name for value in values], _TEXT)


def _unpack_classes(column: pa.Array) -> list[ClassLabel | None]:
    names = column.to_pylist()
    labels: dict[str | None, ClassLabel | None] = {None: None}
    labels |= {name: ClassLabel(name) for name in dict.fromkeys(names) if name is not None}
    return [labels[name] for name in names]


def _pack_objects(values: Sequence[Any]) -> pa.Array:
    return pa.array(
        [
            value if value is None else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            for value in values
        ],
        pa.large_binary(),
    )


def _unpack_objects(column: pa.Array) -> list[Any]:
    return [data if data is None else pickle.loads(data) for data in column.to_pylist()]


def _pack_digests(values: Sequence[str]) -> pa.Array:
    digests = [bytes.fromhex(value) if value else None for value in values]
    return pa.array(digests, pa.binary(_SHA256_BYTES))


def _unpack_digests(column: pa.Array) -> list[str]:
    return [value.hex() if value else "" for value in column.to_pylist()]


def _pack_names(values: Sequence[tuple[str, ...] | None]) -> pa.Array:
    if not set(map(type, itertools.chain.from_iterable(filter(None, values)))) <= {str}:
        raise TypeError("not texts")  # Arrow would take bytes for a text
    return pa.array(values, pa.list_(_TEXT))


def _unpack_tuples(column: pa.Array) -> list[Any]:
    return [value if value is None else tuple(value) for value in column.to_pylist()]


def _pack_shared(values: Sequence[Any]) -> pa.Array:
    """Pickle objects that many rows have in common."""
    few = {id(value): value for value in values}
    data = {number: pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for number, value in few.items()}
    return pa.array([data[id(value)] for value in values], pa.large_binary())


def _unpack_shared(column: pa.Array) -> list[Any]:
    data = column.to_pylist()
    objects = {each: each and pickle.loads(each) for each in set(data)}
    return [objects[each] for each in data]


def _of_fields(value_class: type, **special: Form) -> Form:
    """Return the form of a dataclass by its annotations; its first field is never None."""
    hints = get_type_hints(value_class)
    fields = {each: special.get(each) or _OF_HINTS[hint] for each, hint in hints.items()}
    dtype = pa.struct([(each, form.dtype) for each, form in fields.items()])
    names = tuple(fields)

    def pack(values: Sequence[Any]) -> pa.Array:
        known = [value for value in values if value is not None] if None in values else values
        columns = [
            form.pack([getattr(value, each) for value in known]) for each, form in fields.items()
        ]
        packed = pa.StructArray.from_arrays(columns, fields=list(dtype))
        if len(known) == len(values):
            return packed
        rows = itertools.count()
        return packed.take(pa.array([None if each is None else next(rows) for each in values]))

    def unpack(column: pa.Array) -> list[Any]:
        pairs = zip(fields.values(), column.flatten(), strict=True)
        columns = [form.unpack(each) for form, each in pairs]
        return [
            None if row[0] is None else made(value_class, dict(zip(names, row, strict=True)))
            for row in zip(*columns, strict=True)
        ]

    return Form(value_class.__name__.lower(), dtype, pack, unpack)


_OBJECTS = Form("object", pa.large_binary(), _pack_objects, _unpack_objects)
_SHARED = Form("", pa.large_binary(), _pack_shared, _unpack_shared)
_DIGEST = Form("", pa.binary(_SHA256_BYTES), _pack_digests, _unpack_digests)
_NUMBERS = pa.list_(pa.int64())
_FORMS: dict[type, Form] = {
    int: _plain("int64", pa.int64()),
    float: _plain("float64", pa.float64()),
    str: _plain("text", _TEXT),
    bytes: _plain("bytes", pa.large_binary()),
    tuple: Form("texts", pa.list_(_TEXT), _pack_names, _unpack_tuples),
    ClassLabel: Form("class", _TEXT, _pack_classes, _unpack_classes),
}
_OF_HINTS: dict[Any, Form] = {
    **_FORMS,
    bool: _plain("", pa.bool_()),
    int | None: _FORMS[int],
    tuple[str, ...]: _FORMS[tuple],
    tuple[int, ...]: Form("", _NUMBERS, _plain("", _NUMBERS).pack, _unpack_tuples),
}
_FILE = _OF_HINTS[FileRef] = _of_fields(FileRef, sha256=_DIGEST)
_FORMS |= {each: _of_fields(each) for each in (ClassLabels, Image, Map, Audio, RawFile)}
_FORMS[Deferred] = _of_fields(Deferred, read=_SHARED)
_NAMED = {form.name: form for form in (*_FORMS.values(), _OBJECTS)}
_PREFIXES = tuple(f"{name}:" for name in _NAMED)
_WITHOUT_FILES = tuple(f"{_FORMS[each].name}:" for each in (int, float, str, bytes, ClassLabel))


# The fields of a record without its features: their forms, and the values that need no column.
_FIELDS: dict[str, tuple[Form, Any]] = {
    "key": (_FORMS[str], None),
    "source": (_FORMS[str], ""),
    "split": (_FORMS[str], None),
    "group": (_FORMS[str], None),
    "source_id": (_FORMS[str], ""),
    "notes": (_OBJECTS, dict[str, int]()),
    "example": (_FILE, None),
}


def field_columns(fields: Mapping[str, Sequence[Any]]) -> dict[str, pa.Array]:
    """Return columns of fields by name, except those that all records lack.

    Raises:
        RecordError: A value is not a text, or not UTF-8.
    """
    columns: dict[str, pa.Array] = {}
    for name, stated in fields.items():
        form, _ = _FIELDS[name]
        values = stated if name == "key" else [value or None for value in stated]
        if name == "key" or any(values):
            if form.dtype == _TEXT:
                _check_texts(name, values)
            columns[name] = form.pack(values)
    return columns


def _check_texts(name: str, values: Iterable[Any]) -> None:
    for text in values:
        if text is not None and not isinstance(text, str):
            raise RecordError("unsupported value", f"{name}: {text!r:.80}, which is not a text")
        try:
            _ = text is None or text.isascii() or text.encode()
        except UnicodeEncodeError as error:
            raise RecordError("not UTF-8", f"{name}: {text!a}") from error


def field(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a field, one per example."""
    form, nothing = _FIELDS[name]
    if name not in table.column_names:
        return [nothing] * table.num_rows
    values = form.unpack(table.column(name).combine_chunks())
    if nothing is None or None not in values:
        return values
    return [nothing if value is None else value for value in values]


def value_columns(features: Mapping[str, Sequence[Any]]) -> dict[str, pa.Array]:
    """Return the columns of each feature's values; None is a missing value."""
    columns: dict[str, pa.Array] = {}
    for feature, values in features.items():
        forms = {each: _FORMS.get(each, _OBJECTS) for each in set(map(type, values))}
        if len(forms) > 1:
            forms.pop(type(None), None)
        try:
            some = {form.name: form.pack(_only(values, forms, form)) for form in forms.values()}
        except _NOT_HELD:
            some = {_OBJECTS.name: _OBJECTS.pack(values)}
        columns.update((f"{form}:{feature}", column) for form, column in some.items())
    return columns


def _only(values: Sequence[Any], forms: Mapping[type, Form], form: Form) -> Sequence[Any]:
    """Return the values of a form, and None for others."""
    if len(set(forms.values())) == 1:
        return values
    return [value if forms.get(type(value)) is form else None for value in values]


def column_names(table: pa.Table) -> list[str]:
    """Return the names of the columns of values."""
    return [name for name in table.column_names if name.startswith(_PREFIXES)]


def values_by_feature(table: pa.Table) -> dict[str, list[Value | None]]:
    """Return the values of each feature, one per example; None if an example has none."""
    columns: dict[str, list[Value | None]] = {}
    for name in column_names(table):
        form, _, feature = name.partition(":")
        values = _NAMED[form].unpack(table.column(name).combine_chunks())
        if (others := columns.get(feature)) is not None:  # of another form
            values = [
                other if value is None else value
                for value, other in zip(values, others, strict=True)
            ]
        columns[feature] = values
    return columns


def by_row(
    columns: Mapping[str, Sequence[Any]], num_rows: int, *, are_complete: bool = False
) -> Iterator[dict[str, Value]]:
    """Return the values of each row by name, without those that are None for missing."""
    if not columns:
        return iter([{} for _ in range(num_rows)])
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True)
    if are_complete or not any(None in values for values in columns.values()):
        return (dict(zip(names, row, strict=True)) for row in rows)
    return (
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in rows
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Examples:
    """Examples as columns of values, in one process.

    Attributes:
        fields: Values by the name of a field of `Record`; once inspected, also "content_digest",
            "num_bytes" (approximate size in a shard) and "look" (`media.images.look_of`).
            A field that no example states may be missing.
        features: Values by feature; None for an example without it.
        deferred: By feature, the byte ranges of values that are not kept in memory.
        expected: `Record.expected` of all examples.
    """

    fields: Mapping[str, Sequence[Any]]
    features: Mapping[str, Sequence[Any]]
    deferred: Mapping[str, Sequence[Deferred]] = dataclasses.field(default_factory=dict)
    expected: Mapping[str, Expectation] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Return the examples of a table's rows."""
        names = _FIELDS.keys() & set(table.column_names)
        return cls({name: field(table, name) for name in names}, values_by_feature(table))

    @classmethod
    def with_files(cls, table: pa.Table) -> Self:
        """Return the examples with the values that may be files, to look at those."""
        kept = [name for name in table.column_names if not name.startswith(_WITHOUT_FILES)]
        return cls.of(table.select(kept))

    def __len__(self) -> int:
        return len(self.fields["key"])

    def field(self, name: str) -> Sequence[Any]:
        """Return the values of a field, one per example."""
        return self.fields.get(name) or [_FIELDS[name][1]] * len(self)

    @property
    def sources(self) -> Sequence[str]:
        """The source of each example, by default its key."""
        pairs = zip(self.field("source"), self.fields["key"], strict=True)
        return [source or key for source, key in pairs]

    def rows(self) -> Iterator[dict[str, Value]]:
        """Return the features of each example."""
        return by_row(self.features, len(self))

    def row(self, row: int) -> dict[str, Value]:
        """Return the features of one example."""
        values = ((name, column[row]) for name, column in self.features.items())
        return {name: value for name, value in values if value is not None}

    def taken(self, rows: Sequence[int]) -> Self:
        """Return some of the examples."""
        if len(rows) == len(self):
            return self
        fields, features, deferred = (
            {name: [values[row] for row in rows] for name, values in columns.items()}
            for columns in (self.fields, self.features, self.deferred)
        )
        return type(self)(fields, features, deferred, self.expected)


def most_bytes(num_columns: int, usual: int) -> int:
    """Return how many bytes a batch may have, so that it is not divided into many of few rows."""
    return max(usual, num_columns * _BYTES_PER_COLUMN)


def to_stream(table: pa.Table, options: pa.ipc.IpcWriteOptions = PLAIN) -> pa.Buffer:
    """Serialize a table, in a hundredth of the time of pickling one of 5,000 columns."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_stream(data: bytes | pa.Buffer) -> pa.Table:
    """Deserialize a table of any schema."""
    return pa.ipc.open_stream(data, options=READ).read_all()


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows; None is a missing value."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@dataclasses.dataclass(frozen=True)
class RecordBatch:
    """Records with the same features, as columns.

    Attributes:
        table: Fields that not all records lack, and values; no value is missing.
        expected: `Record.expected` of all records.
    """

    table: pa.Table
    expected: Mapping[str, Expectation] = dataclasses.field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return _record_batch, (to_stream(self.table), self.expected)

    @classmethod
    def of(cls, records: Sequence[Record]) -> Self:
        """Return records that are `alike` as columns; RecordError if a field has no column."""
        fields = {name: [getattr(each, name) for each in records] for name in _FIELDS}
        features = columns_of([each.features for each in records])
        table = pa.table(field_columns(fields) | value_columns(features))
        return cls(table, records[0].expected)

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    def records(self) -> Iterator[Record]:
        """Yield the records."""
        fields = {name: field(self.table, name) for name in _FIELDS}
        features = by_row(values_by_feature(self.table), len(self), are_complete=True)
        for values in zip(*fields.values(), features, strict=True):
            stated = dict(zip((*fields, "features"), values, strict=True))
            yield made(Record, stated | {"expected": self.expected})

    def examples(self) -> Examples:
        """Unpack the columns."""
        return dataclasses.replace(Examples.of(self.table), expected=self.expected)

    def one_by_one(self) -> Iterator[Self]:
        """Yield each record as a batch."""
        for row in range(len(self)):
            yield dataclasses.replace(self, table=self.table.slice(row, 1))


def _record_batch(stream: pa.Buffer, expected: Mapping[str, Expectation]) -> RecordBatch:
    return RecordBatch(from_stream(stream), expected)


def batches_of(records: Iterable[Record]) -> Iterator[RecordBatch | Rejected]:
    """Put the records of a source into columns; reject those whose fields have none."""
    groups: dict[int, list[Record]] = {}
    for record in records:
        groups.setdefault(id(record.expected) if record.expected else 0, []).append(record)
    for group in itertools.chain.from_iterable(map(alike, groups.values())):
        yield from _batches(group)


def _batches(records: Sequence[Record]) -> Iterator[RecordBatch | Rejected]:
    for some, batch in attempts(RecordBatch.of, records):
        if isinstance(batch, RecordError):
            yield Rejected.of(str(some[0].source or some[0].key), batch)
        else:
            yield batch


_SCALARS = {int, float, str, ClassLabel}


def rows_of(
    keys: Sequence[str],
    sources: Sequence[str],
    splits: Sequence[str | None],
    features: Mapping[str, Sequence[Any]],
) -> RecordBatch | None:
    """Return rows as a batch; None if values are not single ones, or rows differ in features.

    A column may have some of its values in byte ranges of files.
    """
    for values in features.values():
        types = set(map(type, values)) - {Deferred}
        if len(types) > 1 or not types <= _SCALARS:
            return None
    try:
        stated = {"key": keys, "source": sources, "split": splits}
        columns = {name: pa.array(values, _TEXT) for name, values in stated.items()}
    except UnicodeEncodeError:  # Inspect rejects such a row
        return None
    held = value_columns(features)
    if any(name.startswith(f"{_OBJECTS.name}:") for name in held):
        return None
    return RecordBatch(pa.table(columns | held))
