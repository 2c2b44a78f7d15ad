"""The commands that storms kill: what they read, what is there before, and what they make."""

import csv
import dataclasses
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
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
        name: For the table.
        command: From the folder of inputs and the folder of outputs.
        lay: Lays what is there before into the folder of outputs.
        state: What the command is to make, or has not yet.
        end: More of it, once the command has ended.
    """

    name: str
    command: Callable[[Path, Path], Sequence[str | Path]]
    lay: Callable[[Path, Path], object] = lambda inputs, out: None
    state: Callable[[Path], State]
    end: Callable[[Path], State] = lambda out: {}


def begin(line: Sequence[str | Path], out: Path) -> "subprocess.Popen[str]":
    """The process, as the first of a group; its temporary files are next to its outputs."""
    temporary = out.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [str(word) for word in line],
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "XDG_CACHE_HOME": str(out.parent / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",  # of what TensorFlow generates below TMPDIR
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def run(line: Sequence[str | Path], out: Path) -> None:
    """Runs a command, which is to end well."""
    code, err = finished(line, out)
    if code:
        raise RuntimeError(f"{line} ended with exit {code}: {err}")


def finished(line: Sequence[str | Path], out: Path) -> tuple[int, str]:
    """The exit code of a command and what it said; one that does not end is killed."""
    process = begin(line, out)
    try:
        _, err = process.communicate(timeout=_SLOWEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
    return process.returncode, err


def make_inputs(folder: Path, *, models: bool = True) -> Path:
    """What the commands read: images and an older dataset; a table, a run and an export of models.

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
    """The digests of all files, but of what tells when and where they were made."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "build.json"
    }


def _built(out: Path) -> State:
    """The files of the dataset; its page, which is written once that is whole, is none of them."""
    files = _files(out / "pets/1.0.0")
    return {path: files[path] for path in files if not path.startswith("report.")}


def _page(out: Path) -> State:
    files = _files(out / "pets/1.0.0")
    return {path: files[path] for path in ("report.html", "report.json")}


def _adopted(out: Path) -> State:
    """A description without metadata.json does not count."""
    files = _files(out / "pets")
    is_dataset = "metadata.json" in files
    return (
        files if is_dataset else {path: files[path] for path in files if path.startswith("pets-")}
    )


def _copy_shards(inputs: Path, out: Path) -> None:
    (out / "pets").mkdir()
    for path in (inputs / "data/pets/1.0.0").glob("*.tfrecord-*"):
        shutil.copy(path, out / "pets")


def _older_run(out: Path) -> State:
    """The files of the run that is replaced, until the new one has its config.json."""
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
    """What the model answers."""
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
