"""`report`: the page of a run again."""

import pytest

from trainer.__main__ import main

SHORT = "--image-size 16 --epochs 1 --batch-size 8 --steps-per-epoch 2 --devices cpu --quiet"


def options(data, run, *more):
    return ["train", "--data", str(data), "--output", str(run), *SHORT.split(), *more]


@pytest.mark.slow
def test_the_page_again_without_its_figures_and_of_another_split(colors, tmp_path, capsys):
    run, facts = tmp_path / "run", tmp_path / "run" / "report.json"
    assert main(options(colors, run, "--seed", "1")) == 0
    page = (run / "report.html").read_text()
    capsys.readouterr()

    (run / "report.html").unlink()
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out.strip() == str(run / "report.html")
    assert (run / "report.html").read_text() == page

    facts.write_text(facts.read_text().replace('"batch"', '"hatch"'))
    assert main(["report", str(run)]) == 3
    assert "delete it to report without figures" in capsys.readouterr().err
    facts.unlink()
    assert main(["report", str(run)]) == 0
    assert 'id="batch"' not in (run / "report.html").read_text()

    other = tmp_path / "test.html"
    of_run = ("--data", str(colors), "--run", str(run), "--quiet")
    assert main(["evaluate", *of_run, "--split", "test", "--report", str(other)]) == 0
    assert "Of the split test." in other.read_text()
    assert 'id="curves"' not in other.read_text()
