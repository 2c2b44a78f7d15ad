"""Values of examples as Arrow columns, the form in which they pass from a source to a shard.

A column of values is named after their form and their feature; it is null if an example lacks the
feature, or has a value of another form. Numbers, texts, classes and images have columns of their
own; other values are pickled one by one.

No Beam here: worker processes import this module.
"""

import dataclasses
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import pyarrow as pa

from beam_pipeline.records import (
    ClassLabel,
    Entry,
    Expectation,
    FileRef,
    Image,
    Record,
    Value,
    alike,
    made,
)

_TEXT = pa.large_string()
_SHA256_BYTES = 32
# Values that a column cannot hold: texts that are not UTF-8, numbers beyond 64 bits, other types.
_NOT_HELD = (UnicodeEncodeError, OverflowError, ValueError, TypeError)


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


_FILE = pa.struct(
    [
        ("path", _TEXT),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("sha256", pa.binary(_SHA256_BYTES)),
    ]
)


def _pack_files(values: Sequence[FileRef | None]) -> pa.Array:
    known = [value or _NO_FILE for value in values]
    return _struct(
        _FILE,
        values,
        [each.path for each in known],
        [each.offset for each in known],
        [each.length for each in known],
        [bytes.fromhex(each.sha256) if each.sha256 else None for each in known],
    )


def _unpack_files(column: pa.Array) -> list[Any]:
    paths, offsets, lengths, digests = (each.to_pylist() for each in column.flatten())
    return [
        None
        if path is None
        else made(
            FileRef,
            {
                "path": path,
                "offset": offset,
                "length": length,
                "sha256": digest.hex() if digest else "",
            },
        )
        for path, offset, length, digest in zip(paths, offsets, lengths, digests, strict=True)
    ]


_NO_FILE = FileRef(path="")
_IMAGE = pa.struct(
    [
        ("file", _FILE),
        ("format", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("channels", pa.int32()),
        ("bits", pa.int32()),
        ("conversions", pa.list_(pa.string())),
    ]
)
_IMAGE_FACTS = [field.name for field in _IMAGE][1:]


def _pack_images(values: Sequence[Image | None]) -> pa.Array:
    known = [value or _NO_IMAGE for value in values]
    facts = [[getattr(each, name) for each in known] for name in _IMAGE_FACTS]
    facts[-1] = [each or None for each in facts[-1]]
    return _struct(_IMAGE, values, _pack_files([each.file for each in known]), *facts)


def _unpack_images(column: pa.Array) -> list[Any]:
    files, *facts = column.flatten()
    columns = [_unpack_files(files), *(each.to_pylist() for each in facts)]
    return [
        None
        if file is None
        else made(
            Image,
            {
                "file": file,
                "format": encoding,
                "width": width,
                "height": height,
                "channels": channels,
                "bits": bits,
                "conversions": tuple(conversions or ()),
            },
        )
        for file, encoding, width, height, channels, bits, conversions in zip(*columns, strict=True)
    ]


_NO_IMAGE = Image(file=_NO_FILE)


def _struct(dtype: pa.DataType, values: Sequence[Any], *columns: Any) -> pa.Array:
    """Return a struct of columns, null where a value is None."""
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, dtype, strict=True)
    ]
    mask = pa.array([value is None for value in values]) if None in values else None
    return pa.StructArray.from_arrays(arrays, fields=list(dtype), mask=mask)


_OBJECTS = Form("object", pa.large_binary(), _pack_objects, _unpack_objects)
_FORMS: dict[type, Form] = {
    int: _plain("int64", pa.int64()),
    float: _plain("float64", pa.float64()),
    str: _plain("text", _TEXT),
    ClassLabel: Form("class", _TEXT, _pack_classes, _unpack_classes),
    Image: Form("image", _IMAGE, _pack_images, _unpack_images),
}
_NAMED = {form.name: form for form in (*_FORMS.values(), _OBJECTS)}
_PREFIXES = tuple(f"{name}:" for name in _NAMED)
_INLINE = tuple(f"{_FORMS[each].name}:" for each in (int, float, str, ClassLabel))


