"""Progress of a running job: stages write counts to files, and a thread shows their sums.

Beam's runners report metrics only after a stage or the job has ended, so every instance of a stage
writes its count to a small file in a folder that the launching process watches.
"""

import contextlib
import json
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from tfrecord_dataset.standard_streams import stderr_of_bars

_BEAT_S = 0.2
_LINE_S = 5.0
# On a store each look is a request per instance of a stage.
_REMOTE_LOOK_S = 10.0

# tqdm's formats of bars without and with a total.
_BARS = (
    "{desc}: {n_fmt}{unit} [{elapsed}{postfix}]",
    "{l_bar}{bar:8}| {n_fmt}/{total_fmt} [{remaining} left{postfix}]",
)

STAGES = {
    "read": "reading",
    "inspect": "inspecting",
    "write": "writing",
    "verify": "verifying",
    "diff": "comparing",
}


# A file with the total of each stage, once it is known.
_TOTALS = "totals"


class Meter:
    """Count the records that one instance of a stage (a key of STAGES) has processed.

    It writes the count into `directory`, unless that is empty, at most every `beat_s` seconds.
    """

    def __init__(self, directory: str, stage: str, beat_s: float = _BEAT_S):
        name = f"{stage}-{uuid.uuid4().hex}"
        self._path = storage.join(directory, name) if directory else ""
        self._beat_s = beat_s
        self._done = 0
        self._next_beat = 0.0

    def add(self, count: int) -> None:
        """Count more records."""
        self._done += count
        if self._path and time.monotonic() >= self._next_beat:
            self.beat()

    def beat(self) -> None:
        """Write the count now."""
        if self._path:
            _write(self._path, str(self._done))
        self._next_beat = time.monotonic() + self._beat_s


def state_totals(directory: str, totals: Mapping[str, int]) -> None:
    """Write the number of records of stages into `directory`, unless that is empty.

    A cluster that loses a worker repeats its part of a stage, which counts again.
    """
    if directory:
        _write(storage.join(directory, _TOTALS), json.dumps(totals))


def _write(path: str, text: str) -> None:
    # A missing folder means that nobody watches; no job fails for it.
    with contextlib.suppress(OSError, BeamTFRecordsError):
        if storage.is_remote(path):
            storage.write_bytes(path, text.encode())
        else:
            whole = Path(path)
            partial = whole.with_name(f".{whole.name}")
            partial.write_text(text)
            partial.replace(whole)


def counts(directory: str) -> Counter[str]:
    """Return the number of records processed so far, by stage; none exceeds a stated total."""
    done: Counter[str] = Counter()
    totals: dict[str, int] = {}
    for name in storage.list_dir(directory):
        if not name.startswith("."):
            # The job has just ended, or its worker's machine lost power.
            with contextlib.suppress(OSError, BeamTFRecordsError, ValueError):
                text = storage.read_text(storage.join(directory, name))
                if name == _TOTALS:
                    totals = json.loads(text)
                else:
                    done[name.partition("-")[0]] += int(text)
    return Counter({stage: min(done[stage], totals.get(stage, done[stage])) for stage in done})


@contextlib.contextmanager
def shown(directory: str) -> Iterator[None]:
    """Show progress on stderr: bars on a terminal, otherwise lines, at most every few seconds."""
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
    from tqdm import tqdm  # 25 ms, only for terminals

    bars: dict[str, tqdm[None]] = {}
    look_s = _REMOTE_LOOK_S if storage.is_remote(directory) else _BEAT_S
    is_over = False
    while not is_over:
        is_over = done.wait(look_s)
        now = counts(directory)
        for stage, title in STAGES.items():
            if not now[stage]:
                continue
            total = max(now["read"], now[stage]) if stage != "read" and now["read"] else None
            if stage not in bars:
                if stage == "write":  # begins once all is read; a bar keeps its line
                    _close(bars.values())
                look = {"unit": " records", "bar_format": _BARS[0], "file": stderr_of_bars()}
                bars[stage] = tqdm(desc=f"{title:10}", **look)
            bar = bars[stage]
            bar.n, bar.total = now[stage], total  # the total grows until all is read
            bar.bar_format = _BARS[total is not None]
            if (seconds := bar.format_dict["elapsed"]) >= 1:
                bar.set_postfix_str(f"{bar.n / seconds:,.0f}/s", refresh=False)
            bar.refresh()
    _close(bars.values())


def _close(bars: Iterable[Any]) -> None:
    for bar in bars:
        bar.close()


def _show_lines(directory: str, done: threading.Event) -> None:
    line_s = _REMOTE_LOOK_S if storage.is_remote(directory) else _LINE_S
    last = ""
    while not done.wait(line_s):
        now = counts(directory)
        line = ", ".join(f"{title} {now[stage]:,}" for stage, title in STAGES.items() if now[stage])
        if (line := f"records: {line or 'none yet'}") != last:
            print(line, file=sys.stderr, flush=True)
            last = line
