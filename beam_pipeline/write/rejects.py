"""rejects.jsonl: what was left out, and why."""

import json
from collections.abc import Iterable

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected, reading_order
from beam_pipeline.running.pickling import unpack

REJECTS_FILE = "rejects.jsonl"
# Of a build that failed where a finished dataset is.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"


def sorted_rejects(packed: Iterable[bytes]) -> list[Rejected]:
    """The rejects in packed batches, in the order of their sources."""
    rejects = (each for batch in packed for each in unpack(batch) if isinstance(each, Rejected))
    return sorted(rejects, key=_order)


def _order(reject: Rejected) -> tuple[str, ...]:
    source = reject.source
    return reading_order(source), source, reject.reason, reject.detail


def write_rejects(folder: str, rejects: Iterable[Rejected]) -> None:
    """Writes rejects.jsonl into a folder: source, reason and detail, one a line."""
    _write(storage.join(folder, REJECTS_FILE), rejects)


def write_failed_rejects(config: BuildConfig, rejects: Iterable[Rejected]) -> None:
    """Writes the rejects of a build that fails; those of a finished dataset stay."""
    finished = storage.exists(storage.join(config.dataset_dir, metadata.FILE))
    name = FAILED_REJECTS_FILE if finished else REJECTS_FILE
    _write(storage.join(config.dataset_dir, name), rejects)


def _write(path: str, rejects: Iterable[Rejected]) -> None:
    lines = (
        json.dumps(
            {"source": each.source, "reason": each.reason, "detail": each.detail},
            ensure_ascii=False,
        )
        for each in rejects
    )
    text = "".join(f"{line}\n" for line in lines)
    storage.write_bytes(path, text.encode(errors="replace"))
