"""First rows of tables, with statistics of each column."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.paths import kind_of_all
from beam_pipeline.sources.tables.survey import profiles_of_columns
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

_Cells = Sequence[tuple[TableFile, Any]]
"""Values of a column, with the files of their tables."""


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
    def rows(self) -> Sequence[Batch]:
        """The first rows of each table with prepared cells."""
        return [
            table.cells.prepared(raw, table.missing)
            for table, raw in zip(self.tables, self.raw, strict=True)
        ]

    def values(self, name: str) -> list[Any]:
        """Return the values of a column in all rows; None in tables without it."""
        return [value for rows in self.rows for value in rows.column(name)]

    def cells(self, name: str) -> list[tuple[TableFile, Any]]:
        """Return the values of a column that are stated, with the files of their tables."""
        return [
            (table.file, value)
            for table, rows in zip(self.tables, self.rows, strict=True)
            for value in rows.column(name)
            if is_stated(value)
        ]

    @functools.cached_property
    def names(self) -> Mapping[str, None]:
        """The columns in the tables' headers, else in the rows."""
        tables = (table for table in self.tables if table.header)
        stated = {name: None for table in tables for name in table.cells.names(table.header)}
        return stated or {name: None for rows in self.rows for name in rows.columns if name}

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
        names = dict.fromkeys(name for rows in self.rows for name in rows.columns)
        stated = {name: cells for name in names if (cells := self.cells(name))}
        check_number(stated, "the rows")
        usual = {name: _usual(cells) for name, cells in stated.items()}
        lists = {name: [value for _, value in cells] for name, (_, cells) in usual.items()}
        plain = {name: values for name, values in lists.items() if usual[name][0] != "object"}
        are_texts = not any(table.is_typed for table in self.tables)
        kinds = {  # words among numbers are missing
            name: profile.kind if profile.are_numbers else profile.widest
            for name, profile in profiles_of_columns(plain, are_texts=are_texts).items()
        }
        return {
            name: self._column(name, cells, *usual[name], kinds.get(name))
            for name, cells in stated.items()
        }

    def _column(
        self, name: str, stated: _Cells, form: str, usual: _Cells, kind: Kind | None
    ) -> ColumnSample:
        if kind in (int, float):  # words such as "NA" are missing values
            usual = stated = [cell for cell in usual if not _is_word(cell[1])]
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
        for file, name in self.cells(column):
            if isinstance(name, str):
                with contextlib.suppress(RecordError):  # rejected when the row is read
                    splits.add(split_folder(file.key_of(name)))
        return bool(splits) and None not in splits and not any(t.file.split for t in self.tables)

    def check_inside(self, columns: Iterable[str]) -> None:
        """Raise ConfigError if all files of one of these columns are outside the input."""
        for column in columns:
            names = [(file, name) for file, cell in self.cells(column) if (name := stripped(cell))]
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


def _usual(stated: _Cells) -> tuple[str, _Cells]:
    """Return the most frequent form of a column's values, and the values of it."""
    forms = [_form(value) for _, value in stated]
    form = max(_FORMS, key=forms.count)  # in a tie, the first one
    return form, [*itertools.compress(stated, map(form.__eq__, forms))]


def _form(value: Any) -> str:
    if not isinstance(value, list | dict):
        return "plain"
    with contextlib.suppress(RecordError):  # rejected when the row is read
        kind_of_json(value)
        return "list"
    return "object"
