"""How far a running job is: stages beat, a watcher adds up and shows.

Beam's runners tell their metrics after the job, or when a stage has ended, so every stage
instance writes its count to a small file of its own in a folder that the launching process watches.
"""

import contextlib
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from tfrecord_dataset.standard_streams import stderr_of_bars

_BEAT_S = 0.2
_PLAIN_LINE_S = 5.0
# On a store each look is a request for every stage of every worker.
_REMOTE_LOOK_S = 10.0

STAGES = {
    "read": "Reading",
    "inspect": "Inspecting",
    "write": "Writing",
    "verify": "Verifying",
    "diff": "Comparing",
}


class Meter:
    """Counts the records that one instance of a stage has done.

    Args:
        directory: Where the count is written; empty for nowhere.
        stage: A key of STAGES.
        beat_s: Seconds between two counts at least.
    """

    def __init__(self, directory: str, stage: str, beat_s: float = _BEAT_S):
        name = f"{stage}-{uuid.uuid4().hex}"
        self._path = storage.join(directory, name) if directory else ""
        self._beat_s = beat_s
        self._done = 0
        self._next_beat = 0.0

    def add(self, count: int) -> None:
        """`count` more records are done."""
        self._done += count
        if self._path and time.monotonic() >= self._next_beat:
            self.beat()

    def beat(self) -> None:
        """Writes the count, however lately the last beat was."""
        if self._path:
            # A folder that is gone means that nobody watches any more; no job fails for it.
            with contextlib.suppress(OSError, BeamTFRecordsError):
                if storage.is_remote(self._path):
                    storage.write_bytes(self._path, str(self._done).encode())
                else:
                    path = Path(self._path)
                    partial = path.with_name(f".{path.name}")
                    partial.write_text(str(self._done))
                    partial.replace(path)
        self._next_beat = time.monotonic() + self._beat_s


def counts(directory: str) -> Counter[str]:
    """Records done so far, by stage."""
    total: Counter[str] = Counter()
    for name in storage.list_dir(directory):
        if not name.startswith("."):
            # The job has just ended, or its worker's machine lost power.
            with contextlib.suppress(OSError, BeamTFRecordsError, ValueError):
                count = storage.read_text(storage.join(directory, name))
                total[name.partition("-")[0]] += int(count)
    return total


@contextlib.contextmanager
def shown(directory: str) -> Iterator[None]:
    """Shows on stderr how far the job is: bars on a terminal, a line every few seconds else."""
    done = threading.Event()
    show = _show_bars if sys.stderr.isatty() else _show_lines
    watcher = threading.Thread(target=show, args=(directory, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _show_bars(directory: str, done: threading.Event) -> None:
    from tqdm import tqdm  # 25 ms, for terminals alone

    bars: dict[str, tqdm[None]] = {}
    finished = False
    look_s = _REMOTE_LOOK_S if storage.is_remote(directory) else _BEAT_S
    while not finished:
        finished = done.wait(look_s)
        now = counts(directory)
        for stage, title in STAGES.items():
            if now[stage] and stage not in bars:
                bars[stage] = tqdm(desc=f"{title:10}", unit=" records", file=stderr_of_bars())
            if stage in bars:
                # What was read is known only when all is: until then the total grows with it.
                bars[stage].total = max(now["read"], now[stage]) if stage != "read" else None
                bars[stage].n = now[stage]
                bars[stage].refresh()
    for bar in bars.values():
        bar.close()


def _show_lines(directory: str, done: threading.Event) -> None:
    line_s = _REMOTE_LOOK_S if storage.is_remote(directory) else _PLAIN_LINE_S
    while not done.wait(line_s):
        now = counts(directory)
        line = ", ".join(
            f"{title.lower()} {now[stage]:,}" for stage, title in STAGES.items() if now[stage]
        )
        print(f"records: {line or 'none yet'}", file=sys.stderr, flush=True)
