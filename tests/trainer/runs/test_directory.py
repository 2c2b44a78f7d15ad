"""Files of a run directory."""

import pytest

from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.options.train_options import TrainConfig
from trainer.runs.directory import RunDirectory
from trainer.tasks import Task
from trainer.tasks.inputs.sequences import Words
from trainer.tasks.targets import OneClass
from trainer.tasks.task_json import task_to_json

CONFIG = {
    "options": TrainConfig(data="D", output="R", pad={"a": 3}).to_json(),
    "data": {"fingerprint": "f"},
    "window": 8,
    "class_weights": [],
    "own": {"loss": "mine:loss"},
}
ROWS = [
    {"epoch": 1, "step": 4, "loss": 0.5},
    {"epoch": 2, "step": 8, "loss": 0.1 + 0.2, "val_loss": 1.0},
]


def test_history_is_read_as_written(tmp_path):
    run = RunDirectory(str(tmp_path))
    assert run.read_history() == []

    run.write_history(ROWS)

    assert run.history_file.read_text().splitlines()[0] == "epoch,step,loss,val_loss"
    assert run.read_history() == ROWS
    assert [file.name for file in tmp_path.iterdir()] == ["history.csv"]


@pytest.mark.parametrize("path", ["file", "file/run", "n" * 300, "/proc/self/run"])
def test_a_directory_that_cannot_be_made_is_refused(tmp_path, path):
    (tmp_path / "file").touch()

    refused = pytest.raises(ConfigError, match=r"--output .* cannot be written: .*; name another")
    with refused, RunDirectory(str(tmp_path / path)).held():
        pytest.fail("it was made")

    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_directory_in_which_nothing_was_written_is_gone(tmp_path):
    with RunDirectory(str(tmp_path / "a/b")).held():
        assert (tmp_path / "a/b").is_dir()
    assert list(tmp_path.iterdir()) == []

    with RunDirectory(str(tmp_path / "a/b")).held():
        (tmp_path / "a/b/file").touch()
    assert (tmp_path / "a/b/file").exists()
    (tmp_path / "empty").mkdir()
    with RunDirectory(str(tmp_path / "empty")).held():
        pass
    assert (tmp_path / "empty").exists()


def test_a_directory_is_held_by_one_training(tmp_path):
    one, other = RunDirectory(str(tmp_path / "run")), RunDirectory(str(tmp_path / "run/"))
    with (
        one.held(),
        pytest.raises(ConfigError, match=r"another training is writing .*run; wait for it"),
        other.held(),
    ):
        pytest.fail("it was held twice")
    with other.held():
        pass


def test_clear_removes_the_run_and_nothing_else(tmp_path):
    run = RunDirectory(str(tmp_path))
    run.write_config(CONFIG, {})
    run.write_history(ROWS)
    run.checkpoints.mkdir()
    (tmp_path / "notes.txt").touch()

    run.clear()

    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_options_and_task_are_read_as_written(tmp_path):
    run = RunDirectory(str(tmp_path))
    features = features_from_json({"x": {"kind": "text"}, "y": {"kind": "text"}})
    words = Words(name="x", is_text=True, vocabulary=("é", "語", "a"))
    task = Task(name="text", inputs={"x": words}, goal=OneClass(name="y", classes=("a", "b")))

    run.write_config(CONFIG, task_to_json(task, features))

    config = run.read_config()
    assert config.options == TrainConfig(data="D", output="R", pad={"a": 3})
    assert (config.window, config.group) == (8, 0)
    assert run.read_task() == (task, features)
    assert {file.name for file in run.path.iterdir()} == {"config.json", "task.json"}


def test_a_directory_without_a_run(tmp_path):
    run = RunDirectory(str(tmp_path))

    for read in (run.read_config, run.read_task):
        with pytest.raises(ConfigError, match="does not hold a run"):
            read()
