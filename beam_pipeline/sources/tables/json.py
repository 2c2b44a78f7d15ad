"""JSON of rows: lines with an object each, or a list of objects, alone or in an object."""

import contextlib
import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Sequence
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
from beam_pipeline.sources.tables.table import (
    BATCH_BYTES,
    BATCH_ROWS,
    BadRow,
    Batch,
    Scratch,
    Table,
    batch_of_rows,
)
from tfrecord_dataset.shown_text import is_unicode

# What the list of rows in an object is called.
_LISTS = frozenset({"data", "rows", "records", "examples", "samples", "items"})
_HEAD_BYTES = 1 << 16
_TWO_LINES = re.compile(rb"\s*(\{.*\})\s*\n\s*\{")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LINES = "lines"


def place_of_rows(path: str) -> str | None:
    """Return where in a JSON file its rows are, by how it begins.

    Returns:
        "" of a list of objects, the name of such a list in an object; `LINES` of JSON Lines; None
        if it has no rows.
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
class JsonLinesTable(Table):
    """One file of JSON Lines."""

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """As `Table.rows`."""
        path, number = self.file.path, 1
        try:
            for lines in _lines_of(path):
                rows = [_row(line) if line.strip() else None for line in lines]
                good = [at for at, row in enumerate(rows) if isinstance(row, dict)]
                bad = [
                    BadRow(number + at, why) for at, why in enumerate(rows) if isinstance(why, str)
                ]
                yield batch_of_rows([rows[at] for at in good], [number + at for at in good], bad)  # type: ignore[misc]
                number += len(lines)
        except RecordError as error:
            raise DataError(f"{path} cannot be read ({error}); fetch it again") from error


def _lines_of(path: str) -> Iterator[Sequence[bytes]]:
    """Yield some lines after the other of a file, which may be compressed."""
    with storage.decompressed(path) as content:
        rest = bytes(content.read(len(_BYTE_ORDER_MARK))).removeprefix(_BYTE_ORDER_MARK)
        while data := content.read(BATCH_BYTES >> 3):
            *lines, rest = (rest + bytes(data)).split(b"\n")
            if len(rest) > MAX_ITEM_CHARACTERS:
                raise DataError(
                    f"{path} has a line of over {MAX_ITEM_CHARACTERS >> 20} MiB; split it"
                )
            for start in range(0, len(lines), BATCH_ROWS):
                yield lines[start : start + BATCH_ROWS]
        yield [rest]


def _row(line: bytes) -> dict[str, Any] | str:
    """Return the values of a line by column, or why it has none."""
    try:
        text = line.decode()
        if is_deep(text):
            return f"nested over {MAX_DEPTH} deep: {text.strip()[:200]!a}"
        values = json.loads(text)
        # An escape such as \ud800 alone is JSON, but no character.
        if "\\u" in text and not is_unicode(json.dumps(values, ensure_ascii=False)):
            return f"not UTF-8: {text.strip()[:200]!a}"
    except UnicodeDecodeError:
        return f"not UTF-8: {line.decode(errors='surrogateescape').strip()[:200]!a}"
    except ValueError as error:
        return f"not JSON: {error}: {line.decode().strip()[:200]!a}"
    if not isinstance(values, dict):
        return f"not a JSON object: {text.strip()[:200]!a}"
    values.pop("", None)
    return values


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonListTable(Table):
    """One file of JSON with a list of objects.

    Attributes:
        place: Where it is, as `place_of_rows` has it.
    """

    sign = "#"

    place: str = ""

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """As `Table.rows`."""
        number = 0
        found = items(self.file.path, self.place)
        try:
            while rows := list(itertools.islice(found, BATCH_ROWS)):
                good = [at for at, row in enumerate(rows) if isinstance(row, dict)]
                bad = [
                    BadRow(number + at, f"not a JSON object: {json.dumps(row)[:200]!a}")
                    for at, row in enumerate(rows)
                    if not isinstance(row, dict)
                ]
                yield batch_of_rows([rows[at] for at in good], [number + at for at in good], bad)
                number += len(rows)
        except RecordError as error:
            raise DataError(f"{self.file.path} cannot be read ({error}); fix it") from error
