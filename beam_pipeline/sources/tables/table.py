"""A table: one file of rows, read in batches of columns, and the preparation of its cells.

To add a kind of table, subclass `Table`, and `read_tables.ReadTables` to open it.
"""

import abc
import dataclasses
import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from beam_pipeline.errors import RecordError, attempts
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.file_index import FileIndex
from beam_pipeline.sources.paths import below
from beam_pipeline.sources.tables.parts import WHOLE, Part, divided
from beam_pipeline.sources.tables.types import class_name, classes_marked
from beam_pipeline.sources.tree import NOTHING, Ignored, NamingFile
from beam_pipeline.sources.unpacking import place_of
from tfrecord_dataset.cells import stripped, with_point
from tfrecord_dataset.format.inflation import MAX_ROWS, check_rows

# Maximum rows of a batch, and its target size.
BATCH_ROWS = 1024
BATCH_BYTES = 8 << 20
_NUMBER = re.compile(r"#\d+$")


_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Cells:
    """Preparation of cells before conversion.

    Attributes:
        missing: Texts that mean a missing value.
        column: The column that gets the path from `template`; "" for none.
        template: The path in parts: literal text and the column after it, "" for none.
        commas: Columns whose numbers have decimal commas, and are written with points.
        numbered: A column whose values end with the number of the row, "x.jpg#0"; "" for none.
        classes: Columns of one class each with 1, and 0 or -1; replaced by `label`, a column with
            the names of a row's classes.
        as_json: Columns of objects, which become JSON text.
    """

    missing: frozenset[str] = frozenset()
    column: str = ""
    template: tuple[tuple[str, str], ...] = ()
    commas: frozenset[str] = frozenset()
    numbered: str = ""
    as_json: frozenset[str] = frozenset()
    classes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The column that replaces `classes`; "" if there are none."""
        few = (*self.classes[:2], "…", self.classes[-1]) if self.classes[4:] else self.classes
        return ", ".join(few)

    def names(self, names: Iterable[str]) -> dict[str, None]:
        """Return the columns after preparation."""
        kept = [name for name in names if name not in self.classes]
        return dict.fromkeys(filter(None, (*kept, self.column, self.label)))

    def prepared(self, rows: "Batch", missing: str | None) -> "Batch":
        """Return rows with prepared cells; `missing` replaces missing values."""
        columns = dict(rows.columns)
        for name, values in rows.columns.items():
            for change in self._changes(name, missing):
                columns[name] = values = list(map(change, values))
        if self.classes and columns:
            has_classes = any(name in columns for name in self.classes)
            marks = [columns.pop(name, [missing] * len(rows)) for name in self.classes]
            columns[self.label] = [
                classes_marked(self.classes, values) if has_classes else missing
                for values in zip(*marks, strict=True)
            ]
        if self.column and columns:
            used = [name for _, name in self.template if name]
            parts = [map(class_name, columns.get(name, [None] * len(rows))) for name in used]
            columns[self.column] = [self._path(texts) for texts in zip(*parts, strict=True)]
        return dataclasses.replace(rows, columns=columns)

    def _changes(self, name: str, missing: str | None) -> Iterator[Callable[[Any], Any]]:
        """Yield the functions to apply to each value of a column, in order."""
        if name in self.as_json:
            yield json_text
        if self.missing:
            yield lambda value: missing if stripped(value) in self.missing else value
        if name in self.commas:
            yield with_point
        if self.numbered and name == self.numbered:
            yield lambda value: _NUMBER.sub("", value)

    def _path(self, texts: Sequence[str]) -> str:
        if not all(texts):
            return ""
        behind = iter(texts)
        return "".join(literal + (next(behind) if name else "") for literal, name in self.template)


def json_text(value: Any) -> str | None:
    """Return a value as JSON; None if it is missing."""
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(NamingFile):
    """A file of rows.

    Attributes:
        folder: The folder that paths in the table are relative to.
        by_index: Whether names in the table are resolved by an index of the files below `root`.
        near: The split whose folders the index prefers; "" for none.
        ignored: Files that the index leaves out.
    """

    folder: str
    by_index: bool = False
    near: str = ""
    ignored: Ignored = NOTHING

    def key_of(self, name: str) -> str:
        """Return the key of the file that the table calls `name`; raises as `locate`."""
        return self._located(name)[0]

    def path_of(self, name: str) -> str:
        """Return the path of the file that the table calls `name`; raises as `locate`."""
        return self._located(name)[1]

    def _located(self, name: str) -> tuple[str, str]:
        index = FileIndex.of(self.root, self.ignored) if self.by_index else None
        if index and (key := index.find(name, self.near)):
            return key, below(self.root, key)
        return self.locate(name, self.folder)


@dataclasses.dataclass(frozen=True, slots=True)
class BadRow:
    """An unreadable row: its number as in `Batch.lines`, and why it is rejected."""

    line: int
    detail: str
    reason: str = "malformed annotation"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Consecutive rows, as columns.

    Attributes:
        columns: Values by name: text in CSV, any JSON value in other tables, a FileRef for a file
            in the table, None for a missing value.
        lines: Line or row number of each row, for messages.
        bad: Unreadable rows among them, which are in no column.
        is_uneven: Whether rows may lack columns.
    """

    columns: dict[str, list[Any]]
    lines: Sequence[int]
    bad: Sequence[BadRow] = ()
    is_uneven: bool = False

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a column; None in every row without it."""
        return self.columns.get(name) or [None] * len(self)

    def attempts(self, make: Callable[["Batch"], _T]) -> Iterator[tuple["Batch", _T | RecordError]]:
        """Yield rows with the result of `make`, and each row that it refuses with its error."""
        return attempts(make, self, Batch.take)

    def take(self, rows: Sequence[int]) -> "Batch":
        """Return some of the rows, with the columns that they state."""
        columns = {name: [each[row] for row in rows] for name, each in self.columns.items()}
        if self.is_uneven:
            columns = {
                name: column
                for name, column in columns.items()
                if any(value is not None for value in column)
            }
        lines = [self.lines[row] for row in rows]
        return Batch(columns=columns, lines=lines, is_uneven=self.is_uneven)

    def by_row(self) -> Iterator[dict[str, Any]]:
        """Return the values of each row by column."""
        if not self.columns:
            return iter([{} for _ in self.lines])
        values = zip(*self.columns.values(), strict=True)
        return (dict(zip(self.columns, value, strict=True)) for value in values)


def batch_of_rows(
    rows: Sequence[Mapping[str, Any]], lines: Sequence[int], bad: Sequence[BadRow] = ()
) -> Batch:
    """Make a batch of objects that may have different columns.

    Raises:
        DataError: There are too many columns.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    check_number(names, "the rows")
    columns = {name: [row.get(name) for row in rows] for name in names}
    is_uneven = any(len(row) < len(names) for row in rows)
    return Batch(columns=columns, lines=lines, bad=bad, is_uneven=is_uneven)


