"""Writes rejects.jsonl: the records left out, and why, in the order of their sources.

Rejects may exceed the memory, so they are sorted in runs, and the runs are merged as they are
written.
"""

import dataclasses
import heapq
import json
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import is_dataset
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile
from beam_pipeline.records import Rejected
from beam_pipeline.running.buckets import sorted_runs
from beam_pipeline.running.pickling import unpack
from beam_pipeline.running.spill import Spill
from beam_pipeline.write.directories import shards_dir
from tfrecord_dataset.shown_text import printable, reading_order, without_secrets

REJECTS_FILE = "rejects.jsonl"
# For a failed build over a finished dataset.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"

# About 20 MB.
_RUN_REJECTS = 50_000

# A sort key, and the reject's line in the file.
_Line = tuple[tuple[str, ...], str]


@dataclasses.dataclass(frozen=True, slots=True)
class SortedRejects:
    """Lines of rejects: their number, and sorted runs of them."""

    count: int = 0
    runs: Sequence[Iterable[_Line]] = ()

    def lines(self) -> Iterator[str]:
        """Yield all lines in order."""
        return (line for _, line in heapq.merge(*self.runs))


def sort_rejects(batches: Iterable[bytes], spill: Spill) -> SortedRejects:
    """Sort packed batches of rejects (and possibly other items); they wait in `spill`."""
    count = 0

    def lines() -> Iterator[_Line]:
        nonlocal count
        for batch in batches:
            some = lines_of(batch)
            count += len(some)
            yield from some

    runs = sorted_runs(lines(), spill, _RUN_REJECTS)
    return SortedRejects(count, runs)


def lines_of(packed: bytes) -> list[_Line]:
    """Extract the lines of the rejects in a packed batch."""
    rejects = [each for each in unpack(packed) if isinstance(each, Rejected)]
    # JSON escapes line ends, so every line break ends a reject.
    text = printable(without_secrets("".join(map(_line, rejects))))
    orders = ((reading_order(one.source), one.source, one.reason, one.detail) for one in rejects)
    return list(zip(orders, text.split("\n")[:-1], strict=True))


def write_rejects(config: BuildConfig, rejects: SortedRejects) -> TemporaryFile:
    """Write rejects.jsonl atomically, one source, reason and detail per line."""
    return _write(storage.join(shards_dir(config), REJECTS_FILE), rejects, is_new=True)


def write_failed_rejects(config: BuildConfig, rejects: SortedRejects) -> None:
    """Write the rejects of a failed build to `failed_rejects_path`."""
    _write(failed_rejects_path(config), rejects, is_new=False)


def failed_rejects_path(config: BuildConfig) -> str:
    """Path for the rejects of a failed build; keeps those of a finished dataset."""
    stays = storage.is_remote(config.dataset_dir) or is_dataset(config.dataset_dir)
    return storage.join(config.dataset_dir, FAILED_REJECTS_FILE if stays else REJECTS_FILE)


def _write(path: str, rejects: SortedRejects, *, is_new: bool) -> TemporaryFile:
    with storage.writing(path, durable=True, is_new=is_new) as handle:
        file = HashedFile(handle)
        for line in rejects.lines():
            file.write(f"{line}\n".encode())
    return TemporaryFile.of(path, file)


def _line(reject: Rejected) -> str:
    fields = {"source": reject.source, "reason": reject.reason, "detail": reject.detail}
    return json.dumps(fields, ensure_ascii=False) + "\n"
