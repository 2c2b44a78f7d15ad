"""What the first rows of tables show of their columns."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.paths import kind_of_all
from beam_pipeline.sources.tables.labels import are_no_classes, is_stated
from beam_pipeline.sources.tables.names import FILE, lowered
from beam_pipeline.sources.tables.table import Batch, Form, Table, TableFile, batch_of_rows
from beam_pipeline.sources.tables.types import (
    Kind,
    ListOf,
    kind_of_json,
    kind_of_text,
    list_of_text,
    wider,
)
from tfrecord_dataset.format.split_names import split_of_folders

_ROWS = 100
# So many of a column's files are looked for, until one is there.
_FILES = 10
# So many different values of a column.
MOST_VALUES = 100
# Numbers and text; lists of these; objects, lists of objects, and whatever else no feature holds.
_FORMS = ("plain", "list", "object")


class FirstRow(NamedTuple):
    """One of the first rows of a table: its file, its line, and its values by column."""

    file: TableFile
    line: int
    values: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What the first rows hold, by column.

    Attributes:
        nonempty: Columns with any value.
        nested: Columns of JSON with a list or object.
        objects: Columns of JSON with an object, or with lists that no feature can hold.
        lists: Columns that hold lists of numbers or texts alone, in JSON or as text.
        media: Columns whose values all end like the names of files, with their kind.
        files: Columns of `media` of which some file exists.
        absent: Columns called like those of files whose values name none that exists.
        repeated: Columns of files with a file in several rows.
        fours: Columns that hold lists of four numbers, as of one box.
        numbers: Columns that hold numbers alone.
        no_classes: Columns whose values are no classes, whatever their name: there is a number
            with a fraction, a list in a list, or a list with a value twice.
    """

    nonempty: Collection[str] = ()
    nested: Collection[str] = ()
    objects: Collection[str] = ()
    lists: Collection[str] = ()
    media: Mapping[str, str] = dataclasses.field(default_factory=dict)
    files: Collection[str] = ()
    absent: Collection[str] = ()
    repeated: Collection[str] = ()
    fours: Collection[str] = ()
    numbers: Collection[str] = ()
    no_classes: Collection[str] = ()


@dataclasses.dataclass(frozen=True)
class Sample:
    """Tables, and what their first rows show.

    Attributes:
        tables: The tables.
        raw: The first rows of each, as they are.
        found: The kind of the files of columns that the index resolves.
    """

    tables: Sequence[Table]
    raw: Sequence[Batch]
    found: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, tables: Sequence[Table]) -> "Sample":
        """Read the first rows of tables that are not malformed."""
        return cls(tables, [_first_rows(table) for table in tables])

    def having(self, tables: Sequence[Table], found: Mapping[str, str] | None = None) -> "Sample":
        """Return the same rows of tables whose cells or files are resolved in another way."""
        return Sample(tables, self.raw, self.found if found is None else found)

    @functools.cached_property
    def rows(self) -> Sequence[FirstRow]:
        """The rows, with their cells prepared."""
        return [row for pair in zip(self.tables, self.raw, strict=True) for row in _prepared(*pair)]

    @functools.cached_property
    def names(self) -> Mapping[str, None]:
        """The columns that the tables state, or else that the rows have."""
        tables = (table for table in self.tables if table.header)
        stated = {name: None for table in tables for name in table.cells.names(table.header)}
        return stated or {name: None for row in self.rows for name in row.values if name}

    @functools.cached_property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """What the columns have of short texts and whole numbers, each value once."""
        return texts_of(self.rows)

    def rows_of(self, table: Table) -> Sequence[FirstRow]:
        """Return the first rows of one of the tables."""
        return [row for row in self.rows if row.file == table.file]

    @functools.cached_property
    def forms(self) -> Mapping[str, Form]:
        """What the tables say of their columns; the first that has one says it."""
        return {name: form for table in reversed(self.tables) for name, form in table.forms.items()}

    @functools.cached_property
    def facts(self) -> ColumnFacts:
        """What the columns hold; a few files are looked for.

        Of each column the values of its most frequent form count: rows with others are rejected
        when they are read.
        """
        kind_of = kind_of_json if self.tables[0].is_typed else kind_of_text
        columns: dict[str, list[tuple[TableFile, Any, Kind | None, str]]] = {}
        for file, _, values_of_row in self.rows:
            for name, value in values_of_row.items():
                if is_stated(value):
                    kind = None
                    with contextlib.suppress(RecordError):  # it is rejected when it is read
                        kind = kind_of(value)
                    columns.setdefault(name, []).append((file, value, kind, _form(value, kind)))
        check_number(columns, "the rows")
        forms: dict[str, str] = {}
        for name, column in columns.items():
            of_values = [form for *_, form in column]
            forms[name] = max(_FORMS, key=of_values.count)  # in doubt the first of them
            columns[name] = [each for each in column if each[-1] == forms[name]]
        values = {name: [value for _, value, *_ in column] for name, column in columns.items()}
        kinds = {name: {kind for _, _, kind, _ in column} for name, column in columns.items()}
        held = {name: form.media for name, form in self.forms.items() if form.media}
        media = {
            name: called
            for name, of_column in values.items()
            if (called := kind_of_all(map(_text, of_column)))
        } | dict(self.found)
        numbers = {name for name, of_column in kinds.items() if of_column <= {int, float}}
        lists = {
            name
            for name, of_column in kinds.items()
            if isinstance(functools.reduce(wider, of_column), ListOf) and None not in of_column
        }
        there = {
            name
            for name, column in columns.items()
            if name in media or lowered(name) in FILE
            if any_exists((file, _text(value)) for file, value, *_ in column)
        }
        return ColumnFacts(
            nonempty=set(values),
            nested={name for name, form in forms.items() if form != "plain"},
            objects={name for name, form in forms.items() if form == "object"},
            lists=lists,
            media={**media, **held},
            files={*held, *there.intersection(media), *self.found},
            absent={
                name
                for name in set(values).difference(there, media)
                if lowered(name) in FILE and all(isinstance(each, str) for each in values[name])
            },
            repeated={name for name in media if len(set(values[name])) < len(values[name])},
            fours={name for name in lists if _are_fours(values[name])},
            numbers=numbers,
            no_classes={name for name in numbers | lists if are_no_classes(values[name])},
        )

    def is_numeric(self, column: str) -> bool:
        """Return whether a column has numbers alone."""
        return column in self.facts.numbers

    @property
    def headers(self) -> Mapping[str, Sequence[str]]:
        """The header of each table that has one, by the table's path."""
        return {table.file.relative: table.header for table in self.tables if table.header}

    def unlabelled(self, columns: Collection[str]) -> frozenset[str]:
        """Return the tables that have nothing in columns of labels, if others have something."""
        stated: dict[str, bool] = {}
        for file, _, values in self.rows:
            has_label = any(map(is_stated, map(values.get, columns)))
            stated[file.relative] = stated.get(file.relative, False) or has_label
        without = frozenset(name for name, has_label in stated.items() if not has_label)
        return without if len(without) < len(stated) else frozenset()

    def are_in_split_folders(self, column: str) -> bool:
        """Return whether all files of a column are in folders of splits, and no table has one."""
        splits = set(split_folders((row.file, row.values.get(column)) for row in self.rows))
        return bool(splits) and None not in splits and not any(row.file.split for row in self.rows)

    def check_inside(self, columns: Iterable[str]) -> None:
        """Raise ConfigError if all files that one of these columns names are outside the input."""
        for column in columns:
            names = [
                (row.file, row.values[column])
                for row in self.rows
                if isinstance(row.values.get(column), str) and row.values[column].strip()
            ]
            errors = [error for file, name in names if (error := _error_of(file, name))]
            if errors and len(errors) == len(names):
                raise ConfigError(f"{names[0][0].relative}: column {column!r}: {errors[0]}")


