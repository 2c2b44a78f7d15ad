"""`build` against a hand-written script with the same checks, in one run.

    python benchmarks/against_hand_written.py [--count 50000] [--kilobytes 3] [--runs 3]

Prints a table: the median wall time, CPU time and peak memory of each, and the ratios of
pairs of runs that followed one another. Memory is the sum over a program's processes of the
memory that is theirs (PSS), looked at every 50 ms. Linux only.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Figures(NamedTuple):
    """What one run took.

    Attributes:
        wall_s: Seconds from start to end.
        cpu_s: Seconds of all its processes.
        peak_mib: Most memory at once, of all its processes together.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float


def main() -> None:
    """Makes the images where they are missing, runs both in turn, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kilobytes", type=float, default=3.0, help="about, an image")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir(), "against_hand_written")
    )
    args = parser.parse_args()
    images = args.folder / f"images_{args.count}_{args.kilobytes:g}"
    if not images.exists():
        make = [HERE / "make_images.py", images, "--count", str(args.count)]
        make += ["--kilobytes", str(args.kilobytes)]
        subprocess.run([sys.executable, *make], check=True)
    build = ["-m", "beam_pipeline", "build", str(images), "--output", str(args.folder / "data")]
    commands = {
        "hand-written": [str(HERE / "hand_written.py"), str(images), str(args.folder / "hand")],
        "build": [*build, "--overwrite", "--num-shards", "8"],
    }
    runs: dict[str, list[Figures]] = {name: [] for name in commands}
    for _ in range(args.runs):
        for name, command in commands.items():
            runs[name].append(measure([sys.executable, *command]))
    print(f"{'':14}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}   (medians of {args.runs})")
    for name, figures in runs.items():
        wall, cpu, peak = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"{name:14}{wall:9.1f}{cpu:9.1f}{peak:10.0f}")
    pairs = list(zip(runs["build"], runs["hand-written"], strict=True))
    for title, field in (("wall", 0), ("CPU", 1)):
        ratios = sorted(one[field] / other[field] for one, other in pairs)
        print(f"ratio of {title}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")


def measure(command: Sequence[str], others: Sequence[int] = ()) -> Figures:
    """Runs a command to its end; `others` are processes that work for it, with their own."""
    started = time.monotonic()
    before, others_before = os.times(), sum(map(cpu_s_with_children, others))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        members = (member for root in (process.pid, *others) for member in family(root))
        peak = max(peak, sum(map(pss_mib, members)))
        time.sleep(0.05)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    after = os.times()
    cpu_s = sum(after[2:4]) - sum(before[2:4])  # of children that have ended
    cpu_s += sum(map(cpu_s_with_children, others)) - others_before
    return Figures(time.monotonic() - started, cpu_s, peak)


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (thread / "children").read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from family(int(child))


def cpu_s_with_children(pid: int) -> float:
    """The CPU time of a process and of all that descend from it, also of those that have ended."""
    ticks = 0
    for member in family(pid):
        try:
            status = Path(f"/proc/{member}/stat").read_text()
        except OSError:  # it has ended
            continue
        ticks += sum(map(int, status.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_mib(pid: int) -> float:
    """The memory that is the process's own, shared pages divided among those who share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


if __name__ == "__main__":
    main()
