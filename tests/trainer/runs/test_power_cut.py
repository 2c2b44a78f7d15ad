"""A power cut at any call of a training or export leaves finished files intact."""

import json
import random
import shutil
import subprocess
import sys

import power_cut
import pytest
import tensorflow as tf
from tiers import first_in_ci

from trainer.exporting import export
from trainer.runs.directory import RunDirectory
from trainer.runs.trained import check_model_file
from trainer.training import checkpoint

TRAIN = (
    *("--batch-size", "4", "--epochs", "2", "--checkpoint-every-steps", "2", "--inputs", "a"),
    *("--validation-split", "test", "--deterministic", "--devices", "cpu", "--quiet"),
)
LAST_STEP = 8


def training(table, run, seed, *more):
    command = [sys.executable, "-m", "trainer", "train", "--data", table, "--output", run, *TRAIN]
    return [*map(str, command), "--seed", str(seed), *more]


def weights(checkpoints):
    """Return the bytes of the last checkpoint's values."""
    folder = checkpoints / f"step-{LAST_STEP}"
    return (folder / "state.data-00000-of-00001").read_bytes()


def check_run(disk, root, *, finished):
    """Check that checkpoints, the rows after them, and models are complete."""
    shutil.rmtree(root, ignore_errors=True)
    disk.lay_out(root)
    run = RunDirectory(str(root / "run"))
    if not run.holds_run():
        assert not finished, disk
        return
    run.read_config()
    run.read_task()
    steps = checkpoint.steps_in(run.checkpoints)
    for step in steps[:3]:  # an older one may be partly deleted
        assert checkpoint.damage(run.checkpoints, step) is None, disk
    rows = run.read_history()
    assert all(row["step"] <= steps[0] for row in rows), disk
    for file in (run.model, run.last_model):
        if file.exists():
            check_model_file(file)
    assert run.model.exists() or not rows, disk
    if finished:
        assert run.last_model.exists(), disk
        assert (len(rows), steps[:1]) == (2, [LAST_STEP]), disk


@pytest.mark.slow
def test_a_training(table, tmp_path):
    (tmp_path / "out").mkdir()
    recording = power_cut.record(training(table, tmp_path / "out/run", 3), tmp_path / "out")
    newest, disks = 0, []
    for disk in recording.disks():
        check_run(disk, tmp_path / "after", finished=disk.is_last)
        steps = checkpoint.steps_in(tmp_path / "after/run/checkpoints")
        assert max([0, *steps]) >= newest - 2, disk  # the previous one stays until the next exists
        newest = max([newest, *steps])
        disks.append(disk)
    assert newest == LAST_STEP

    for disk in random.Random(3).sample(disks, 1):
        shutil.rmtree(tmp_path / "after")
        disk.lay_out(tmp_path / "after")
        subprocess.run(training(table, tmp_path / "after/run", 3), check=True, capture_output=True)
        for name in ("checkpoints", "history.csv"):
            expected, found = tmp_path / "out/run" / name, tmp_path / "after/run" / name
            if name == "checkpoints":
                assert weights(found) == weights(expected), disk
            else:
                assert found.read_bytes() == expected.read_bytes(), disk


@pytest.mark.nightly
def test_a_training_that_replaces_a_run(table, tmp_path):
    run = tmp_path / "out/run"
    run.parent.mkdir()
    subprocess.run(training(table, run, 9), check=True, capture_output=True)
    recording = power_cut.record(training(table, run, 3, "--overwrite"), tmp_path / "out")
    of_run = {path: data for path, data in recording.before.files.items() if "/logs/" not in path}
    old = {data for path, data in of_run.items() if path != "run/task.json"}
    for disk in recording.disks():
        config = disk.files.get("run/config.json")
        if config is None:
            continue
        if json.loads(config)["options"]["seed"] == 9:
            assert of_run.items() <= disk.files.items(), disk
        else:
            assert not old & {*disk.files.values()}, disk
            check_run(disk, tmp_path / "after", finished=disk.is_last)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "overwrite"),
    first_in_ci(
        [
            ("1", True),
            ("model.keras", False),
            pytest.param("1", False, marks=pytest.mark.nightly),
            pytest.param("model.keras", True, marks=pytest.mark.nightly),
        ]
    ),
)
def test_an_export(run, tmp_path, name, overwrite):
    out = tmp_path / "out"
    out.mkdir()
    if overwrite:
        export(str(run), str(out / "made" / name), which="best")
    command = [sys.executable, "-m", "trainer", "export", "--run", run, "--output"]
    recording = power_cut.record(
        [*command, out / "made" / name, *(["--overwrite"] if overwrite else [])], out
    )

    def found(disk):
        path = f"made/{name}"
        return {path: disk.files[path]} if path in disk.files else disk.below(path)

    old, new = found(recording.before), found(recording.after)
    assert bool(old) == overwrite
    whole = {True: [new], False: [old, new]}
    for disk in recording.disks():
        assert found(disk) in whole[disk.is_last], disk
        is_there = f"made/{name}" in disk.folders or found(disk)
        assert is_there or not (overwrite or disk.is_last), disk
    if name == "1":
        recording.after.lay_out(tmp_path / "after")
        assert tf.saved_model.load(tmp_path / "after/made/1").signatures
