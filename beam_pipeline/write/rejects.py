"""rejects.jsonl: what was left out, and why.

However many rejects there are, few are in memory: so many as fit are sorted and written as a
run into the working directory, and the runs are merged.
"""

import dataclasses
import heapq
import io
import itertools
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile
from beam_pipeline.records import Rejected
from beam_pipeline.running.pickling import unpack
from beam_pipeline.write.working_directory import working_dir
from tfrecord_dataset.shown_text import printable, reading_order, without_secrets

REJECTS_FILE = "rejects.jsonl"
# Of a build that failed where a finished dataset is.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"

# Some 20 MB of them.
_RUN_REJECTS = 50_000
# Secrets are looked for in so many at once: for each line alone that took three times all else.
_LINES_AT_ONCE = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class SortedRejects:
    """Rejects in the order of their sources.

    Attributes:
        count: How many.
        runs: Parts of them, each in order.
    """

    count: int
    runs: Sequence[Iterable[Rejected]]

    def __iter__(self) -> Iterator[Rejected]:
        return heapq.merge(*self.runs, key=_order)


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """Sorted rejects in a file, as JSON lines: others may write there, and a pickle could act."""

    path: str

    def __iter__(self) -> Iterator[Rejected]:
        with storage.opened(self.path) as raw, io.BufferedReader(raw) as handle:
            for line in handle:
                yield Rejected(**json.loads(line))


def sorted_rejects(config: BuildConfig, packed: Iterable[bytes]) -> SortedRejects:
    """The rejects in packed batches, in the order of their sources."""
    runs: list[Iterable[Rejected]] = []
    waiting: list[Rejected] = []
    count = 0
    for batch in packed:
        rejects = [each for each in unpack(batch) if isinstance(each, Rejected)]
        count += len(rejects)
        waiting += rejects
        if len(waiting) >= _RUN_REJECTS:
            runs.append(_write_run(config, sorted(waiting, key=_order)))
            waiting = []
    return SortedRejects(count, [*runs, sorted(waiting, key=_order)])


def _write_run(config: BuildConfig, rejects: Sequence[Rejected]) -> _Run:
    run = _Run(_own_path(config))
    with storage.writing(run.path) as handle:
        for each in rejects:
            handle.write(f"{json.dumps(vars(each))}\n".encode())
    return run


def _own_path(config: BuildConfig) -> str:
    """A new file's: on a store, another build of a changed input may write to the same folder."""
    return storage.join(working_dir(config), "rejects", uuid.uuid4().hex)


def _order(reject: Rejected) -> tuple[str, ...]:
    source = reject.source
    return reading_order(source), source, reject.reason, reject.detail


def write_rejects(config: BuildConfig, rejects: Iterable[Rejected]) -> TemporaryFile:
    """Writes rejects.jsonl until the commit: source, reason and detail, one a line."""
    return _write(_own_path(config), rejects)


def write_failed_rejects(config: BuildConfig, rejects: Iterable[Rejected]) -> None:
    """Writes the rejects of a build that fails; those of a finished dataset stay."""
    finished = storage.exists(storage.join(config.dataset_dir, metadata.FILE))
    name = FAILED_REJECTS_FILE if finished else REJECTS_FILE
    _write(storage.join(config.dataset_dir, name), rejects)


def _write(path: str, rejects: Iterable[Rejected]) -> TemporaryFile:
    with storage.writing(path, durable=True) as handle:
        file = HashedFile(handle)
        lines = map(_line, rejects)
        while some := "".join(itertools.islice(lines, _LINES_AT_ONCE)):
            # JSON has escapes for line ends, so that all of these are ends of lines.
            file.write(printable(without_secrets(some)).encode())
    return TemporaryFile(path, file.num_bytes, file.sha256)


def _line(reject: Rejected) -> str:
    fields = {"source": reject.source, "reason": reject.reason, "detail": reject.detail}
    return json.dumps(fields, ensure_ascii=False) + "\n"
