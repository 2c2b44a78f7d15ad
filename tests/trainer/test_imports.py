"""What importing the package costs."""

import subprocess
import sys

import pytest


def modules_after(script):
    script += "; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "script", ["import trainer", "import trainer.__main__", "from trainer import ConfigError"]
)
def test_importing_loads_neither_tensorflow_nor_beam(script):
    assert not modules_after(script) & {"tensorflow", "keras", "apache_beam", "numpy"}


@pytest.mark.slow
def test_using_it_loads_tensorflow_but_not_beam_nor_soundfile():
    modules = modules_after("import trainer; trainer.open; import trainer.runs.evaluate")

    assert "tensorflow" in modules
    assert not modules & {"apache_beam", "beam_pipeline"}
    assert "soundfile" not in modules, "it is imported where sound is decoded"


def test_names_that_do_not_exist():
    import trainer

    with pytest.raises(AttributeError, match="opne"):
        _ = trainer.opne
    assert all(hasattr(trainer, name) for name in trainer.__all__)