def joined_batches(batches: Sequence[Batch]) -> Batch:
    """Return the rows of batches, whose columns may differ, as one."""
    if len(batches) == 1:
        return batches[0]
    columns: dict[str, list[Any]] = {name: [] for each in batches for name in each.columns}
    for batch in batches:
        for name, column in columns.items():
            column += batch.column(name)
    return Batch(columns=columns, lines=[line for each in batches for line in each.lines])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDeclaration:
    """Declaration of a column by the table itself."""

    media: str = ""  # "image" or "audio" if it holds files
    classes: tuple[str, ...] = ()  # by number
    # Converts an Arrow array to values.
    convert: Callable[[Any], list[Any]] = operator.methodcaller("to_pylist")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table(abc.ABC):
    """A file of rows in any format.

    Attributes:
        file: The file.
        header: Names of columns, "" for one to leave out; empty if rows state them.
        cells: Preparation of values before conversion.
        declarations: Declarations of columns by the table itself, by name.
        part: The rows to read.
        sign: Separates file and number in the name of a row: "#" if rows' names are also the keys
            of records.
        is_typed: Whether values have types; otherwise all are texts.
        has_values: Whether values already are values of features.
    """

    is_typed: ClassVar[bool] = True
    has_values: ClassVar[bool] = False
    sign: ClassVar[str] = ":"

    file: TableFile
    header: tuple[str, ...] = ()
    cells: Cells = dataclasses.field(default_factory=Cells)
    declarations: Mapping[str, ColumnDeclaration] = dataclasses.field(default_factory=dict)
    part: Part = WHOLE

    @abc.abstractmethod
    def rows(self, scratch: "Scratch | None" = None) -> Iterator[Batch]:
        """Read the rows unprepared; files in them go into `scratch`, or become None without it.

        Raises:
            ConfigError, DataError, RecordError: The file cannot be read.
        """

    def smallest_parts(self) -> Iterator[Part]:
        """Yield the smallest parts that the file can be read in; none if it cannot be divided.

        Raises:
            ConfigError, DataError, RecordError: As `rows`.
        """
        return iter(())

    def parts(self) -> Iterator[Self]:
        """Divide a large file into tables of consecutive rows, without reading values."""
        for part in divided(self.file.path, self.smallest_parts()):
            yield dataclasses.replace(self, part=part)

    @property
    def num_bytes(self) -> int:
        """Size of the part."""
        return self.part.num_bytes or storage.size(self.file.path) or 0

    def with_commas(self, columns: frozenset[str]) -> Self:
        """Return the table with decimal commas in the numbers of `columns`."""
        return dataclasses.replace(self, cells=dataclasses.replace(self.cells, commas=columns))

    def without(self, columns: Collection[str]) -> "Table":
        """Return the table without `columns`, if that is faster to read."""
        return self

    def batches(self, scratch: "Scratch | None" = None) -> Iterator[Batch]:
        """Read the rows with prepared cells.

        Raises:
            RecordError: As `rows`; "file too large": far more rows than its size allows.
        """
        number = 0
        for batch in self.rows(scratch):
            number += len(batch) + len(batch.bad)
            if number > MAX_ROWS:
                check_rows("it", self.num_bytes, number)
            yield self.cells.prepared(self.without_headers(batch), self.missing)

    def without_headers(self, batch: Batch) -> Batch:
        """Reject rows of texts that repeat the header, as in files that were joined."""
        names = [name for name in batch.columns if name]
        if self.is_typed or len(names) < 2 or names[0] not in batch.columns[names[0]]:
            return batch
        columns = [batch.columns[name] for name in names]
        again = {
            row
            for row, values in enumerate(zip(*columns, strict=True))
            if [*map(str.strip, values)] == names
        }
        bad = [BadRow(batch.lines[row], "repeats the header; remove the line") for row in again]
        kept = batch.take([row for row in range(len(batch)) if row not in again])
        return dataclasses.replace(kept, bad=[*batch.bad, *bad])

    @property
    def missing(self) -> str | None:
        """Value of a missing cell."""
        return None if self.is_typed else ""

    @property
    def prefix(self) -> str:
        """What precedes the number of a row in its name."""
        return f"{self.file.relative}{self.sign}"

    def row(self, line: int) -> str:
        """Return the name of a row, for messages, and as key of a record without another key."""
        return f"{self.prefix}{line}"


