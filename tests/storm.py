"""Kill storms: real commands, killed at random moments, and run again until they end.

    make storm SEEDS=100
    .venv/bin/python tests/storm.py --cases build export --seeds 1 --first 17    # one seed again

Each seed kills a command by SIGKILL of its process group, once or several times in a row, at
moments drawn over the time that an undisturbed one takes. What is there in between has to be what
was there before or what the command makes, whole; the end is that of an undisturbed run, and
nothing else is left behind.
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from storm_cases import CASES, OF_MODELS, Case, State, begin, finished, make_inputs, run

_LEFT = re.compile(r"\..*|.*\.partial|.*\.aside")
# TensorFlow's own, the folder through which Keras saves, and the file by which Python tries
# whether there is a place for temporary files: no other process deletes them.
_OF_LIBRARIES = re.compile(r"__autograph_generated_file.*\.py|(tmp)?[a-z0-9_]{8}")


@dataclasses.dataclass
class Score:
    """What came of one case.

    Attributes:
        kills: Processes that were killed before they had ended.
        equal: Seeds whose end was that of an undisturbed run.
        faults: What was wrong, with its seed.
    """

    kills: int = 0
    equal: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)


def storm(case: Case, seeds: Sequence[int], inputs: Path, root: Path) -> Score:
    """Runs a case undisturbed, and then once for each seed."""
    score = Score()
    with _outputs(case, inputs, root) as out:
        before, start = case.state(out), time.monotonic()
        run(case.command(inputs, out), out)
        duration = time.monotonic() - start
        after, end = case.state(out), case.end(out)
    for seed in seeds:
        draw = random.Random(f"{case.name} {seed}")
        with _outputs(case, inputs, root) as out:
            fault = functools.partial(_found, score, f"{case.name}, seed {seed}")
            line = case.command(inputs, out)
            for _ in range(draw.choice((1, 1, 2, 3))):
                ended_s = _run_or_kill(line, out, draw.uniform(0, duration))
                score.kills += ended_s is None
                duration = min(duration, ended_s or duration)  # a machine is busier at times
                if (now := case.state(out)) not in (before, after):
                    fault("in between", now, after)
            code, err = finished(line, out)
            # One that was killed once all was done finds that it is.
            if code and not (code == 2 and now == after):
                score.faults.append(f"{case.name}, seed {seed}: exit {code}: {err}")
                continue
            found = {**case.state(out), **case.end(out)}
            if found != {**after, **end}:
                fault("at the end", found, {**after, **end})
            else:
                score.equal += 1
            if not code:  # one that is refused clears nothing away
                score.faults += [
                    f"{case.name}, seed {seed}: left behind: {path}" for path in _left(out)
                ]
    return score


def _found(score: Score, where: str, when: str, found: State, expected: State) -> None:
    different = [
        path for path in sorted({*found, *expected}) if found.get(path) != expected.get(path)
    ]
    score.faults.append(f"{where}: {when} these differ: {different}")


@contextlib.contextmanager
def _outputs(case: Case, inputs: Path, root: Path) -> Iterator[Path]:
    """A new folder with what is there before."""
    with tempfile.TemporaryDirectory(dir=root, prefix="storm-") as folder:
        out = Path(folder, "out")
        out.mkdir()
        case.lay(inputs, out)
        yield out


def _run_or_kill(line: Sequence[str | Path], out: Path, seconds: float) -> float | None:
    """Runs a command for so long; after how many seconds it ended, or None where it was killed."""
    start, process = time.monotonic(), begin(line, out)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return time.monotonic() - start


def _left(out: Path) -> list[Path]:
    """What nobody needs once a command has ended."""
    made = [path for path in out.rglob("*") if _LEFT.fullmatch(path.name)]
    temporary = [
        path
        for path in (out.parent / "temporary").iterdir()
        if not _OF_LIBRARIES.fullmatch(path.name)
    ]
    return [*made, *temporary]


def main() -> int:
    """Prints a line for each case, and what was wrong; returns whether anything was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [case.name for case in CASES]
    parser.add_argument("--cases", nargs="+", choices=names, default=names, metavar="CASE")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    faults = []
    print("| case | seeds | kills | equal | faults |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="storm-") as folder:
        inputs = Path(folder, "inputs")
        inputs.mkdir()
        make_inputs(inputs, models=any(name in OF_MODELS for name in options.cases))
        seeds = range(options.first, options.first + options.seeds)
        for case in CASES:
            if case.name in options.cases:
                score = storm(case, seeds, inputs, Path(folder))
                row = (case.name, len(seeds), score.kills, score.equal, len(score.faults))
                print(f"| {' | '.join(map(str, row))} |", flush=True)
                faults += score.faults
    print(*faults, sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
