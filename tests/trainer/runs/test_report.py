"""`evaluate --report`: a page of another split."""

import pytest

from trainer.commands import main

SHORT = "--image-size 16 --epochs 1 --batch-size 8 --steps-per-epoch 2 --devices cpu --quiet"


def options(data, run, *more):
    return ["train", "--data", str(data), "--output", str(run), *SHORT.split(), *more]


@pytest.mark.slow
def test_a_page_of_another_split(colors, tmp_path):
    run, page = tmp_path / "run", tmp_path / "test.html"
    assert main(options(colors, run, "--seed", "1")) == 0
    of_run = ("--data", str(colors), "--run", str(run), "--quiet")
    assert main(["evaluate", *of_run, "--split", "test", "--report", str(page)]) == 0
    assert "Split test." in page.read_text()
    assert 'id="curves"' not in page.read_text()
