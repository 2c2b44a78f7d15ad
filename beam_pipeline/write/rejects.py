"""Writes rejects.jsonl: the records left out, and why, in the order of their sources.

Rejects may exceed the memory, so they are sorted in runs, and the runs are merged as they are
written.
"""

import dataclasses
import heapq
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile
from beam_pipeline.records import Rejected
from beam_pipeline.running.buckets import Buffer
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.running.spill import NOT_SPILLED, Spill
from beam_pipeline.write.working_directory import shards_dir
from tfrecord_dataset.shown_text import printable, reading_order, without_secrets

REJECTS_FILE = "rejects.jsonl"
# For a failed build over a finished dataset.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"

# Sorted at once: about 20 MB. The merge holds a block of each run.
_RUN_REJECTS = 50_000
_BLOCK_REJECTS = 256

# A sort key, and the reject's line in the file.
_Order = tuple[str, ...]
_Line = tuple[_Order, str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SortedRejects:
    """Lines of rejects, sorted in runs.

    Attributes:
        count: Number of lines.
        runs: Packed and spilled blocks of lines; each run is sorted.
        spill: Location of the blocks.
    """

    count: int = 0
    runs: Sequence[Sequence[bytes]] = ()
    spill: Spill = NOT_SPILLED

    def lines(self) -> Iterator[str]:
        """Yield all lines in order."""
        runs = (
            itertools.chain.from_iterable(map(unpack, self.spill.all(run))) for run in self.runs
        )
        return (line for _, line in heapq.merge(*runs))


def sort_rejects(batches: Iterable[bytes], spill: Spill) -> SortedRejects:
    """Sort packed batches of rejects (and possibly other items).

    Args:
        batches: The batches.
        spill: Location for spilled data.
    """

    def sorted_run(lines: Sequence[_Line]) -> Iterator[tuple[int, list[bytes]]]:
        ordered, starts = sorted(lines), range(0, len(lines), _BLOCK_REJECTS)
        blocks = (ordered[start : start + _BLOCK_REJECTS] for start in starts)
        yield len(lines), [spill.put(pack(block)) for block in blocks]

    lines = itertools.chain.from_iterable(map(lines_of, batches))
    runs = [*Buffer(sorted_run, max_number=_RUN_REJECTS).all(lines, lambda line: len(line[1]))]
    count = sum(num_lines for num_lines, _ in runs)
    return SortedRejects(count=count, runs=[blocks for _, blocks in runs], spill=spill)


def lines_of(packed: bytes) -> Iterator[_Line]:
    """Extract the lines of the rejects in a packed batch."""
    rejects = [each for each in unpack(packed) if isinstance(each, Rejected)]
    # JSON escapes line ends, so every line break ends a reject.
    text = printable(without_secrets("".join(map(_line, rejects))))
    orders = (_order((each.source, each.reason, each.detail)) for each in rejects)
    return zip(orders, text.split("\n")[:-1], strict=True)


def _order(facts: tuple[str, ...]) -> _Order:
    source, *rest = facts
    return reading_order(source), source, *rest


def write_rejects(config: BuildConfig, rejects: SortedRejects) -> TemporaryFile:
    """Write rejects.jsonl atomically, one source, reason and detail per line."""
    return _write(storage.join(shards_dir(config), REJECTS_FILE), rejects, is_new=True)


def write_failed_rejects(config: BuildConfig, rejects: SortedRejects) -> None:
    """Write the rejects of a failed build to `failed_rejects_path`."""
    _write(failed_rejects_path(config), rejects, is_new=False)


def failed_rejects_path(config: BuildConfig) -> str:
    """Path for the rejects of a failed build; keeps those of a finished dataset."""
    stays = storage.is_remote(config.dataset_dir) or storage.exists(
        storage.join(config.dataset_dir, metadata.FILE)
    )
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