# The fields of a record without its features: their forms, and the values that need no column.
_FIELDS: dict[str, tuple[Form, Any]] = {
    "key": (_FORMS[str], None),
    "source": (_FORMS[str], ""),
    "split": (_FORMS[str], None),
    "group": (_FORMS[str], None),
    "source_id": (_FORMS[str], ""),
    "notes": (_OBJECTS, dict[str, int]()),
    "example": (Form("file", _FILE, _pack_files, _unpack_files), None),
}


def field_columns(records: Sequence[Entry], names: Iterable[str]) -> dict[str, pa.Array]:
    """Return columns of these fields, except those that all records lack.

    Raises:
        ValueError, TypeError: A column cannot hold a value.
    """
    columns: dict[str, pa.Array] = {}
    for name in names:
        form, _ = _FIELDS[name]
        values = [getattr(record, name) or None for record in records]
        if any(values):
            if form.dtype == _TEXT and not set(map(type, values)) <= {str, type(None)}:
                raise TypeError(name)  # Arrow would take bytes for a text
            columns[name] = form.pack(values)
    return columns


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


def may_have_files(table: pa.Table) -> bool:
    """Whether examples may have to be read from files once more."""
    return "example" in table.column_names or not all(
        name.startswith(_INLINE) for name in column_names(table)
    )


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


def features_by_row(table: pa.Table) -> Iterator[dict[str, Value]]:
    """Return the features of each example."""
    return by_row(values_by_feature(table), table.num_rows)


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


@dataclasses.dataclass(frozen=True)
class RecordBatch:
    """Records with the same features, as columns.

    Attributes:
        table: Fields that not all records lack, and values; no value is missing.
        expected: `Record.expected` of all records.
    """

    table: pa.Table
    expected: Mapping[str, Expectation] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, records: Sequence[Record]) -> Self | None:
        """Return records that are `alike` as columns; None if a field cannot be one."""
        features = {name: [each.features[name] for each in records] for name in records[0].features}
        try:
            columns = field_columns(records, _FIELDS) | value_columns(features)
        except _NOT_HELD:
            return None
        return cls(pa.table(columns), records[0].expected) if "key" in columns else None

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    @property
    def has_only_values(self) -> bool:
        """Whether the records have no files, and no fields that concern files or splits."""
        fields = set(self.table.column_names).difference(column_names(self.table))
        return fields <= {"key", "source", "split"} and not may_have_files(self.table)

    def records(self) -> Iterator[Record]:
        """Yield the records."""
        fields = {name: field(self.table, name) for name in _FIELDS}
        features = by_row(values_by_feature(self.table), len(self), are_complete=True)
        for values in zip(*fields.values(), features, strict=True):
            stated = dict(zip((*fields, "features"), values, strict=True))
            yield made(Record, stated | {"expected": self.expected})


def batches_of(records: Iterable[Record]) -> Iterator[RecordBatch | Record]:
    """Yield records as batches, or as they are if they cannot be columns."""
    groups: dict[int, list[Record]] = {}
    for record in records:
        groups.setdefault(id(record.expected) if record.expected else 0, []).append(record)
    for group in itertools.chain.from_iterable(map(alike, groups.values())):
        batch = RecordBatch.of(group)
        yield from [batch] if batch else group


_SCALARS = {int, float, str, ClassLabel}


def rows_of(
    keys: Sequence[str],
    sources: Sequence[str],
    splits: Sequence[str | None],
    features: Mapping[str, Sequence[Any]],
) -> RecordBatch | None:
    """Return rows as a batch; None if values are not single ones, or rows differ in features."""
    for values in features.values():
        types = set(map(type, values))
        if len(types) != 1 or not types <= _SCALARS:
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
