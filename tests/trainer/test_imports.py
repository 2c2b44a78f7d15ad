"""Cost of importing the package."""

import os

import pytest
from fresh_python import modules_after

from trainer.commands import main


@pytest.mark.parametrize(
    "script", ["import trainer", "import trainer.commands", "from trainer import ConfigError"]
)
def test_importing_loads_neither_tensorflow_nor_beam(script):
    assert not modules_after(script) & {"tensorflow", "keras", "apache_beam", "numpy"}


@pytest.mark.parametrize(
    "words",
    [
        ["train", "--data", "nowhere", "--output", "run"],
        ["evaluate", "--data", ".", "--run", "nowhere"],
        ["predict", ".", "--run", "nowhere"],
        ["predict", "nowhere", "--run", "run"],
        ["export", "--run", "nowhere", "--output", "served"],
    ],
    ids=" ".join,
)
def test_a_path_that_does_not_exist_takes_no_import_of_tensorflow(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").touch()
    script = f"from trainer import commands; assert commands.main({words!r}) == 2"
    assert not modules_after(script, may_warn=True) & {"tensorflow", "keras"}


@pytest.mark.slow
def test_using_it_loads_tensorflow_but_not_beam_nor_soundfile():
    script = "import trainer; trainer.open; import trainer.runs.trained"
    modules = modules_after(script, may_warn=True)

    assert "tensorflow" in modules
    assert not modules & {"apache_beam", "beam_pipeline"}
    assert "soundfile" not in modules, "it is imported where sound is decoded"


@pytest.mark.slow
def test_commands_load_no_scikit_learn_and_leave_it_to_others():
    script = "from trainer import startup\nwith startup.importing():\n    import tensorflow, keras"

    assert "sklearn" not in modules_after(script, may_warn=True)
    assert "sklearn" in modules_after(f"{script}\nimport sklearn", may_warn=True)


def test_names_that_do_not_exist():
    import trainer

    with pytest.raises(AttributeError, match="opne"):
        _ = trainer.opne
    assert all(hasattr(trainer, name) for name in trainer.__all__)


@pytest.mark.parametrize(
    ("words", "level"),
    [
        (["export", "--run", "nowhere", "--output", "served"], "3"),
        (["train", "--data", "nowhere", "--output", "run", "--deterministic"], "3"),
        (["evaluate", "--run", "nowhere"], "2"),
        (["export", "--run", "nowhere", "--output", "served", "--debug"], "0"),
    ],
)
def test_tensorflow_logs_no_errors_that_a_command_does_not_have(words, level, monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "")  # restored for later tests
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL")
    assert main(words) == 2
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == level
