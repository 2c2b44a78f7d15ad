"""What a run leaves, and what is kept of it."""

import pytest

from trainer.errors import ConfigError
from trainer.runs.directory import RunDirectory

ROWS = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.1 + 0.2, "val_loss": 1.0}]


def test_history_is_read_as_written(tmp_path):
    run = RunDirectory(str(tmp_path))

    run.write_history(ROWS)

    assert run.history_file.read_text().splitlines()[0] == "epoch,loss,val_loss"
    assert run.read_history() == ROWS
    assert [file.name for file in tmp_path.iterdir()] == ["history.csv"]


def test_no_history_yet(tmp_path):
    assert RunDirectory(str(tmp_path)).read_history() == []


@pytest.mark.parametrize("path", ["file", "file/run", "n" * 300, "/proc/self/run"])
def test_a_directory_that_cannot_be_made_is_refused(tmp_path, path):
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match=r"--output .* cannot be written: .*; name another"):
        RunDirectory(str(tmp_path / path)).check_writable()

    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_directory_that_can_be_made_is_not_made_yet(tmp_path):
    RunDirectory(str(tmp_path / "a/b")).check_writable()

    assert list(tmp_path.iterdir()) == []


def test_clear_removes_the_run_and_nothing_else(tmp_path):
    run = RunDirectory(str(tmp_path))
    run.write_config({}, {})
    run.write_history(ROWS)
    run.checkpoints.mkdir()
    (tmp_path / "notes.txt").touch()

    run.clear()

    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_options_and_task_are_read_as_written(tmp_path):
    run = RunDirectory(str(tmp_path / "run"))
    config, task = {"options": {"pad": {"a": 3}}}, {"vocabulary": ["é", "語", "a"], "mean": [0.1]}

    run.write_config(config, task)

    assert (run.read_config(), run.read_task()) == (config, task)
    assert {file.name for file in run.path.iterdir()} == {"config.json", "task.json"}


def test_a_directory_without_a_run(tmp_path):
    run = RunDirectory(str(tmp_path))

    for read in (run.read_config, run.read_task):
        with pytest.raises(ConfigError, match="does not hold a run"):
            read()
