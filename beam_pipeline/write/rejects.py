"""rejects.jsonl: what was left out, and why.

Workers put each batch of rejects in order and make its lines (`lines_of`); the commit, which is one
worker's, merges them. However many there are, few are in memory: so many as fit are written as a
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
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.write.working_directory import working_dir
from tfrecord_dataset.shown_text import printable, reading_order, without_secrets

REJECTS_FILE = "rejects.jsonl"
# Of a build that failed where a finished dataset is.
FAILED_REJECTS_FILE = f"failed-{REJECTS_FILE}"

# Some 20 MB of them.
_RUN_REJECTS = 50_000
_LINES_AT_ONCE = 1_000


# What decides its place, and the reject as the file has it.
_Line = tuple[tuple[str, ...], str]


@dataclasses.dataclass(frozen=True, slots=True)
class SortedRejects:
    """Lines of rejects in the order of their sources.

    Attributes:
        count: How many.
        runs: Parts of them, each in order.
    """

    count: int
    runs: Sequence[Iterable[_Line]]

    def __iter__(self) -> Iterator[str]:
        return (f"{line}\n" for _, line in heapq.merge(*self.runs))


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """Sorted lines in a file, as JSON: others may write there, and a pickle could act."""

    path: str

    def __iter__(self) -> Iterator[_Line]:
        with storage.opened(self.path) as raw, io.BufferedReader(raw) as handle:
            for written in handle:
                *order, line = json.loads(written)
                yield tuple(order), line


def lines_of(packed: bytes) -> bytes:
    """A packed batch of rejects, and perhaps others, as a packed batch of their sorted lines."""
    rejects = sorted((each for each in unpack(packed) if isinstance(each, Rejected)), key=_order)
    # JSON has escapes for line ends, so that all of these are ends of lines.
    text = printable(without_secrets("".join(map(_line, rejects))))
    return pack(zip(map(_order, rejects), text.split("\n")[:-1], strict=True))


def sorted_rejects(config: BuildConfig, packed: Iterable[bytes]) -> SortedRejects:
    """The lines in batches of `lines_of`, in the order of their sources."""
    runs: list[Iterable[_Line]] = []
    waiting: list[_Line] = []
    count = 0
    for batch in packed:
        lines = unpack(batch)
        count += len(lines)
        waiting += lines
        if len(waiting) >= _RUN_REJECTS:
            runs.append(_write_run(config, sorted(waiting)))
            waiting = []
    return SortedRejects(count, [*runs, sorted(waiting)])


def _write_run(config: BuildConfig, lines: Sequence[_Line]) -> _Run:
    run = _Run(_own_path(config))
    with storage.writing(run.path) as handle:
        for order, line in lines:
            handle.write(f"{json.dumps([*order, line])}\n".encode())
    return run


def _own_path(config: BuildConfig) -> str:
    """A new file's: on a store, another build of a changed input may write to the same folder."""
    return storage.join(working_dir(config), "rejects", uuid.uuid4().hex)


def _order(reject: Rejected) -> tuple[str, ...]:
    source = reject.source
    return reading_order(source), source, reject.reason, reject.detail


def write_rejects(config: BuildConfig, rejects: SortedRejects) -> TemporaryFile:
    """Writes rejects.jsonl until the commit: source, reason and detail, one a line."""
    return _write(_own_path(config), rejects)


def write_failed_rejects(config: BuildConfig, rejects: SortedRejects) -> None:
    """Writes the rejects of a build that fails; those of a finished dataset stay."""
    finished = storage.exists(storage.join(config.dataset_dir, metadata.FILE))
    name = FAILED_REJECTS_FILE if finished else REJECTS_FILE
    _write(storage.join(config.dataset_dir, name), rejects)


def _write(path: str, rejects: SortedRejects) -> TemporaryFile:
    with storage.writing(path, durable=True) as handle:
        file = HashedFile(handle)
        lines = iter(rejects)
        while some := "".join(itertools.islice(lines, _LINES_AT_ONCE)):
            file.write(some.encode())
    return TemporaryFile(path, file.num_bytes, file.sha256)


def _line(reject: Rejected) -> str:
    fields = {"source": reject.source, "reason": reject.reason, "detail": reject.detail}
    return json.dumps(fields, ensure_ascii=False) + "\n"
