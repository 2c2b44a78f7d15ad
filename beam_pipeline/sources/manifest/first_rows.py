"""What the first rows of manifests show of their columns."""

import contextlib
import dataclasses
import functools
import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.columns.class_values import are_no_classes, is_stated
from beam_pipeline.sources.columns.column import FILE, ColumnFacts
from beam_pipeline.sources.columns.kinds import (
    Kind,
    ListOf,
    kind_of_json,
    kind_of_text,
    list_of_text,
    wider,
)
from beam_pipeline.sources.manifest.files import Manifest, split_folder
from beam_pipeline.sources.manifest.table import Form, Table
from beam_pipeline.sources.paths import kind_of_all

# So many rows of a manifest are looked at before the job starts, and read so many bytes at once.
_ROWS = 100
_BLOCK_BYTES = 1 << 16
# So many of a column's files are looked for, until one is there.
_FILES = 10
# So many different values of a column.
MOST_VALUES = 100


# Numbers and text; lists of these; objects, lists of objects, and whatever else no feature holds.
_FORMS = ("plain", "list", "object")


class FirstRow(NamedTuple):
    """One of the first rows of a manifest.

    Attributes:
        manifest: The file.
        line: The line that it starts on, from 1.
        values: By column.
    """

    manifest: Manifest
    line: int
    values: dict[str, Any]


FirstRows = Sequence[FirstRow]


# The kind of one value: of text in CSV, of any value in JSON Lines.
KindOf = Callable[[Any], Kind | None]


def first_rows(tables: Iterable[Table]) -> FirstRows:
    """The first rows of each manifest that are not malformed."""
    return [row for table in tables for row in itertools.islice(_rows(table), _ROWS)]


