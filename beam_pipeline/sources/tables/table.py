"""A table: one file of rows, read in batches of columns.

To add a kind of table, subclass `Table`, and `read_tables.ReadTables` to open it.
"""

import abc
import bisect
import dataclasses
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import ProblemError, several_tables_inside
from beam_pipeline.records import FileRef
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.paths import below
from beam_pipeline.sources.tables.cells import Cells
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tables.names import there_are
from beam_pipeline.sources.tree import NOTHING, Ignored, NamingFile
from beam_pipeline.sources.unpacking import place_of
from tfrecord_dataset.format.inflation import MAX_ROWS, check_rows

# Maximum rows of a batch, and its target size.
BATCH_ROWS = 1024
BATCH_BYTES = 8 << 20

_T = TypeVar("_T")


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
    """An unreadable row: its number as in `Batch.lines`, and the reason."""

    line: int
    detail: str


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

    def after(self, line: int) -> "Batch":
        """Return the rows after a line."""
        if not line:
            return self
        rows = self.part(bisect.bisect_right(self.lines, line), len(self))
        bad = [each for each in self.bad if each.line > line]
        return dataclasses.replace(rows, bad=bad)

    def attempts(self, make: Callable[["Batch"], _T]) -> Iterator[tuple["Batch", _T | RecordError]]:
        """Yield rows with the result of `make`, and each row that it refuses with its error."""
        if not len(self):
            return
        try:
            yield self, make(self)
        except RecordError as error:
            if len(self) == 1:
                yield self, error
                return
            middle = len(self) // 2
            yield from self.part(0, middle).attempts(make)
            yield from self.part(middle, len(self)).attempts(make)

    def part(self, start: int, stop: int) -> "Batch":
        """Return a range of the rows, with the columns that they state."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        if self.is_uneven:
            columns = {
                name: column
                for name, column in columns.items()
                if any(value is not None for value in column)
            }
        return Batch(columns=columns, lines=self.lines[start:stop], is_uneven=self.is_uneven)

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

    @abc.abstractmethod
    def rows(self, scratch: "Scratch | None" = None) -> Iterator[Batch]:
        """Read the rows unprepared; files in them go into `scratch`, or become None without it.

        Raises:
            ConfigError, DataError, RecordError: The file cannot be read.
        """

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
                check_rows("it", storage.size(self.file.path) or 0, number)
            self.cells.prepare(batch.columns, self.missing)
            yield batch

    @property
    def missing(self) -> str | None:
        """Value of a missing cell."""
        return None if self.is_typed else ""

    def row(self, line: int) -> str:
        """Return the name of a row, for messages, and as key of a record without another key."""
        return f"{self.file.relative}{self.sign}{line}"


class Scratch:
    """Writes long values of a table at `path` to a scratch folder, one file per batch."""

    def __init__(self, path: str, folder: str) -> None:
        self._path, self.folder = path, folder
        self._number = 0
        self._open("")

    def _open(self, place: str) -> None:
        self._place, self._parts, self._num_bytes = place, list[Any](), 0

    def put(self, data: Any) -> FileRef:
        """Add bytes to this batch's file, which `flush` writes."""
        if not self._place:
            self._place = place_of(self._path, f"values {self._number}", self.folder)
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


def chosen_table(path: str, noun: str, names: Collection[str], stated: str) -> str:
    """Choose the table of a file to read; raise ConfigError if that is not clear."""
    if stated and stated not in names:
        raise ConfigError(f"--table: {path} has no {noun} {stated!r}; {there_are(stated, names)}")
    if not names:
        raise ConfigError(f"{path} has no {noun} with rows; write one")
    if len(names) > 1 and not stated:
        raise ProblemError(several_tables_inside(path, f"{noun}s", names))
    return stated or next(iter(names))
