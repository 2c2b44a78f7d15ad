"""How far a running job is: stages beat, a watcher adds up and shows.

Beam's local runner tells its metrics only after the job, so every stage instance writes
its count to a small file of its own in a folder that the launching process watches.
"""

import contextlib
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

_BEAT_S = 0.2
_PLAIN_LINE_S = 5.0

STAGES = {
    "read": "Reading",
    "inspect": "Inspecting",
    "write": "Writing",
    "verify": "Verifying",
}


class Meter:
    """Counts the records that one instance of a stage has done.

    Args:
        directory: Where the count is written; empty for nowhere (a remote job).
        stage: A key of STAGES.
    """

    def __init__(self, directory: str, stage: str):
        self._path = Path(directory, f"{stage}-{uuid.uuid4().hex}") if directory else None
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
            # A folder that is gone means that nobody watches any more.
            with contextlib.suppress(OSError):
                partial = self._path.with_name(f".{self._path.name}")
                partial.write_text(str(self._done))
                partial.replace(self._path)
        self._next_beat = time.monotonic() + _BEAT_S


def counts(directory: str) -> Counter[str]:
    """Records done so far, by stage."""
    total: Counter[str] = Counter()
    for path in Path(directory).glob("[!.]*"):
        total[path.name.partition("-")[0]] += int(path.read_text())
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
    bars: dict[str, tqdm[None]] = {}
    finished = False
    while not finished:
        finished = done.wait(_BEAT_S)
        now = counts(directory)
        for stage, title in STAGES.items():
            if now[stage] and stage not in bars:
                bars[stage] = tqdm(desc=f"{title:10}", unit=" records", file=sys.stderr)
            if stage in bars:
                # What was read is known only when all is: until then the total grows with it.
                bars[stage].total = max(now["read"], now[stage]) if stage != "read" else None
                bars[stage].n = now[stage]
                bars[stage].refresh()
    for bar in bars.values():
        bar.close()


def _show_lines(directory: str, done: threading.Event) -> None:
    while not done.wait(_PLAIN_LINE_S):
        now = counts(directory)
        line = ", ".join(
            f"{title.lower()} {now[stage]:,}" for stage, title in STAGES.items() if now[stage]
        )
        print(f"records: {line or 'none yet'}", file=sys.stderr, flush=True)