def _first_rows(table: Table) -> Batch:
    rows = [
        (line, values)
        for batch in table.head()
        for line, values in zip(batch.lines, batch.by_row(), strict=True)
    ][:_ROWS]
    return batch_of_rows([values for _, values in rows], [line for line, _ in rows])


def _prepared(table: Table, raw: Batch) -> Iterator[FirstRow]:
    columns = dict(raw.columns)
    table.cells.prepare(columns, table.missing)
    stated = [set(row) for row in raw.keys]
    made = columns.keys() - raw.columns.keys()
    rows = dataclasses.replace(raw, columns=columns).by_row()
    for at, (line, values) in enumerate(zip(raw.lines, rows, strict=True)):
        if stated:
            values = {name: each for name, each in values.items() if name in stated[at] | made}
        yield FirstRow(table.file, line, values)


def texts_of(rows: Iterable[FirstRow]) -> dict[str, list[str]]:
    """Return what the columns of rows have of short texts and whole numbers, each value once."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, value in row.values.items():
            if (isinstance(value, str) and value.strip()) or type(value) is int:
                found.setdefault(name, {})[str(value).strip()] = None
    return {name: list(values)[:MOST_VALUES] for name, values in found.items()}


def split_folders(names: Iterable[tuple[TableFile, Any]]) -> Iterator[str | None]:
    """Return the folder of a split for each file that a table names; None for one in none."""
    for file, name in names:
        if isinstance(name, str) and name.strip():
            with contextlib.suppress(RecordError):  # it is rejected when the row is read
                yield split_folder(file.key_of(name))


def split_folder(key: str) -> str | None:
    """Return the split that the folders of a file below the input state; None for one elsewhere."""
    elsewhere = key.startswith(("/", "../")) or storage.is_remote(key)
    return None if elsewhere else split_of_folders(key)


def any_exists(names: Iterable[tuple[TableFile, str]]) -> bool:
    """Return whether one of the first few files exists."""
    paths = (file.path_of(name) for file, name in names if name and not _error_of(file, name))
    return any(map(is_there, itertools.islice(dict.fromkeys(paths), _FILES)))


def is_there(path: str) -> bool:
    """Return whether a file exists; one that may not be looked for does not."""
    try:
        return storage.exists(path)
    except (PermissionError, ConfigError):  # such as a scheme that nothing here opens
        return False


def _error_of(file: TableFile, name: str) -> RecordError | None:
    try:
        file.key_of(name)
    except RecordError as error:
        return error
    return None


def _form(value: Any, kind: Kind | None) -> str:
    if not isinstance(value, list | dict):
        return "plain"
    return "list" if isinstance(kind, ListOf) else "object"


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _are_fours(values: Iterable[Any]) -> bool:
    """Return whether most lists that hold something hold four numbers."""
    lists = [list_of_text(value) if isinstance(value, str) else value for value in values]
    are_four = [
        len(value) == 4 and all(isinstance(each, int | float) for each in value)
        for value in lists
        if value
    ]
    return sum(are_four) * 2 > len(are_four)
