"""Read rows of JSON: an object per line, or a list of objects, at the top or in an object."""

import codecs
import contextlib
import dataclasses
import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.json_items import (
    MAX_DEPTH,
    MAX_ITEM_CHARACTERS,
    is_deep,
    items,
    place_of_objects,
)
from beam_pipeline.sources.paths import suffix, uncompressed
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.parts import Part, opened_text, parts_of_text, readable
from beam_pipeline.sources.tables.read_tables import ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_ROWS,
    BadRow,
    Batch,
    Scratch,
    Table,
    TableFile,
    batch_of_rows,
)
from beam_pipeline.sources.tables.types import loads, out_of_range
from tfrecord_dataset.delimited import (
    DEFAULT_ENCODING,
    UNREADABLE,
    Dialect,
    lines_of,
    text_blocks,
)
from tfrecord_dataset.shown_text import is_unicode
from tfrecord_dataset.store.urls import unsigned

# Names of the list of rows in an object.
_LISTS = frozenset({"data", "rows", "records", "examples", "samples", "items"})
_HEAD_BYTES = 1 << 16
_TWO_LINES = re.compile(rb"\s*(\{.*\})\s*\n\s*\{")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MARK_BYTES = len(codecs.BOM_UTF16_LE)
LINES = "lines"


def place_of_rows(path: str) -> str | None:
    """Locate the rows in a JSON file by its first bytes.

    Returns "" for a list, the name of a list in an object, `LINES` for JSON Lines, or None.
    """
    head = b""
    with contextlib.suppress(RecordError), storage.decompressed(path) as content:
        head = bytes(content.read(_HEAD_BYTES))
    head = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if lines := _TWO_LINES.match(head):
        with contextlib.suppress(ValueError):
            json.loads(lines[1])
            return LINES
    return place_of_objects(head, _LISTS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonTable(Table):
    """A file of JSON Lines, or of JSON with a list of objects at `place` (`place_of_rows`)."""

    place: str = LINES

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        path, part, has_lines = self.file.path, self.part, self.place == LINES
        number = part.row or int(has_lines)  # lines are counted from 1, objects from 0
        objects = _objects_in_lines(path, part) if has_lines else _objects_in_list(path, self.place)
        with readable(path):
            while some := list(itertools.islice(objects, BATCH_ROWS)):
                rows = dict(enumerate(some, number))
                good = {at: row for at, row in rows.items() if isinstance(row, dict)}
                wrong = {at: row for at, row in rows.items() if isinstance(row, RecordError)}
                bad = [BadRow(at, error.detail, error.reason) for at, error in wrong.items()]
                yield batch_of_rows([*good.values()], [*good], bad)
                number += len(some)

    def smallest_parts(self) -> Iterator[Part]:
        if self.place == LINES and not _is_utf_16(storage.read_start(self.file.path, _MARK_BYTES)):
            lines = Dialect(has_quotes=False)
            yield from parts_of_text(self.file.path, lines, at_most=MAX_ITEM_CHARACTERS)

    @property
    def prefix(self) -> str:
        return f"{self.file.relative}{':' if self.place == LINES else '#'}"


def _is_utf_16(start: bytes) -> bool:
    return start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _objects_in_lines(path: str, part: Part) -> Iterator[dict[str, Any] | RecordError | None]:
    """Yield each line's object, or the reason why it has none; None for an empty line."""
    with opened_text(path, part) as content:
        start = content.read(_MARK_BYTES)
        encoding = "utf-16" if not part.start and _is_utf_16(start) else DEFAULT_ENCODING
        how = {"start": start, "offset": part.start, "at_most": MAX_ITEM_CHARACTERS}
        for block in text_blocks(content, encoding, **how):
            yield from map(_object_of, lines_of(block))


def _object_of(line: str) -> dict[str, Any] | RecordError | None:
    line = line.rstrip("\r\n")
    if not line.strip():
        return None
    why = "not a JSON object"
    try:
        if UNREADABLE in line:
            why = "not UTF-8"
        elif is_deep(line):
            why = f"nested over {MAX_DEPTH} deep"
        else:
            values = loads(line)
            # A lone escape such as \ud800 is JSON, but not a character.
            if "\\u" in line and not is_unicode(json.dumps(values, ensure_ascii=False)):
                why = "not UTF-8"
            elif isinstance(values, dict):
                values.pop("", None)
                return values
    except RecordError as error:
        return error
    except ValueError as error:
        why = f"not JSON: {error}"
    shown = line.strip()[:200].replace(UNREADABLE, "\ufffd")
    return malformed(f"{why}: {shown!a}")


def _is_finite(value: Any) -> bool:
    """Return whether no number in a value is infinite."""
    match value:
        case float():
            return not math.isinf(value)
        case dict():
            return all(map(_is_finite, value.values()))
        case list():
            return all(map(_is_finite, value))
    return True


def _objects_in_list(path: str, place: str) -> Iterator[dict[str, Any] | RecordError]:
    """Yield the objects in a list, or the reason why an item is not an object."""
    for item in items(path, place):
        shown = json.dumps(item)[:200] if not isinstance(item, dict) or not _is_finite(item) else ""
        if not isinstance(item, dict):
            yield malformed(f"not a JSON object: {shown!a}")
        else:  # `items` refuses "Infinity"
            yield out_of_range(f"a number is infinite in {shown}") if shown else item


@dataclasses.dataclass
class ReadJsonl(ReadTables):
    """Read JSON Lines files, or the items of a JSON list: one object per record.

    Lists of numbers are arrays and may be nested, lists of strings are tuples. A column `boxes`,
    `bboxes` or `bbox` may hold all boxes of the image, four numbers per box in format "xyxy", next
    to lists of classes and other values; `objects` is Hugging Face's, with `bbox` in format
    "xywh". Columns of other objects become JSON text.
    """

    suffixes = ("jsonl", "ndjson", "json")

    def opened(self, file: TableFile) -> Table:
        is_json = suffix(uncompressed(unsigned(file.path))) == "json"
        place = place_of_rows(file.path) if is_json else None
        return JsonTable(file=file, place=LINES if place is None else place)
