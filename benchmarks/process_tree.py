"""Measures time, CPU time and memory of all processes of a command. Linux only."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# Measured programs keep compiled bytecode, like installed ones, whatever the environment of the
# benchmark.
ENVIRONMENT = {key: os.environ[key] for key in os.environ if key != "PYTHONDONTWRITEBYTECODE"}


class Figures(NamedTuple):
    """Figures of one run.

    Attributes:
        wall_s: Seconds from start to end.
        cpu_s: CPU seconds of all its processes.
        peak_mib: Peak memory of all its processes together (PSS, sampled every 50 ms).
        output: Its stdout.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str = ""


def measure(
    command: Sequence[str],
    others: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    exit_code: int = 0,
) -> Figures:
    """Runs a command to completion; `others` are further process trees that work for it."""
    started = time.monotonic()
    before, others_before = os.times(), sum(map(cpu_s_with_children, others))
    peak = 0.0
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(
            command, stdout=output, stderr=messages, env={**ENVIRONMENT, **(environment or {})}
        )
        while process.poll() is None:
            members = (member for root in (process.pid, *others) for member in family(root))
            peak = max(peak, sum(map(pss_mib, members)))
            time.sleep(0.05)
        output.seek(0)
        messages.seek(0)
        if process.returncode != exit_code:
            sys.exit(
                f"{' '.join(command)} ended with {process.returncode}: {messages.read()[-2000:]}"
            )
        after = os.times()
        cpu_s = sum(after[2:4]) - sum(before[2:4])  # of children that have ended
        cpu_s += sum(map(cpu_s_with_children, others)) - others_before
        return Figures(time.monotonic() - started, cpu_s, peak, output.read())


def family(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (thread / "children").read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from family(int(child))


def cpu_s_with_children(pid: int) -> float:
    """CPU seconds of a process and all its descendants, including those that have ended."""
    ticks = 0
    for member in family(pid):
        try:
            status = Path(f"/proc/{member}/stat").read_text()
        except OSError:  # it has ended
            continue
        ticks += sum(map(int, status.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_mib(pid: int) -> float:
    """Proportional set size: each shared page is divided among the processes that share it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def median_ratio(ones: Sequence[float], others: Sequence[float]) -> float:
    """Median ratio of paired consecutive runs."""
    return statistics.median(one / other for one, other in zip(ones, others, strict=True))
