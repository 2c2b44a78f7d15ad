"""JSON of rows: lines with an object each, or a list of objects, alone or in an object."""

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Iterator

import ijson

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.json_table import JsonTable
from beam_pipeline.sources.manifest.read import ReadManifest
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.nesting import items
from beam_pipeline.sources.paths import in_batches, suffix, uncompressed
from tfrecord_dataset.store.urls import unsigned

# What the list of rows in an object is called.
LINES = "lines"
_LISTS = frozenset({"data", "rows", "records", "examples", "samples", "items"})
_HEAD_BYTES = 1 << 16
_TWO_LINES = re.compile(rb"\s*(\{.*\})\s*\n\s*\{")


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
    for some in in_batches(items(path, place)):
        yield b"".join(json.dumps(row).encode() + b"\n" for row in some)


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
        made_by = functools.partial(lines_of_list, place=place)
        return JsonTable(manifest=manifest, made_by=made_by, part="rows", numbering=("#", 0))
