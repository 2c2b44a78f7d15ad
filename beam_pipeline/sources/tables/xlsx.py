"""Read the sheets of workbooks (.xlsx) with python-calamine. The format: ECMA-376."""

import dataclasses
import functools
import io
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import python_calamine

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.records import FileRef
from beam_pipeline.sources.tables.read_tables import ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_ROWS,
    Batch,
    Scratch,
    Table,
    TableFile,
    batch_of_rows,
)
from beam_pipeline.sources.tables.usual_columns import joined_names, there_are
from tfrecord_dataset.format.inflation import is_inflated

MAX_BYTES = 256 << 20
MAX_MEMBER_BYTES = 1 << 30
MAX_CELLS = 10_000_000
_MAX_COLUMNS = 16_384
# python-calamine ends the process at a cell beyond the largest sheet.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
_MAX_DIGITS = 9  # and letters
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SheetTable(Table):
    """The sheet `sheet` of a workbook, with `num_above` rows of a header."""

    sheet: str
    num_above: int = 1

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """Read the rows unprepared; rows without any value are skipped."""
        found = _sheet_rows(self.file.path, _opened_workbook(self.file.path), self.sheet)
        for start in range(self.num_above, len(found), BATCH_ROWS):
            some = enumerate(found[start : start + BATCH_ROWS], start + 1)
            numbered = {number: row for number, row in some if any(cell != "" for cell in row)}
            rows = [
                {name: _plain(cell) for name, cell in zip(self.header, row, strict=False) if name}
                for row in numbered.values()
            ]
            yield batch_of_rows(rows, [*numbered])


@dataclasses.dataclass
class ReadXlsx(ReadTables):
    """Read the rows of the sheet `table` of workbooks; "" reads the only sheet with content."""

    suffixes = ("xlsx",)

    table: str = ""
    header_rows: int = 1

    def opened(self, file: TableFile) -> Table:
        path, workbook = file.path, _opened_workbook(file.path)
        number = self.header_rows
        first = {name: _sheet_rows(path, workbook, name, number) for name in workbook.sheet_names}
        names = [name for name, rows in first.items() if rows or name == self.table]
        sheet = _chosen_sheet(path, names, self.table)
        rows = [
            [cell.strip() if isinstance(cell, str) else cell for cell in row]
            for row in [*first[sheet], []][:number]
        ]
        header = joined_names(_as_texts(rows)) if rows[1:] else rows[0]
        names = [name for name in header if name != ""]
        if not names or len({name for name in names if isinstance(name, str)}) < len(names):
            raise ConfigError(
                f"{path}, sheet {sheet}: the first row names no columns, or two alike; it is "
                f"{header}"
            )
        return SheetTable(file=file, header=tuple(header), sheet=sheet, num_above=number)


def _as_texts(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    return [["" if cell == "" else str(_plain(cell)) for cell in row] for row in rows]


def _plain(cell: Any) -> Any:
    """Convert a cell to a JSON value: dates to text, whole floats to int."""
    if cell == "":
        return None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < 1 << 53 else cell
    return cell if isinstance(cell, str | bool | int) else str(cell)


def _sheet_rows(path: str, workbook: Any, sheet: str, number: int | None = None) -> list[list[Any]]:
    try:
        rows: list[list[Any]] = workbook.get_sheet_by_name(sheet).to_python(
            skip_empty_area=False, nrows=number
        )
    except Exception as error:  # broken XML may raise anything
        raise _damaged(path, error) from error
    return rows


def _opened_workbook(path: str) -> Any:
    data = storage.read_bytes(FileRef(path=path), MAX_BYTES)
    try:
        _check_sizes(path, data)
        return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except DataError:
        raise
    except Exception as error:  # a broken zip may raise anything
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> DataError:
    return DataError(f"{path} is not a readable .xlsx file ({error}); save it again")


def _check_sizes(path: str, data: bytes) -> None:
    """Raise DataError for sheets that would not fit into memory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            size = member.file_size
            too_large = size > MAX_MEMBER_BYTES or is_inflated(member.compress_size, size)
            if too_large or _num_cells(archive.read(member)) > MAX_CELLS:
                raise DataError(
                    f"{path}: {member.filename} is too large for a workbook; save the sheet as "
                    "CSV, without empty rows and columns"
                )


def _num_cells(text: bytes) -> int:
    """Count the cells of the rectangle that a sheet's XML spans from A1.

    A cell without a reference may be anywhere in a row.
    """
    places = _PLACE.findall(text)
    rows = max((int(digits.lstrip(b"0")[:_MAX_DIGITS] or b"0") for _, digits in places), default=0)
    columns = max(map(_column_number, {letters for letters, _ in places}), default=0)
    if sum(bool(letters) for letters, _ in places) < len(_CELL.findall(text)):
        columns = _MAX_COLUMNS
    return rows * columns


def _column_number(letters: bytes) -> int:
    known = letters[:_MAX_DIGITS].upper()
    return functools.reduce(lambda column, letter: column * 26 + letter - ord("A") + 1, known, 0)


def _chosen_sheet(path: str, names: Collection[str], stated: str) -> str:
    """Choose the sheet of a workbook to read; raise ConfigError if that is not clear."""
    if stated and stated not in names:
        raise ConfigError(f"--table: {path} has no sheet {stated!r}; {there_are(stated, names)}")
    if not names:
        raise ConfigError(f"{path} has no sheet with rows; write one")
    if len(names) > 1 and not stated:
        facts = {"path": path, "number": len(names)}
        problem = Problem(code="several sheets", facts=facts, option="table", choices=(*names,))
        raise ProblemError(problem)
    return stated or next(iter(names))
