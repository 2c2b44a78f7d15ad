"""First rows of tables, with statistics of each column."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.paths import kind_of_all
from beam_pipeline.sources.tables.infer import profiles_of_columns
from beam_pipeline.sources.tables.table import Batch, ColumnDeclaration, Table, TableFile
from beam_pipeline.sources.tables.types import (
    Kind,
    ListOf,
    are_no_classes,
    is_stated,
    kind_of_json,
    list_of_text,
)
from beam_pipeline.sources.tables.usual_columns import FILE, lowered
from tfrecord_dataset.cells import is_missing_number, stripped
from tfrecord_dataset.format.split_names import split_of_folders

_ROWS = 100
# Maximum number of a column's files to look for.
_FILES = 10
_TEXTS = 100
# Numbers and text; lists of these; objects, lists of objects, and all other values.
_FORMS = ("plain", "list", "object")


class FirstRow(NamedTuple):
    """One of the first rows of a table: the table's file, and values by column."""

    file: TableFile
    values: dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnSample:
    """Values of a column in the first rows.

    Only values of the most frequent form count; rows with others are rejected later.

    Attributes:
        values: The values, without missing ones.
        kind: The kind that holds them all; None for lists or objects that no feature can hold.
        form: "plain", "list", or "object" for all others.
        media: The kind of files that all values name or are; "" if they are not files.
        exists: Whether one of these files exists.
        texts: The distinct texts and whole numbers, or the first few.
    """

    values: Sequence[Any] = ()
    kind: Kind | None = None
    form: str = "plain"
    media: str = ""
    exists: bool = False
    texts: Sequence[str] = ()

    @property
    def is_nested(self) -> bool:
        """Whether values are JSON lists or objects."""
        return self.form != "plain"

    @property
    def is_numeric(self) -> bool:
        """Whether values are numbers."""
        return self.kind in (int, float)

    @property
    def is_list(self) -> bool:
        """Whether values are lists of numbers or texts, in JSON or as text."""
        return isinstance(self.kind, ListOf)

    @property
    def repeats(self) -> bool:
        """Whether a file occurs in several rows."""
        return bool(self.media) and len(set(self.values)) < len(self.values)

    @property
    def are_fours(self) -> bool:
        """Whether most lists that are not empty hold four numbers, as for one box."""
        if not self.is_list:
            return False
        lists = [list_of_text(value) if isinstance(value, str) else value for value in self.values]
        are_four = [
            len(each) == 4 and all(isinstance(number, int | float) for number in each)
            for each in lists
            if each
        ]
        return sum(are_four) * 2 > len(are_four)

    @functools.cached_property
    def are_no_classes(self) -> bool:
        """Whether numbers or lists cannot be classes, whatever the column's name."""
        return (self.is_numeric or self.is_list) and are_no_classes(self.values)


_NOTHING = ColumnSample()
# A value of a column, and the table's file.
_Stated = tuple[TableFile, Any]


