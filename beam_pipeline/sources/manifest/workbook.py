"""Workbooks (.xlsx): a sheet is a table, whose first row names the columns.

A workbook is a zip of XML (ECMA-376), which python-calamine reads. It holds a sheet as a rectangle,
so the corners of the rectangle are looked for before.
"""

import dataclasses
import functools
import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.sources.columns.choice import there_are
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.json_table import JsonTable
from beam_pipeline.sources.manifest.read import ReadManifest
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.paths import in_batches
from tfrecord_dataset.inflation import is_inflated

MAX_BYTES = 256 << 20
MAX_MEMBER_BYTES = 1 << 30
MAX_CELLS = 10_000_000
_MAX_COLUMNS = 16_384
_BLOCK_BYTES = 1 << 20
# Of any length: what is beyond a sheet wraps around in python-calamine, and ends the process.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
_MAX_DIGITS = 9  # and letters
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")


def sheet_of(path: str, stated: str) -> tuple[str, list[str]]:
    """The sheet that is meant, and its columns; "" for one that has no name.

    Args:
        path: The workbook.
        stated: The sheet's name; "" takes the only one that holds anything.

    Raises:
        ConfigError: There is no such sheet, or it is not clear which; its first row names no
            columns, or two alike.
        DataError: The workbook cannot be read.
    """
    workbook = _opened(path)
    names = workbook.sheet_names
    if stated and stated not in names:
        raise ConfigError(f"--table {stated!r} is no sheet of {path}; {there_are(stated, names)}")
    sheets = {name: _rows(path, workbook, name, 1) for name in ([stated] if stated else names)}
    held = {name: rows[0] for name, rows in sheets.items() if rows}
    if len(held) != 1:
        what = f"the sheets {', '.join(held)}" if held else "no rows"
        raise ConfigError(f"{path} has {what}; name the one to read by --table SHEET")
    [(name, header)] = held.items()
    return name, _columns(f"{path}, sheet {name}", header)


def _columns(place: str, header: Sequence[Any]) -> list[str]:
    names = [cell.strip() if isinstance(cell, str) else cell for cell in header]
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(
                f"{place}: the first row holds {_plain(name)}, which names no column; write a row "
                "of names above the first"
            )
        if name and names.count(name) > 1:
            raise ConfigError(f"{place}: two columns are called {name!r}; rename one")
    if not any(names):
        raise ConfigError(f"{place}: the first row is empty; write the columns' names there")
    return names


def lines_of_sheet(path: str, sheet: str) -> Iterator[bytes]:
    """The rows of a sheet as JSON Lines; a row without a value is an empty line."""
    workbook = _opened(path)
    names, *rows = _rows(path, workbook, sheet) or [[]]
    columns = _columns(path, names)
    for some in in_batches(rows):
        yield b"".join(_line(columns, row) for row in some)


def _line(columns: Sequence[str], row: Sequence[Any]) -> bytes:
    cells = {
        name: _plain(cell) if cell != "" else None
        for name, cell in zip(columns, row, strict=False)
        if name
    }
    is_empty = all(cell == "" for cell in row)
    return b"\n" if is_empty else json.dumps(cells).encode() + b"\n"


def _plain(cell: Any) -> Any:
    """A cell as JSON has it: dates and times are texts, and all numbers of a sheet fractions."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < 1 << 53 else cell
    return cell if isinstance(cell, str | bool | int) else str(cell)


def _rows(path: str, workbook: Any, sheet: str, number: int | None = None) -> list[list[Any]]:
    """The rows of a sheet from its corner A1, or the first few."""
    try:
        rows: list[list[Any]] = workbook.get_sheet_by_name(sheet).to_python(
            skip_empty_area=False, nrows=number
        )
    except Exception as error:  # XML may be broken anywhere
        raise _damaged(path, error) from error
    return rows


def _opened(path: str) -> Any:
    """The workbook at a path, none of whose sheets is too large."""
    try:
        import python_calamine
    except ImportError as error:
        raise ConfigError(
            f"{path} is a workbook, which python-calamine reads: pip install python-calamine, or "
            "save the sheet as CSV"
        ) from error
    data = storage.read_bytes(FileRef(path=path), MAX_BYTES)
    try:
        _check_sizes(path, data)
        return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except (ConfigError, DataError):
        raise
    except Exception as error:  # a broken zip may raise anything
        raise _damaged(path, error) from error


def _damaged(what: str, error: Exception) -> DataError:
    return DataError(f"{what} is no .xlsx file that can be read ({error}); save it again")


def _check_sizes(path: str, data: bytes) -> None:
    """Raises DataError for sheets that would not fit into memory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            size = member.file_size
            if size > MAX_MEMBER_BYTES or is_inflated(member.compress_size, size):
                raise _too_large(path, f"{member.filename} unpacks to {size:,} bytes")
            with archive.open(member) as content:  # to its end, where its checksum is
                rows, columns = _corner(content)
            if rows * columns > MAX_CELLS:
                raise _too_large(path, f"a sheet spans {rows:,} rows of {columns:,} cells")


def _corner(content: Any) -> tuple[int, int]:
    """(rows, columns) of the rectangle that a sheet's XML spans from A1.

    A cell that does not say where it is may be anywhere in a row.
    """
    rows = columns = 0
    for text in _elements(content):
        places = _PLACE.findall(text)
        letters = {letters for letters, _ in places if letters}
        columns = max(columns, *map(_column, letters), 0)
        rows = max(rows, *(_row(digits) for _, digits in places), 0)
        if sum(bool(letters) for letters, _ in places) < len(_CELL.findall(text)):
            columns = _MAX_COLUMNS
    return rows, columns


def _elements(content: Any) -> Iterator[bytes]:
    """Whole elements of a sheet's XML, many at a time."""
    rest = b""
    while block := content.read(_BLOCK_BYTES):
        text, tag, rest = (rest + block).rpartition(b"<")
        rest = tag + rest
        if len(rest) > _BLOCK_BYTES:
            raise ValueError("an element of its XML has over a mebibyte")
        yield text
    yield rest


def _column(letters: bytes) -> int:
    known = letters[:_MAX_DIGITS].upper()
    return functools.reduce(lambda column, letter: column * 26 + letter - ord("A") + 1, known, 0)


def _row(digits: bytes) -> int:
    return int(digits.lstrip(b"0")[:_MAX_DIGITS] or b"0")


def _too_large(path: str, why: str) -> DataError:
    return DataError(
        f"{path} is too large for a workbook: {why}; save the sheet as CSV, and leave out empty "
        "rows and columns"
    )


@dataclasses.dataclass
class ReadXlsx(ReadManifest):
    """The rows of a sheet of workbooks, a record each; as `ReadJsonl`.

    Attributes:
        table: The sheet; "" is the only one that holds anything.
    """

    suffixes = ("xlsx",)

    table: str = ""

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        sheet, columns = sheet_of(manifest.path, self.table)
        return JsonTable(
            manifest=manifest,
            header=tuple(columns),
            made_by=functools.partial(lines_of_sheet, sheet=sheet),
            part=f"sheet {sheet}",
            numbering=(":", 2),  # as in the sheet, whose first row names the columns
        )
