"""What was left out: the first rejects of a dataset, and those that are images to look at."""

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.report import pictures
from beam_pipeline.sources.paths import IMAGE_SUFFIXES, suffix
from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.shown_text import shown

_MOST = 200
_PICTURES = 48
_MAX_BYTES = 64 << 20

Reject = dict[str, str]


def first_rejects(path: str) -> list[Reject]:
    """The first rejects of a dataset, as it states them: "source", "reason" and "detail"."""
    try:
        text = storage.read_start(storage.join(path, "rejects.jsonl"), 1 << 20)
    except (RecordError, OSError):
        return []
    rows = []
    for line in text.decode(errors="replace").splitlines()[:_MOST]:
        try:
            row = json.loads(line)
        except ValueError:
            break  # cut off
        if isinstance(row, dict):
            rows.append({name: str(row.get(name, "")) for name in ("source", "reason", "detail")})
    return rows


def as_shown(reject: Reject) -> Reject:
    """A reject without what acts."""
    return {name: shown(text) for name, text in reject.items()}


def pictured(rejects: Iterable[Reject], root: str) -> Iterator[dict[str, Any]]:
    """Those of the first rejects that are images below `root` and can be decoded, with "picture".

    Raises:
        ConfigError: `root` is no folder.
    """
    if not storage.is_directory(root):
        raise ConfigError(f"--rejects-from {root!r} is no folder; name the input of the build")
    number = 0
    for reject in rejects:
        if number < _PICTURES and (picture := _picture(reject["source"], root)):
            number += 1
            yield {**as_shown(reject), "picture": picture}


def _picture(source: str, root: str) -> str:
    """A small image of a file below `root`; "" where there is none, or it does not decode."""
    if suffix(source) not in IMAGE_SUFFIXES:
        return ""
    try:
        path = storage.join(root, inner_path(source, "rejects.jsonl: source"))
        if not storage.is_remote(root) and not _is_below(path, root):
            return ""
        data = storage.read_bytes(FileRef(path=path), _MAX_BYTES)
        return pictures.small(data)
    except (DatasetDamagedError, RecordError):
        return ""


def _is_below(path: str, root: str) -> bool:
    """Whether a path that may have links lies below a folder."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))
