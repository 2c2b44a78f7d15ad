"""JSON of rows: lines with an object each, or a list of objects, alone or in an object."""

import contextlib
import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import ijson

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.annotation_formats import is_of_a_format
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.cells import json_text
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES, read_blocks
from beam_pipeline.sources.manifest.read import ReadManifest
from beam_pipeline.sources.manifest.table import (
    BATCH_ROWS,
    BadRow,
    Batch,
    Table,
    TextTable,
)
from beam_pipeline.sources.nesting import MAX_DEPTH, is_deep, items
from beam_pipeline.sources.paths import suffix, uncompressed
from tfrecord_dataset.shown_text import is_unicode
from tfrecord_dataset.store.urls import unsigned

# What the list of rows in an object is called.
LINES = "lines"
_LISTS = frozenset({"data", "rows", "records", "examples", "samples", "items"})
_HEAD_BYTES = 1 << 16
_ROWS_AT_ONCE = 256
_TWO_LINES = re.compile(rb"\s*(\{.*\})\s*\n\s*\{")


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonListTable(JsonTable):
    """One JSON file whose rows are the objects of a list; they are unpacked, a line each."""

    def row(self, line: int) -> str:
        """As `Table.row`; rows are counted from 0."""
        return f"{self.manifest.relative}#{line - 1}"


def place_of_rows(path: str) -> str | None:
    """Where in a JSON file its rows are, by how it begins.

    Returns:
        "" of a list of objects, the name of such a list in an object; `LINES` of JSON Lines; None
        where it has no rows, or is of a program that marks images.
    """
    head = b""
    with contextlib.suppress(RecordError), storage.decompressed(path) as content:
        head = bytes(content.read(_HEAD_BYTES))
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if is_of_a_format(head):
        return None
    if _begins_as_lines(head):
        return LINES
    try:
        # Without `use_float` a number of thousands of digits ends the process.
        for prefix, event, _ in ijson.parse(head, use_float=True):
            if event == "start_map" and prefix in ("item", *(f"{name}.item" for name in _LISTS)):
                return str(prefix.rpartition("item")[0].rstrip("."))
    except (ijson.JSONError, ValueError):  # it goes on behind the head
        pass
    return None


def _begins_as_lines(head: bytes) -> bool:
    if not (lines := _TWO_LINES.match(head)):
        return False
    try:
        json.loads(lines[1])
    except ValueError:
        return False
    return True


def lines_of_list(path: str, place: str) -> Iterator[bytes]:
    """The items of a list as JSON Lines.

    Args:
        path: The file.
        place: As `place_of_rows`.

    Raises:
        RecordError: As `nesting.items`.
    """
    rows = items(path, place)
    while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        yield b"".join(json.dumps(row).encode() + b"\n" for row in some)


def _maker(place: str) -> functools.partial[Iterator[bytes]]:
    """What makes lines of a file whose rows are at `place`."""
    return functools.partial(lines_of_list, place=place)


@dataclasses.dataclass
class ReadJsonl(ReadManifest):
    """The lines of JSON Lines files, or the items of a list in JSON, an object and a record each.

    As `ReadCsv`, and besides: lists of numbers are arrays and may be nested, lists of strings
    tuples. A column `boxes`, `bboxes` or `bbox` may hold all boxes of the image, four numbers
    each in format "xyxy", with their classes and other values in lists beside; or `objects` as
    Hugging Face has it, with `bbox` in format "xywh". Columns are found in the first rows; those
    of other objects are texts in JSON.
    """

    suffixes = ("jsonl", "ndjson", "json")

    def opened(self, manifest: Manifest) -> Table:
        """As `ReadManifest.opened`."""
        is_json = suffix(uncompressed(unsigned(manifest.path))) == "json"
        place = place_of_rows(manifest.path) if is_json else None
        if place in (None, LINES):
            return JsonTable(manifest=manifest)
        if place:
            what = f"{manifest.relative}: of its members the list {place!r} is read"
            self._tell(f"{what}, an object a row")
        return JsonListTable(manifest=manifest, made_by=_maker(place), part="rows")
