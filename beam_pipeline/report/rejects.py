"""The first rejects of a dataset."""

import json

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from tfrecord_dataset.shown_text import shown

_MOST = 200

Reject = dict[str, str]


def first_rejects(path: str) -> list[Reject]:
    """Read the first rejects of a dataset: "source", "reason" and "detail"."""
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
    """Escape the texts of a reject."""
    return {name: shown(text) for name, text in reject.items()}