def texts_of(rows: FirstRows) -> dict[str, list[str]]:
    """What the columns of the first rows have of short texts, each value once."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, value in row.values.items():
            if (isinstance(value, str) and value.strip()) or type(value) is int:
                found.setdefault(name, {})[str(value).strip()] = None
    return {name: list(values)[:MOST_VALUES] for name, values in found.items()}


def _rows(table: Table) -> Iterator[FirstRow]:
    for batch in table.batches(0, sys.maxsize, _BLOCK_BYTES):
        for line, values in zip(batch.lines, batch.by_row(), strict=True):
            yield FirstRow(table.manifest, line + 1, values)


@dataclasses.dataclass(frozen=True)
class Seen:
    """Tables, and what their first rows show.

    Attributes:
        tables: The tables.
        rows: The first of each.
    """

    tables: Sequence[Table]
    rows: FirstRows

    @classmethod
    def of(cls, tables: Sequence[Table]) -> "Seen":
        """These tables, with their first rows."""
        return cls(tables, first_rows(tables))

    @functools.cached_property
    def names(self) -> Mapping[str, None]:
        """The columns that the tables state, or else that the rows have."""
        tables = (table for table in self.tables if table.header)
        stated = {name: None for table in tables for name in table.cells.names(table.header)}
        return stated or {name: None for row in self.rows for name in row.values if name}

    @property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """What the columns have of short texts, each value once."""
        return texts_of(self.rows)

    def rows_of(self, table: Table) -> FirstRows:
        """The first rows of one of the tables."""
        return [row for row in self.rows if row.manifest == table.manifest]

    @functools.cached_property
    def forms(self) -> Mapping[str, Form]:
        """What the tables say of their columns; the first that has one says it."""
        return {name: form for table in reversed(self.tables) for name, form in table.forms.items()}

    @functools.cached_property
    def facts(self) -> ColumnFacts:
        """What the columns hold; a few files are looked for.

        Of each column the values of its form count: the others' rows are rejected when they are
        read.
        """
        kind_of = kind_of_json if self.tables[0].is_typed else kind_of_text
        held = {name: form.media for name, form in self.forms.items() if form.media}
        columns: dict[str, list[tuple[Manifest, Any, Kind | None, str]]] = {}
        for manifest, _, values_of_row in self.rows:
            for name, value in values_of_row.items():
                if is_stated(value):
                    kind = _kind(value, kind_of)
                    columns.setdefault(name, []).append((manifest, value, kind, _form(value, kind)))
        check_number(columns, "the rows")
        forms = {}
        for name, column in columns.items():
            of_values = [form for *_, form in column]
            forms[name] = max(_FORMS, key=of_values.count)  # in doubt the first of them
            columns[name] = [each for each in column if each[-1] == forms[name]]
        values = {name: [value for _, value, *_ in column] for name, column in columns.items()}
        kinds = {name: {kind for _, _, kind, _ in column} for name, column in columns.items()}
        texts = {
            name: [value.strip() if isinstance(value, str) else "" for value in column]
            for name, column in values.items()
        }
        media = {
            name: called for name, of_column in texts.items() if (called := kind_of_all(of_column))
        }
        files = {
            name
            for name, column in values.items()
            if name.strip().lower() in FILE and name not in media
            if all(isinstance(value, str) for value in column)
        }
        numbers = {name for name, of_column in kinds.items() if of_column <= {int, float}}
        lists = {
            name
            for name, of_column in kinds.items()
            if isinstance(functools.reduce(wider, of_column), ListOf) and None not in of_column
        }
        return ColumnFacts(
            nonempty=set(values),
            nested={name for name, form in forms.items() if form != "plain"},
            objects={name for name, form in forms.items() if form == "object"},
            lists=lists,
            media={**media, **held},
            files={*held, *(name for name in media if _any_exists(columns[name]))},
            absent={name for name in files if not _any_exists(columns[name])},
            repeated={name for name in media if len(set(values[name])) < len(values[name])},
            fours={name for name in lists if _are_fours(values[name])},
            numbers=numbers,
            no_classes={name for name in numbers | lists if are_no_classes(values[name])},
        )


def _form(value: Any, kind: Kind | None) -> str:
    if not isinstance(value, list | dict):
        return "plain"
    return "list" if isinstance(kind, ListOf) else "object"


def unlabelled(rows: FirstRows, columns: Collection[str]) -> frozenset[str]:
    """The manifests that have nothing in these columns of labels, where others have something."""
    stated: dict[str, bool] = {}
    for manifest, _, values in rows:
        has_label = any(map(is_stated, map(values.get, columns)))
        stated[manifest.relative] = stated.get(manifest.relative, False) or has_label
    without = frozenset(name for name, has_label in stated.items() if not has_label)
    return without if len(without) < len(stated) else frozenset()


def are_in_split_folders(rows: FirstRows, column: str) -> bool:
    """Whether the files that `column` names all lie in folders of splits.

    Not where a manifest states its split itself.
    """
    splits = set(split_folders_of((row.manifest, row.values.get(column)) for row in rows))
    return bool(splits) and None not in splits and not any(row.manifest.split for row in rows)


def split_folders_of(names: Iterable[tuple[Manifest, Any]]) -> Iterator[str | None]:
    """The folders of splits in which files lie that manifests name; None for one in none."""
    for manifest, name in names:
        if isinstance(name, str) and name.strip():
            with contextlib.suppress(RecordError):  # is rejected when the row is read
                yield split_folder(manifest.key_of(name))


def check_files(rows: FirstRows, columns: Iterable[str]) -> None:
    """Raises ConfigError where all files that one of these columns names lie outside the input."""
    for column in columns:
        errors = []
        for manifest, _, values in rows:
            name = values.get(column)
            if isinstance(name, str) and name.strip():
                try:
                    manifest.key_of(name)
                    break
                except RecordError as error:
                    errors.append(f"{manifest.relative}: column {column!r}: {error}")
        else:
            if errors:
                raise ConfigError(errors[0])


def _kind(value: Any, kind_of: KindOf) -> Kind | None:
    try:
        return kind_of(value)
    except RecordError:  # is rejected when the row is read
        return None


def _are_fours(values: Iterable[Any]) -> bool:
    """Whether most lists that hold something, in JSON or as texts, hold four numbers."""
    lists = [list_of_text(value) if isinstance(value, str) else value for value in values]
    are_four = [
        len(value) == 4 and all(isinstance(each, int | float) for each in value)
        for value in lists
        if value
    ]
    return sum(are_four) * 2 > len(are_four)


def _any_exists(column: Iterable[tuple[Manifest, str, Kind | None, str]]) -> bool:
    paths = (_path(manifest, name) for manifest, name, *_ in column)
    return any(map(is_there, itertools.islice(dict.fromkeys(filter(None, paths)), _FILES)))


def _path(manifest: Manifest, name: str) -> str:
    """Where the file of this name lies; "" outside the input, where nothing is looked for."""
    try:
        return manifest.path_of(name)
    except RecordError:
        return ""


def is_there(path: str) -> bool:
    """Whether a file is there; one that may not be looked for is not."""
    try:
        return storage.exists(path)
    except (PermissionError, ConfigError):  # such as a scheme that nothing here opens
        return False
