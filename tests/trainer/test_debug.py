"""`--debug` adds the traceback to the one line that an error prints."""

import pytest

from trainer.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "exception"),
    [
        pytest.param(
            ["train", "--data", "d", "--output", "o", "--image-size", "big"],
            "tfrecord_dataset.errors.ConfigError: --image-size 'big'",
            id="a value",
        ),
        pytest.param(
            ["train", "--dta", "d"],
            "tfrecord_dataset.errors.ConfigError: there is no option --dta",
            id="an option",
        ),
        pytest.param(
            ["evaluate", "--data", "d", "--run", "nowhere"],
            "tfrecord_dataset.errors.ConfigError: nowhere does not hold a run",
            id="a command",
        ),
    ],
)
def test_debug_adds_the_traceback(capsys, monkeypatch, arguments, exception):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")  # else for all tests to come
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()

    assert main([*arguments, "--debug"]) == 2
    first, *_, exception_line, last = capsys.readouterr().err.splitlines()

    assert line.startswith("error: ")
    assert last == line
    assert first == "Traceback (most recent call last):"
    assert exception_line.startswith(exception)
