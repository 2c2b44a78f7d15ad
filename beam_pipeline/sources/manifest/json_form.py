"""Rows of JSON Lines files: an object a line."""

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.column_kinds import kind_of_values
from beam_pipeline.sources.columns.kinds import Kind, naming, wider
from beam_pipeline.sources.manifest.boxes import boxes_from_lists
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells
from beam_pipeline.sources.manifest.lines import Block
from beam_pipeline.sources.manifest.plain import check_plain
from beam_pipeline.sources.manifest.rows import (
    MALFORMED,
    BadRow,
    Row,
    RowForm,
    RowRest,
    is_unicode,
)
from beam_pipeline.sources.nesting import MAX_DEPTH, is_deep


@dataclasses.dataclass(frozen=True)
class JsonForm(RowForm):
    """JSON Lines.

    Attributes:
        cells: What a user says of the values.
    """

    spans_lines = False

    cells: Cells = AS_THEY_ARE

    def rows(
        self, blocks: Iterator[Block], end: int, *, in_row: bool = False
    ) -> Iterator[Row | BadRow | RowRest]:
        """As `RowForm.rows`; a row never goes on in another line."""
        first = 0
        for block in blocks:
            for line, text in enumerate(block.lines, start=first):
                offset, behind = block.starts[line - first : line - first + 2]
                if offset >= end:
                    return
                if text.strip():
                    row = _row(line, offset, behind, text, block.is_unicode)
                    if isinstance(row, Row):
                        self.cells.prepare(row.values, None)
                    yield row
            first += len(block.lines)
            if block.starts[-1] >= end:
                return

    def cell(self, column: str) -> Callable[[bytes], Any]:
        return functools.partial(_read_cell, column=column)

    def check(self, rows: Sequence[Mapping[str, Any]], columns: Columns) -> None:
        check_plain(rows, columns)

    def kinds(self, rows: Sequence[Mapping[str, Any]], columns: Columns) -> dict[str, Kind | None]:
        """And under "<boxes>.<name>" of the boxes' attributes."""
        check_plain(rows, columns)
        kinds: dict[str, Kind | None] = {}
        names = dict.fromkeys(name for row in rows for name in row)
        check_number(names, "the rows")
        for name in names:
            if name not in columns.taken:
                with naming(name):
                    kinds[name] = kind_of_values([row.get(name) for row in rows])
        if columns.boxes:
            for row in rows:
                boxes = boxes_from_lists(row, columns, None)
                for name, values in boxes.attributes.items():
                    attribute = f"{columns.boxes}.{name}"
                    kinds[attribute] = wider(kinds.get(attribute), kind_of_values(values))
        return kinds


def _row(line: int, offset: int, end: int, text: str, unicode: bool) -> Row | BadRow:
    fault = ""
    values: Any = None
    if is_deep(text):
        fault = f"nested over {MAX_DEPTH} deep"
    else:
        try:
            values = json.loads(text)
        except ValueError as error:
            fault = f"not JSON: {error}"
    if not fault and not isinstance(values, dict):
        fault = "not a JSON object"
    # An escape such as \ud800 alone is JSON, but no character.
    escaped = json.dumps(values, ensure_ascii=False) if "\\u" in text and not fault else ""
    if not (unicode or is_unicode(text)) or not is_unicode(escaped):
        fault = "not UTF-8"
    if fault:
        return BadRow(line, end, f"{fault}: {text.strip()[:200]!a}")
    values.pop("", None)
    return Row(line, offset, end - offset, values)


def _read_cell(data: bytes, column: str) -> Any:
    """The value of one column of a row that was read before."""
    try:
        return json.loads(data.decode()).get(column)
    except (ValueError, AttributeError) as error:
        raise RecordError(MALFORMED, f"the row is another than before: {error}") from error
