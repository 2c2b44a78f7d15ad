"""`report`: the page of a run again, and beside another run."""

import pytest

from trainer.__main__ import main

SHORT = "--image-size 16 --epochs 1 --batch-size 8 --steps-per-epoch 2 --devices cpu --quiet"


def options(data, run, *more):
    return ["train", "--data", str(data), "--output", str(run), *SHORT.split(), *more]


@pytest.mark.slow
def test_the_page_again_and_beside_another_run(colors, tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(options(colors, first, "--seed", "1")) == 0
    assert main(options(colors, second, "--seed", "2")) == 0
    page = (second / "report.html").read_text()
    capsys.readouterr()

    (second / "report.html").unlink()
    assert main(["report", str(second)]) == 0
    assert capsys.readouterr().out.strip() == str(second / "report.html")
    assert (second / "report.html").read_text() == page

    without = (first / "report.html").read_text()
    assert main(["report", str(first), "--compare", str(second)]) == 0
    beside = (first / "report.html").read_text()
    assert "the other is second." in beside
    assert beside.count("data:image/jpeg") == without.count("data:image/jpeg") > 4

    # What is left of a run without its figures has its curves; what was changed is told.
    facts = first / "report.json"
    facts.write_text(facts.read_text().replace('"batch"', '"hatch"'))
    assert main(["report", str(first)]) == 3
    assert "delete it to report without figures" in capsys.readouterr().err
    facts.unlink()
    assert main(["report", str(first)]) == 0
    assert 'id="batch"' not in (first / "report.html").read_text()
