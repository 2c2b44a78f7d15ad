"""Writes rejects.jsonl: the records left out, and why.

Rejects are partitioned into ranges at quantiles of a sample (`Statistics.some_rejects`). Each range
is sorted in memory, and the commit writes one after the other.
"""

import bisect
import dataclasses
import itertools
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile
from beam_pipeline.records import Rejected
from beam_pipeline.running.buckets import gather, send
from beam_pipeline.running.pickling import unpack
from beam_pipeline.running.spill import NOT_SPILLED, Spill
from beam_pipeline.write.working_directory import shards_dir
from tfrecord_dataset.shown_text import printable, reading_order, without_secrets

REJECTS_FILE = "rejects.jsonl"
# For a failed build over a finished dataset.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"

# About 20 MB of rejects.
_RANGE_REJECTS = 50_000
# Sample size per range, so that ranges have about equal size.
_LEAST_OF_RANGE = 16

# A sort key, and the reject's line in the file.
_Order = tuple[str, ...]
_Line = tuple[_Order, str]


@dataclasses.dataclass(frozen=True, slots=True)
class RejectsRange:
    """Sorted lines of rejects.

    Attributes:
        number: Number of the range.
        count: Number of lines.
        text: The lines, compressed and spilled.
    """

    number: int
    count: int
    text: bytes


def sort_rejects(
    batches: Iterable[bytes], statistics: Statistics, spill: Spill
) -> list[RejectsRange]:
    """Sort packed batches of rejects (and possibly other items) into ranges.

    Args:
        batches: The batches.
        statistics: Statistics of all records, with a sample of the rejects.
        spill: Location for spilled data.
    """
    by_range: dict[int, list[bytes]] = {}
    for number, packed in divided(batches, range_starts(statistics)):
        by_range.setdefault(number, []).append(spill.put(packed))
    return [sorted_range(number, spill.all(packed), spill) for number, packed in by_range.items()]


def range_starts(statistics: Statistics) -> list[_Order]:
    """Return the start of every range after the first."""
    some = sorted(map(_order, statistics.some_rejects.values))
    number = 1 + min(statistics.rejected.total() // _RANGE_REJECTS, len(some) // _LEAST_OF_RANGE)
    return [some[each * len(some) // number] for each in range(1, number)]


def lines_of(packed: bytes) -> Iterator[_Line]:
    """Extract the lines of the rejects in a packed batch."""
    rejects = [each for each in unpack(packed) if isinstance(each, Rejected)]
    # JSON escapes line ends, so every line break ends a reject.
    text = printable(without_secrets("".join(map(_line, rejects))))
    orders = (_order((each.source, each.reason, each.detail)) for each in rejects)
    return zip(orders, text.split("\n")[:-1], strict=True)


def divided(batches: Iterable[bytes], starts: Sequence[_Order]) -> Iterator[tuple[int, bytes]]:
    """Yield (range, packed lines) of packed batches."""
    lines = itertools.chain.from_iterable(map(lines_of, batches))
    return send(
        ((bisect.bisect_right(starts, line[0]), line) for line in lines), lambda line: len(line[1])
    )


def sorted_range(number: int, packed: Iterable[bytes], spill: Spill = NOT_SPILLED) -> RejectsRange:
    """Sort the lines of one range; memory holds equal lines once."""
    counts: Counter[_Line] = Counter(gather(packed))
    text = "".join(f"{line}\n" * counts[order, line] for order, line in sorted(counts))
    return RejectsRange(number, counts.total(), spill.put(zlib.compress(text.encode(), level=1)))


def num_rejected(ranges: Iterable[RejectsRange]) -> int:
    """Number of rejects in ranges."""
    return sum(each.count for each in ranges)


def _order(facts: tuple[str, ...]) -> _Order:
    source, *rest = facts
    return reading_order(source), source, *rest


def write_rejects(
    config: BuildConfig, ranges: Iterable[RejectsRange], spill: Spill = NOT_SPILLED
) -> TemporaryFile:
    """Write rejects.jsonl atomically, one source, reason and detail per line."""
    return _write(storage.join(shards_dir(config), REJECTS_FILE), ranges, spill, is_new=True)


def write_failed_rejects(
    config: BuildConfig, ranges: Iterable[RejectsRange], spill: Spill = NOT_SPILLED
) -> None:
    """Write the rejects of a failed build to `failed_rejects_path`."""
    _write(failed_rejects_path(config), ranges, spill, is_new=False)


def failed_rejects_path(config: BuildConfig) -> str:
    """Path for the rejects of a failed build; keeps those of a finished dataset."""
    stays = storage.is_remote(config.dataset_dir) or storage.exists(
        storage.join(config.dataset_dir, metadata.FILE)
    )
    return storage.join(config.dataset_dir, FAILED_REJECTS_FILE if stays else REJECTS_FILE)


def _write(
    path: str, ranges: Iterable[RejectsRange], spill: Spill, *, is_new: bool
) -> TemporaryFile:
    with storage.writing(path, durable=True, is_new=is_new) as handle:
        file = HashedFile(handle)
        for each in sorted(ranges, key=lambda each: each.number):
            file.write(zlib.decompress(spill.get(each.text)))
    return TemporaryFile.of(path, file)


def _line(reject: Rejected) -> str:
    fields = {"source": reject.source, "reason": reject.reason, "detail": reject.detail}
    return json.dumps(fields, ensure_ascii=False) + "\n"
