"""Runs cases in a child process and reports those that hang, crash or use too much memory."""

import contextlib
import dataclasses
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beam_pipeline.errors import BeamTFRecordsError, RecordError
from fuzz.mutation import mutated
from fuzz.targets import FORMATS

MAX_SECONDS = 10
MAX_GROWTH_BYTES = 1 << 30
_MAX_WAIT_SECONDS = 300  # on a busy machine, only a hung case takes longer
# Signals that end the process of a case that exceeds a limit.
_LIMITS = {
    signal.SIGXCPU: f"over {MAX_SECONDS} s of CPU time",
    signal.SIGALRM: f"it waits for over {_MAX_WAIT_SECONDS} s",
}


OUTCOMES = ("taken", "rejected", "errors")


@dataclasses.dataclass(kw_only=True)
class Report:
    """Cases of a format by outcome, peak CPU time and memory of a case, faults by seed."""

    outcomes: Counter[str] = dataclasses.field(default_factory=Counter)
    slowest_ms: float = 0.0
    peak_mb: float = 0.0
    faults: list[tuple[int, str]] = dataclasses.field(default_factory=list)


def case_of(name: str, seed: int, right: list[bytes]) -> bytes:
    """The case of a format and a seed: a mutation of one of the `right` files."""
    form = FORMATS[name]
    draw = random.Random(f"{name}-{seed}")
    data = draw.choice(right)
    if form.change and draw.random() < form.share:
        return form.change(draw, data)
    data = mutated(draw, data, right)
    return form.seal(data) if form.seal and draw.random() < 0.5 else data


def try_case(name: str, data: bytes) -> str:
    """ "taken", "rejected" or "errors"; raises for anything else."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return "rejected" if FORMATS[name].read(data, Path(folder)) else "taken"
        except RecordError:
            return "rejected"
        except BeamTFRecordsError:
            return "errors"


def run(name: str, seeds: range, found: Path | None = None) -> Report:
    """Runs the cases of these seeds; writes faults into `found`."""
    report = Report()
    left = seeds
    while left:
        last = left.start - 1
        for last, outcome in _child(name, left):
            report.slowest_ms = max(report.slowest_ms, outcome["ms"])
            report.peak_mb = max(report.peak_mb, outcome["mb"])
            what = outcome["what"]
            report.outcomes[what if what in OUTCOMES else "faults"] += 1
            if what not in OUTCOMES:
                report.faults.append((last, what))
                if found:
                    _keep(found, name, last)
        left = seeds[last + 1 - seeds.start :]
    return report


def _keep(folder: Path, name: str, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}-{seed}").write_bytes(case_of(name, seed, FORMATS[name].corpus()))


def _child(name: str, seeds: range) -> Iterator[tuple[int, Any]]:
    """Yields (seed, outcome) of cases, up to one that ends the process."""
    command = [sys.executable, "-m", "fuzz", "--child", name, str(seeds.start), str(seeds.stop)]
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "PYTHONPATH": f"{root}:{root / 'tests'}",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "OPENBLAS_NUM_THREADS": "1",
    }
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        ) as child,
    ):
        assert child.stdout
        seed = seeds.start
        for finding in map(json.loads, child.stdout):
            if "what" in finding:
                yield seed, finding
            else:
                seed = finding["seed"]
        if code := child.wait():
            errors.seek(0)
            what = _LIMITS.get(-code, f"the process ended: {code}: {errors.read()[-2000:]}")
            yield seed, {"what": what, "ms": 0.0, "mb": 0.0}


def child(name: str, seeds: range) -> None:
    """Runs cases and reports on stdout before and after each."""
    tell = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of libraries goes to stderr
    right = FORMATS[name].corpus()
    for data in right[:3]:  # warm up imports and caches
        with contextlib.suppress(Exception):
            try_case(name, data)
    pages = Path("/proc/self/statm")
    for seed in seeds:
        data = case_of(name, seed, right)
        tell.write(json.dumps({"seed": seed}) + "\n")
        had = int(pages.read_text().split()[5]) * resource.getpagesize()
        limit = (had + len(data) + MAX_GROWTH_BYTES, resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_DATA, limit)
        start = time.process_time()
        most = math.ceil(start) + MAX_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        signal.alarm(_MAX_WAIT_SECONDS)
        before = _reset_peak()
        try:
            what = try_case(name, data)
        except Exception:
            what = "".join(traceback.format_exc()[-1500:])
        milliseconds = (time.process_time() - start) * 1000
        grown = (_peak() - before) / (1 << 20)
        outcome = {"what": what, "ms": milliseconds, "mb": max(0.0, grown)}
        tell.write(json.dumps(outcome) + "\n")


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Peak memory of this process in bytes since the last reset."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10
