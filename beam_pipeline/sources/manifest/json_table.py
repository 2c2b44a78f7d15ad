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
                stop = min(begin + BATCH_ROWS, count)
                lines: list[int] = []
                objects: list[dict[str, Any]] = []
                bad: list[BadRow] = []
                for number in range(begin, stop):
                    text = block.lines[number]
                    if not text.strip():
                        continue
                    values = _values(text, block.is_unicode)
                    if isinstance(values, str):
                        bad.append(BadRow(first + number, values))
                        continue
                    lines.append(number)
                    objects.append(values)
                names = dict.fromkeys(name for each in objects for name in each)
                columns = {name: [each.get(name) for each in objects] for name in names}
                self.cells.prepare(columns, None)
                yield Batch(
                    columns=columns,
                    lines=[first + number for number in lines],
                    offsets=[block.starts[number] for number in lines],
                    lengths=[block.starts[number + 1] - block.starts[number] for number in lines],
                    bad=bad,
                    keys=objects if any(len(each) < len(names) for each in objects) else (),
                    next_line=first + stop,
                    next_offset=block.starts[stop],
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
