"""When a run's report is drawn, and `evaluate --report` for another split."""

import types

import pytest

from trainer.commands import main
from trainer.runs import run_page

SHORT = "--image-size 16 --epochs 1 --batch-size 8 --steps-per-epoch 2 --devices cpu --quiet"


def options(data, run, *more):
    return ["train", "--data", str(data), "--output", str(run), *SHORT.split(), *more]


def test_drawing_takes_a_twentieth_of_the_time_and_ends_with_the_last_validation(monkeypatch):
    clock, drawn, history = [0], [], []

    def write(page, rows):
        drawn.append(len(rows))
        clock[0] += 1

    monkeypatch.setattr(run_page.RunPage, "_write", write)
    monkeypatch.setattr(run_page, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    page = run_page.RunPage(None, None)
    with page.completed():
        for _ in range(30):
            clock[0] += 1
            history.append({})
            page.draw(history)
    assert drawn == [1, 20, 30]


@pytest.mark.slow
def test_a_page_of_another_split(colors, tmp_path):
    run, page = tmp_path / "run", tmp_path / "test.html"
    assert main(options(colors, run, "--seed", "1")) == 0
    of_run = ("--data", str(colors), "--run", str(run), "--quiet")
    assert main(["evaluate", *of_run, "--split", "test", "--report", str(page)]) == 0
    assert "Split test." in page.read_text()
    assert 'id="curves"' not in page.read_text()
