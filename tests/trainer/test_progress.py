"""Progress messages of commands."""

import pytest

from trainer.progress import Progress, as_text


def test_values_as_text():
    assert as_text({"loss": 0.69314, "accuracy": 0.5}) == "loss 0.6931, accuracy 0.5000"
    assert as_text({"mae": 38223.2202, "mse": 3e9}) == "mae 38,223, mse 3e+09"


@pytest.mark.parametrize("quiet", [False, True])
def test_lines_come_every_few_seconds_on_stderr(monkeypatch, capsys, quiet):
    seconds = iter([0.0, 1.0, 6.0, 6.0, 7.0])
    monkeypatch.setattr("trainer.progress.time.monotonic", lambda: next(seconds))
    progress = Progress(quiet=quiet)

    progress.start("epoch 1/2", 30)
    for _ in range(3):
        progress.advance(10, {"loss": 1.0})
    progress.finish()
    progress.say("done")
    progress.warn("a checkpoint is damaged")

    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [] if quiet else ["epoch 1/2: step 20/30, loss 1.0000", "done"]
    assert captured.err.splitlines() == [*lines, "warning: a checkpoint is damaged"]
