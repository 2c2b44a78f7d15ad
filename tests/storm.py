"""Kill storms: real commands, killed at random moments, and run again until they end.

    make storm SEEDS=100
    .venv/bin/python tests/storm.py --cases build export --seeds 1 --first 17    # one seed again

Each seed kills a command by SIGKILL of its process group, once or several times in a row, at
random moments within the duration of an undisturbed run. In between, the outputs must be either the
previous or the new ones, complete; at the end they must equal those of an undisturbed run, and
nothing else may be left.
"""

import argparse
import contextlib
import csv
import dataclasses
import functools
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

State = Mapping[str, bytes]

_BUILD = (sys.executable, "-m", "beam_pipeline")
_TRAINER = (sys.executable, "-m", "trainer")
_SLOWEST_S = 900


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A command.

    Attributes:
        name: Name in the table.
        command: Makes the command from the folders of inputs and outputs.
        lay: Writes the initial content of the folder of outputs.
        state: Reads the outputs, if they exist.
        end: Reads further outputs, which exist once the command has ended.
    """

    name: str
    command: Callable[[Path, Path], Sequence[str | Path]]
    lay: Callable[[Path, Path], object] = lambda inputs, out: None
    state: Callable[[Path], State]
    end: Callable[[Path], State] = lambda out: {}


def begin(line: Sequence[str | Path], out: Path) -> "subprocess.Popen[str]":
    """Start a process group, with temporary files next to the outputs."""
    temporary = out.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [str(word) for word in line],
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "XDG_CACHE_HOME": str(out.parent / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",  # for code that TensorFlow generates below TMPDIR
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def run(line: Sequence[str | Path], out: Path) -> None:
    """Run a command, which must succeed."""
    code, err = finished(line, out)
    assert code == 0, (line, err)


def finished(line: Sequence[str | Path], out: Path) -> tuple[int, str]:
    """Return a command's exit code and output; kill it if it does not end."""
    process = begin(line, out)
    try:
        _, err = process.communicate(timeout=_SLOWEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
    return process.returncode, err


def make_inputs(folder: Path, *, models: bool = True) -> Path:
    """Make the commands' inputs: images, an older dataset, a table, a run and exported models.

    Returns the folder.
    """
    for number in range(600):
        name = f"class_{number % 2}/{number}.png"
        path = folder / ("pets" if number < 500 else "older/pets") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number % 256, number // 256, 7)).save(path)
    numbers = np.random.default_rng(0).integers(0, 1000, (64, 2)) / 10
    with open(folder / "table.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "label"])
        rows.writerows([a, b, "high" if a > b else "low"] for a, b in numbers)
    data = folder / "data"
    lines = [(*_BUILD, "build", folder / "older/pets", "--output", data, "--num-shards", "3")]
    if models:
        lines += [
            (*_BUILD, "build", folder / "table.csv", "--output", data),
            _training(folder, folder / "run", seed=3),
            _training(folder, folder / "older run", seed=4),
            _exporting(folder / "older run", folder / "older export/1"),
        ]
    for line in lines:
        run(line, folder)
    return folder


def _training(inputs: Path, run: Path, seed: int) -> Sequence[str | Path]:
    data = inputs / "data/table/1.0.0"
    return (
        *(*_TRAINER, "train", "--data", data, "--output", run, "--seed", str(seed)),
        *("--batch-size", "8", "--epochs", "3", "--checkpoint-every-steps", "2"),
        *("--deterministic", "--devices", "cpu", "--quiet"),
    )


def _exporting(run: Path, place: Path, *more: str) -> Sequence[str | Path]:
    return (*_TRAINER, "export", "--run", run, "--output", place, *more)


def _building(inputs: Path, out: Path, *more: str) -> Sequence[str | Path]:
    return (*_BUILD, "build", inputs / "pets", "--output", out, "--num-shards", "6", *more)


def _files(folder: Path) -> State:
    """Return the digests of all files, without times and paths."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "build.json"
    }


def _built(out: Path) -> State:
    """Return the dataset's files, without the page, which is written after the commit."""
    files = _files(out / "pets/1.0.0")
    return {path: files[path] for path in files if not path.startswith("report.")}


def _page(out: Path) -> State:
    files = _files(out / "pets/1.0.0")
    return {path: files[path] for path in ("report.html", "report.json")}


def _adopted(out: Path) -> State:
    """Return all files, or only the shards while there is no metadata.json."""
    files = _files(out / "pets")
    start = "" if "metadata.json" in files else "pets-"
    return {path: files[path] for path in files if path.startswith(start)}


def _copy_shards(inputs: Path, out: Path) -> None:
    (out / "pets").mkdir()
    for path in (inputs / "data/pets/1.0.0").glob("*.tfrecord-*"):
        shutil.copy(path, out / "pets")


def _older_run(out: Path) -> State:
    """Return the files of the replaced run, until the new one has its config.json."""
    config = out / "run/config.json"
    if not config.exists() or json.loads(config.read_bytes())["options"]["seed"] != 4:
        return {}
    files = _files(out / "run")
    return {path: files[path] for path in files if not path.startswith(("logs/", "task.json"))}


def _trained(out: Path) -> State:
    history = (out / "run/history.csv").read_bytes()
    [*_, last] = sorted((out / "run/checkpoints").iterdir(), key=lambda each: int(each.name[5:]))
    return {"history": history, "weights": (last / "state.data-00000-of-00001").read_bytes()}


def _exported(out: Path) -> State:
    """Return the model's predictions."""
    if not (out / "models/1").exists():
        return {}
    import tensorflow as tf

    model = tf.saved_model.load(str(out / "models/1"))
    columns = {name: tf.constant([1.5, 70, 99]) for name in ("a", "b")}
    answers = model.signatures["serving_default"](**columns)
    return {name: repr(answer.numpy().tolist()).encode() for name, answer in answers.items()}


CASES = (
    Case(name="build", command=_building, state=_built),  # a second build makes no page
    Case(
        name="build --overwrite",
        command=lambda inputs, out: _building(inputs, out, "--overwrite"),
        lay=lambda inputs, out: shutil.copytree(inputs / "data/pets", out / "pets"),
        state=_built,
        end=_page,
    ),
    Case(
        name="adopt",
        command=lambda _, out: (*_BUILD, "adopt", out / "pets"),
        lay=_copy_shards,
        state=_adopted,
    ),
    Case(
        name="verify",
        command=lambda _, out: (*_BUILD, "verify", out / "pets/1.0.0"),
        lay=lambda inputs, out: shutil.copytree(inputs / "data/pets", out / "pets"),
        state=lambda out: _files(out / "pets/1.0.0"),
    ),
    Case(
        name="train",
        command=lambda inputs, out: _training(inputs, out / "run", seed=3),
        state=lambda out: {},
        end=_trained,
    ),
    Case(
        name="train --overwrite",
        command=lambda inputs, out: (*_training(inputs, out / "run", seed=3), "--overwrite"),
        lay=lambda inputs, out: shutil.copytree(inputs / "older run", out / "run"),
        state=_older_run,
        end=_trained,
    ),
    Case(
        name="export",
        command=lambda inputs, out: _exporting(inputs / "run", out / "models/1"),
        state=_exported,
    ),
    Case(
        name="export --overwrite",
        command=lambda inputs, out: _exporting(inputs / "run", out / "models/1", "--overwrite"),
        lay=lambda inputs, out: shutil.copytree(inputs / "older export", out / "models"),
        state=_exported,
    ),
)
OF_MODELS = ("train", "train --overwrite", "export", "export --overwrite")


_LEFT = re.compile(r"\..*|.*\.partial|.*\.aside")
# TensorFlow's code, Keras's temporary folder while saving, and the file with which Python checks
# the temporary folder: no other process deletes them.
_OF_LIBRARIES = re.compile(r"__autograph_generated_file.*\.py|(tmp)?[a-z0-9_]{8}")


@dataclasses.dataclass
class Score:
    """Kills of one case, seeds with the results of an undisturbed run, and errors by seed."""

    kills: int = 0
    equal: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)


def storm(case: Case, seeds: Sequence[int], inputs: Path, root: Path) -> Score:
    """Run a case undisturbed, and then once for each seed."""
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
                duration = min(duration, ended_s or duration)  # the machine may be busier at times
                if (now := case.state(out)) not in (before, after):
                    fault("in between", now, after)
            code, err = finished(line, out)
            # A command killed after the commit finds its output done.
            if code and not (code == 2 and now == after):
                score.faults.append(f"{case.name}, seed {seed}: exit {code}: {err}")
                continue
            found = {**case.state(out), **case.end(out)}
            if found != {**after, **end}:
                fault("at the end", found, {**after, **end})
            else:
                score.equal += 1
            if not code:  # refused commands do not clean up
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
    """Make a new folder with its initial content."""
    with tempfile.TemporaryDirectory(dir=root, prefix="storm-") as folder:
        out = Path(folder, "out")
        out.mkdir()
        case.lay(inputs, out)
        yield out


def _run_or_kill(line: Sequence[str | Path], out: Path, seconds: float) -> float | None:
    """Run a command for some seconds; return its duration, or None if it was killed."""
    start, process = time.monotonic(), begin(line, out)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return time.monotonic() - start


def _left(out: Path) -> list[Path]:
    """Return files that nothing needs after a command has ended."""
    made = [path for path in out.rglob("*") if _LEFT.fullmatch(path.name)]
    temporary = [
        path
        for path in (out.parent / "temporary").iterdir()
        if not _OF_LIBRARIES.fullmatch(path.name)
    ]
    return [*made, *temporary]


def main() -> int:
    """Print a line and the errors of each case, and return whether there were errors."""
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
