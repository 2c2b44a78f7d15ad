"""`--debug` adds the traceback to the one-line error message."""

import contextlib
import sys

import pytest

from trainer import commands, startup
from trainer.commands import main


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("train --data d --output o --image-size big", "image_size (--image-size): 'big'"),
        ("train --dta d", "unknown option --dta"),
        ("evaluate --data d --run nowhere", "nowhere does not hold a run"),
    ],
)
def test_debug_adds_the_traceback(capsys, monkeypatch, arguments, error):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")  # restored for later tests
    assert main(arguments.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()

    assert main([*arguments.split(), "--debug"]) == 2
    first, *_, exception_line, last = capsys.readouterr().err.splitlines()

    assert line.startswith("error: ")
    assert last == line
    assert first == "Traceback (most recent call last):"
    assert exception_line.startswith(f"tfrecord_dataset.errors.ConfigError: {error}")


def test_without_proc_tensorflow_is_not_imported(monkeypatch, capsys):
    monkeypatch.setattr(startup, "_EXECUTABLE", "/nothing/self/exe")
    assert main(["train", "--data", "data", "--output", "run"]) == 1
    assert "TensorFlow needs /proc" in capsys.readouterr().err


def test_a_result_that_cannot_be_written_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(commands, "_run", lambda _: {"loss": 0.5})
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["evaluate", "--data", "d", "--run", "r"]) == 1
    assert capsys.readouterr().err.startswith("error: No space left on device; fix that")
