"""Read rows of JSON: an object per line, or a list of objects, at the top or in an object."""

import contextlib
import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.json_items import (
    MAX_DEPTH,
    MAX_ITEM_CHARACTERS,
    is_deep,
    items,
    place_of_objects,
)
from beam_pipeline.sources.paths import suffix, uncompressed
from beam_pipeline.sources.tables.read_tables import ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_BYTES,
    BATCH_ROWS,
    BadRow,
    Batch,
    Scratch,
    Table,
    TableFile,
    batch_of_rows,
)
from tfrecord_dataset.shown_text import is_unicode
from tfrecord_dataset.store.urls import unsigned

# Names of the list of rows in an object.
_LISTS = frozenset({"data", "rows", "records", "examples", "samples", "items"})
_HEAD_BYTES = 1 << 16
_TWO_LINES = re.compile(rb"\s*(\{.*\})\s*\n\s*\{")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
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
        path = self.file.path
        number = int(self.place == LINES)  # lines are counted from 1, objects from 0
        objects = _objects_in_lines(path) if number else _objects_in_list(path, self.place)
        try:
            while some := list(itertools.islice(objects, BATCH_ROWS)):
                rows = dict(enumerate(some, number))
                good = {at: row for at, row in rows.items() if isinstance(row, dict)}
                bad = [BadRow(at, row) for at, row in rows.items() if isinstance(row, str)]
                yield batch_of_rows([*good.values()], [*good], bad)
                number += len(some)
        except RecordError as error:
            raise DataError(f"{path} cannot be read ({error}); fetch it again") from error

    def row(self, line: int) -> str:
        return f"{self.file.relative}{':' if self.place == LINES else '#'}{line}"


def _objects_in_lines(path: str) -> Iterator[dict[str, Any] | str | None]:
    """Yield each line's object, or the reason why it has none; None for an empty line."""
    with storage.decompressed(path) as content:
        rest = bytes(content.read(len(_BYTE_ORDER_MARK))).removeprefix(_BYTE_ORDER_MARK)
        while data := content.read(BATCH_BYTES >> 3):
            *lines, rest = (rest + bytes(data)).split(b"\n")
            if len(rest) > MAX_ITEM_CHARACTERS:
                raise DataError(
                    f"{path} has a line of over {MAX_ITEM_CHARACTERS >> 20} MiB; split it"
                )
            yield from map(_object_of, lines)
        yield _object_of(rest)


def _object_of(line: bytes) -> dict[str, Any] | str | None:
    if not line.strip():
        return None
    why = "not a JSON object"
    try:
        text = line.decode()
        if is_deep(text):
            why = f"nested over {MAX_DEPTH} deep"
        else:
            values = json.loads(text)
            # A lone escape such as \ud800 is JSON, but not a character.
            if "\\u" in text and not is_unicode(json.dumps(values, ensure_ascii=False)):
                why = "not UTF-8"
            elif isinstance(values, dict):
                values.pop("", None)
                return values
    except UnicodeDecodeError:
        why = "not UTF-8"
    except ValueError as error:
        why = f"not JSON: {error}"
    return f"{why}: {line.decode(errors='surrogateescape').strip()[:200]!a}"


def _objects_in_list(path: str, place: str) -> Iterator[dict[str, Any] | str]:
    """Yield the objects in a list, or the reason why an item is not an object."""
    for item in items(path, place):
        yield item if isinstance(item, dict) else f"not a JSON object: {json.dumps(item)[:200]!a}"


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
