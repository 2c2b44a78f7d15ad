"""JSON and XML files that no layout reads: whose they are by how they begin, and what helps."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from beam_pipeline.files import storage
from beam_pipeline.sources.beside import shown
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.tree import head

_KEY = re.compile(rb'"([^"\\]{1,40})"\s*:')
_TAG = re.compile(rb"<([A-Za-z][\w.-]{0,40})[\s/>]")
_MAX_KEYS = 4
_FILES_LOOKED_INTO = 5


class _Format(NamedTuple):
    name: str
    sign: re.Pattern[bytes]
    remedy: str


DATUMARO = re.compile(rb'"categories"\s*:\s*\{\s*"(label|points|mask)"\s*:\s*\{')
DARWIN = re.compile(rb'"schema_ref"\s*:\s*"[^"]*darwin')
HASTY = re.compile(rb'"export_format_version"\s*:')
ENCORD = re.compile(rb'"label_hash"\s*:')
KILI = re.compile(rb'"(jsonMetadata|jsonResponse)"\s*:')
SCALE = re.compile(rb'"task_id"\s*:[^\0]*"attachment"\s*:')
_FORMATS = (
    _Format("Hasty", HASTY, "COCO"),
    _Format("Encord", ENCORD, "COCO"),
    _Format("Kili", KILI, "COCO"),
    _Format("Scale", SCALE, "COCO"),
    _Format("Datumaro", DATUMARO, "COCO"),
    _Format("V7 Darwin", DARWIN, "COCO"),
    _Format("Labelbox", re.compile(rb'"(data_row|Labeled Data)"\s*:'), "COCO"),
    _Format("Cityscapes", re.compile(rb'"imgHeight"\s*:'), "COCO"),
)


def is_of_a_format(start: bytes) -> bool:
    """Whether a file that begins so is of a program whose files are no tables."""
    return any(each.sign.search(start) for each in _FORMATS)


def described(root: str, paths: Sequence[str]) -> str:
    """What the first JSON or XML files among `paths`, below `root`, are; "" where there is none.

    Of those that are looked into, one of a format that is known.
    """
    looked = [path for path in paths if suffix(path) in ("json", "xml")][:_FILES_LOOKED_INTO]
    starts = {path: head(storage.join(root, path)) for path in looked}
    for path, start in starts.items():
        for each in _FORMATS:
            if each.sign.search(start):
                return f"{shown(path)} is of {each.name}: export or convert it as {each.remedy}"
    for path, start in starts.items():
        found = (_KEY if suffix(path) == "json" else _TAG).findall(start)
        if keys := [key.decode(errors="replace") for key in dict.fromkeys(found)][:_MAX_KEYS]:
            return (
                f"{shown(path)} holds {', '.join(keys)}: write what such files say into a table "
                "with a row per file (docs/manifests.md)"
            )
    return ""
