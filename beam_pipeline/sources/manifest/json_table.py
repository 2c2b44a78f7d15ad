"""JSON Lines files: an object a line is a row."""

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.cells import json_text
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES, read_blocks
from beam_pipeline.sources.manifest.table import BATCH_ROWS, BadRow, Batch, TextTable
from beam_pipeline.sources.nesting import MAX_DEPTH, is_deep
from tfrecord_dataset.shown_text import is_unicode


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonTable(TextTable):
    """One file of JSON Lines; a row never goes on in another line."""

    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """As `Table.batches`."""
        first = 0
        for block in read_blocks(self.manifest.path, start, block_bytes, self.made_by):
            count = block.before(end)
            for begin in range(0, count, BATCH_ROWS):
                texts = block.lines[begin : min(begin + BATCH_ROWS, count)]
                rows = {
                    number: _values(text, block.is_unicode)
                    for number, text in enumerate(texts)
                    if text.strip()
                }
                objects = {line: row for line, row in rows.items() if not isinstance(row, str)}
                names = dict.fromkeys(name for each in objects.values() for name in each)
                yield self.batch_of(
                    {name: [each.get(name) for each in objects.values()] for name in names},
                    [(line, line + 1) for line in objects],
                    (first + begin, len(texts)),
                    block.starts[begin:],
                    [
                        BadRow(first + begin + line, why)
                        for line, why in rows.items()
                        if isinstance(why, str)
                    ],
                    [*objects.values()]
                    if any(len(row) < len(names) for row in objects.values())
                    else (),
                )
            first += count
            if block.starts[-1] >= end:
                return

    def cell(self, column: str) -> Callable[[bytes], Any]:
        """As `Table.cell`."""
        as_json = column in self.cells.as_json
        return functools.partial(_read_cell, column=column, as_json=as_json)


def _values(text: str, unicode: bool) -> dict[str, Any] | str:
    """The values of a line by column, or why it has none."""
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
        return f"{fault}: {text.strip()[:200]!a}"
    values.pop("", None)
    return values  # type: ignore[no-any-return]


def _read_cell(data: bytes, column: str, as_json: bool) -> Any:
    """The value of one column of a row that was read before."""
    try:
        value = json.loads(data.decode()).get(column)
        return json_text(value) if as_json else value
    except (ValueError, AttributeError) as error:
        raise malformed(f"the row is another than before: {error}") from error
