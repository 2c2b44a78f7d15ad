"""Fixtures: a small run, and the commands that use one."""

import shutil

import pytest
from made_once import made_once

from trainer.commands import main


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