@dataclasses.dataclass(frozen=True)
class Sample:
    """Tables, and their first rows.

    Attributes:
        tables: The tables.
        raw: The first rows of each table, unprepared.
        found: The kind of files, by column that the file index resolves.
    """

    tables: Sequence[Table]
    raw: Sequence[Batch]
    found: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def with_cells(self, **changes: Any) -> "Sample":
        """Return the same rows with another preparation of cells."""
        tables = [
            dataclasses.replace(table, cells=dataclasses.replace(table.cells, **changes))
            for table in self.tables
        ]
        return Sample(tables, self.raw, self.found)

    @functools.cached_property
    def rows(self) -> Sequence[FirstRow]:
        """The rows with prepared cells."""
        rows = []
        for table, raw in zip(self.tables, self.raw, strict=True):
            columns = dict(raw.columns)
            table.cells.prepare(columns, table.missing)
            prepared = dataclasses.replace(raw, columns=columns)
            rows += [FirstRow(table.file, values) for values in prepared.by_row()]
        return rows

    @functools.cached_property
    def names(self) -> Mapping[str, None]:
        """The columns in the tables' headers, else in the rows."""
        tables = (table for table in self.tables if table.header)
        stated = {name: None for table in tables for name in table.cells.names(table.header)}
        return stated or {name: None for row in self.rows for name in row.values if name}

    @functools.cached_property
    def declarations(self) -> Mapping[str, ColumnDeclaration]:
        """Declarations of columns by the tables themselves; the first table with one decides."""
        return {
            name: declared
            for table in reversed(self.tables)
            for name, declared in table.declarations.items()
        }

    def column(self, name: str) -> ColumnSample:
        """Return the sample of a column, which may be empty."""
        return self.columns.get(name, _NOTHING)

    @functools.cached_property
    def columns(self) -> Mapping[str, ColumnSample]:
        """Samples of columns with any value; looks for a few of their files."""
        stated: dict[str, list[_Stated]] = {}
        for file, values in self.rows:
            for name, value in values.items():
                if is_stated(value):
                    stated.setdefault(name, []).append((file, value))
        check_number(stated, "the rows")
        usual = {name: _usual(values) for name, values in stated.items()}
        kinds = self._kinds(usual)
        return {
            name: self._column(name, values, *usual[name], kinds.get(name))
            for name, values in stated.items()
        }

    def _kinds(
        self, columns: Mapping[str, tuple[str, Sequence[_Stated]]]
    ) -> dict[str, Kind | None]:
        """Return the kinds that hold the values of columns; words among numbers are missing."""
        values = {
            name: [value for _, value in usual]
            for name, (form, usual) in columns.items()
            if form != "object"
        }
        are_texts = not any(table.is_typed for table in self.tables)
        return {
            name: profile.kind if profile.are_numbers else profile.widest
            for name, profile in profiles_of_columns(values, are_texts=are_texts).items()
        }

    def _column(
        self,
        name: str,
        stated: Sequence[_Stated],
        form: str,
        usual: Sequence[_Stated],
        kind: Kind | None,
    ) -> ColumnSample:
        if kind in (int, float):  # words such as "NA" are missing values
            usual = stated = [each for each in usual if not _is_word(each[1])]
        held = self.declarations[name].media if name in self.declarations else ""
        names = [(file, stripped(value)) for file, value in usual]
        media = held or self.found.get(name) or kind_of_all(text for _, text in names)
        is_there = bool(held) or name in self.found
        if not is_there and (media or lowered(name) in FILE):
            is_there = _any_exists(names)
        texts = [value for _, value in stated if isinstance(value, str) or type(value) is int]
        return ColumnSample(
            values=[value for _, value in usual],
            kind=kind,
            form=form,
            media=media,
            exists=is_there,
            texts=[*dict.fromkeys(str(value).strip() for value in texts)][:_TEXTS],
        )

    @property
    def headers(self) -> Mapping[str, Sequence[str]]:
        """Headers of the tables that have one, by path."""
        return {table.file.relative: table.header for table in self.tables if table.header}

    def are_in_split_folders(self, column: str) -> bool:
        """Return whether all files of a column are in folders of splits, and tables have none."""
        splits: set[str | None] = set()
        for file, values in self.rows:
            if isinstance(name := values.get(column), str) and name.strip():
                with contextlib.suppress(RecordError):  # rejected when the row is read
                    splits.add(split_folder(file.key_of(name)))
        return bool(splits) and None not in splits and not any(row.file.split for row in self.rows)

    def check_inside(self, columns: Iterable[str]) -> None:
        """Raise ConfigError if all files of one of these columns are outside the input."""
        for column in columns:
            values = ((file, stripped(values.get(column))) for file, values in self.rows)
            names = [(file, name) for file, name in values if name]
            errors = [error for file, name in names if (error := _error_of(file, name))]
            if errors and len(errors) == len(names):
                raise ConfigError(f"{names[0][0].relative}: column {column!r}: {errors[0]}")


def first_rows(table: Table) -> Batch:
    """Read the first rows of a table, unprepared; raise DataError if they cannot be read."""
    try:
        first = next((batch for batch in table.rows() if batch.lines), None)
    except RecordError as error:
        raise DataError(f"{table.file.path}: {error}") from error
    return (
        table.without_headers(first.take(range(min(_ROWS, len(first)))))
        if first
        else Batch(columns={}, lines=())
    )


def split_folder(key: str) -> str | None:
    """Return the split in the folders of a file; None outside the input."""
    elsewhere = key.startswith(("/", "../")) or storage.is_remote(key)
    return None if elsewhere else split_of_folders(key)


def _any_exists(names: Iterable[tuple[TableFile, str]]) -> bool:
    # A row whose file is outside the input is rejected when it is read.
    paths = (file.path_of(name) for file, name in names if name and not _error_of(file, name))
    return any(map(_is_there, itertools.islice(dict.fromkeys(paths), _FILES)))


def _error_of(file: TableFile, name: str) -> RecordError | None:
    try:
        file.key_of(name)
    except RecordError as error:
        return error
    return None


def _is_there(path: str) -> bool:
    """Return whether a file exists; False if it must not be looked up."""
    try:
        return storage.exists(path)
    except (PermissionError, ConfigError):  # such as an unsupported scheme
        return False


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and is_missing_number(value)


def _usual(stated: Sequence[_Stated]) -> tuple[str, Sequence[_Stated]]:
    """Return the most frequent form of a column's values, and the values of it."""
    forms = [_form(value) for _, value in stated]
    form = max(_FORMS, key=forms.count)  # in a tie, the first one
    return form, [each for each, its_form in zip(stated, forms, strict=True) if its_form == form]


def _form(value: Any) -> str:
    if not isinstance(value, list | dict):
        return "plain"
    with contextlib.suppress(RecordError):  # rejected when the row is read
        kind_of_json(value)
        return "list"
    return "object"
