"""Fixtures: a small run, the commands that use one, and recorders of trainings."""

import shutil

import pytest
from following import linear
from kinds_of_learning import training
from made_once import made_once

from trainer.commands import main
from trainer.progress import Progress
from trainer.report.history import Best
from trainer.runs.directory import RunDirectory
from trainer.runs.recorder import Recorder
from trainer.training.checkpoint import Checkpoints


@pytest.fixture(scope="session")
def table(write_dataset, tmp_path_factory):
    """A dataset of two numbers and a class."""
    features = [
        {"name": "a", "kind": "scalar", "dtype": "float32", "shape": [], "key": "a"},
        {"name": "y", "kind": "class_label", "dtype": "int64", "key": "y", "classes": ["n", "p"]},
    ]
    records = [{"a": number / 7, "y": number % 2} for number in range(24)]
    splits = {"train": records[:16], "test": records[16:]}
    return write_dataset(tmp_path_factory.mktemp("table") / "1.0.0", features, splits)


@pytest.fixture(scope="session")
def finished(table, tmp_path_factory):
    """A run of one epoch."""
    options = ["--batch-size", "8", "--epochs", "1", "--devices", "cpu", "--inputs", "a"]

    def fill(folder):
        words = ["train", "--data", str(table), "--output", str(folder / "run"), "--quiet"]
        assert main([*words, *options]) == 0

    return made_once(tmp_path_factory, "run-finished", fill) / "run"


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run."""
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture
def command(table, tmp_path):
    """A function of a command's name, a run and options that returns the exit code."""

    def start(name, run, *more):
        arguments = {
            "resume": ["train", "--output", run, "--resume", "--quiet"],
            "evaluate": ["evaluate", "--data", table, "--run", run, "--quiet"],
            "predict": ["predict", table, "--run", run, "--output", tmp_path / "out", "--quiet"],
            "export": ["export", "--run", run, "--output", tmp_path / "exported/1"],
        }[name]
        return main([*map(str, arguments), *more])

    return start


@pytest.fixture
def make_recorder(tmp_path, make_plan, one_replica):
    """A function of validation losses and options that returns a run and its recorder."""

    def make(val_losses=(), *, best=None, callbacks=(), steps_per_epoch=4, epochs=3, **options):
        run = RunDirectory(str(tmp_path))
        plan = make_plan(one_replica, steps_per_epoch=steps_per_epoch, model=linear)
        remaining = iter(val_losses)
        recorder = Recorder(
            run,
            plan,
            training(epochs=epochs, **options),
            best or Best(),
            Checkpoints(run.checkpoints, plan.model, plan.optimizer, num_sums=2),
            (lambda callbacks: {"loss": next(remaining)}) if val_losses else None,
            run.read_history(),
            Progress(quiet=True),
            callbacks,
        )
        recorder.restore()
        return run, recorder

    return make