class Scratch:
    """Writes long values of a table at `path` to a scratch folder, one file per batch."""

    def __init__(self, path: str, folder: str, part: Part = WHOLE) -> None:
        self._path, self.folder = path, folder
        self._rows = "values" if part.is_whole else f"values from {part.start}"
        self._number = 0
        self._open("")

    def _open(self, place: str) -> None:
        self._place, self._parts, self._num_bytes = place, list[Any](), 0

    def put(self, data: Any) -> FileRef:
        """Add bytes to this batch's file, which `flush` writes."""
        if not self._place:
            self._place = place_of(self._path, f"{self._rows} {self._number}", self.folder)
        file = FileRef(path=self._place, offset=self._num_bytes, length=len(data))
        self._parts.append(data)
        self._num_bytes += len(data)
        return file

    def flush(self) -> None:
        """Write this batch's file unless it exists; every run writes the same content."""
        self._number += 1
        if self._place and not storage.exists(self._place):
            with storage.writing(self._place) as handle:
                handle.write(b"".join(self._parts))
        self._open("")


def files_of(values: Sequence[Any], scratch: Scratch | None) -> list[FileRef | str | None]:
    """Put bytes of a column into the scratch folder; paths stay unchanged."""
    if not scratch:
        return [None] * len(values)
    pairs = (
        (value.get("path"), value.get("bytes")) if isinstance(value, dict) else (value, value)
        for value in values
    )
    return [scratch.put(data) if isinstance(data, bytes) else path or None for path, data in pairs]
