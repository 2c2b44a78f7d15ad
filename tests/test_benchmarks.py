"""The page of benchmark results, from runs to tables; and one small run of all benchmarks."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("results")


@pytest.fixture
def suites(results):
    return importlib.import_module("suites")


def runs(*seconds, records=10):
    return [
        {"records": records, "wall_s": wall_s, "cpu_s": wall_s / 2, "peak_mib": 10 * wall_s}
        for wall_s in seconds
    ]


@pytest.mark.parametrize(
    ("figure", "at_most", "b", "row"),
    [
        pytest.param("wall_s", 0.5, runs(2, 4, 6), "0.50) | 0.50 | held |", id="held"),
        pytest.param("wall_s", 0.4, runs(2, 4, 6), "0.40) | 0.50 | **missed**: x |", id="missed"),
        pytest.param("peak_mib", 0.5, runs(2, 4, 6), "0.50) | 0.50 | held |", id="memory"),
        # A peer that omits the last batch must not look faster.
        pytest.param(
            "wall_s", 1.0, runs(1.8, 1.8, 1.8, records=9), "1.00) | 1.00 | held |", id="a record"
        ),
    ],
)
def test_a_goal_is_held_by_the_median_of_the_rounds(results, suites, figure, at_most, b, row):
    goal = suites.Goal("half", "a", "b", figure, at_most, holds="x")

    assert results.goal_row(goal, {"a": runs(1, 2, 9), "b": b}) == f"| half (at most {row}"


def test_the_page_has_the_kept_results(results, tmp_path):
    results.write(tmp_path, json.loads((BENCHMARKS / "results.json").read_text()))

    for name in ("RESULTS.md", "tiny.svg", "photographs.svg", "input.svg"):
        assert (tmp_path / name).read_text() == (BENCHMARKS / name).read_text()


@pytest.mark.nightly
def test_a_small_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    options = ["--suite", "tiny", "--count", "60", "--rounds", "1", "--output", tmp_path]

    command = [sys.executable, BENCHMARKS / "bench.py", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    page = (tmp_path / "RESULTS.md").read_text()
    for title in ("beam-tfrecords", "a script by hand", "TFDS's builder"):
        assert f"\n| {title} | " in page
    assert "60 records, 1 round" in page
    assert (tmp_path / "tiny.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("suite", ["table", "tiny", "coco"])
def test_missing_packages_are_named_before_anything_is_made(tmp_path, suite):
    hidden = ("pandas", "tensorflow_datasets")
    bench = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({hidden}))
sys.argv = ["bench.py", "--suite", "{suite}", "--output", "{tmp_path}/page"]
runpy.run_path("{BENCHMARKS}/bench.py", run_name="__main__")
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run(
        [sys.executable, "-c", bench], capture_output=True, text=True, env=environment
    )
    assert done.returncode != 0
    said = re.fullmatch("error: not installed here: (.*); type: make (.*)\n", done.stderr)
    assert set(said[1].split(", ")) <= {*hidden}
    assert re.search(rf"^{said[2]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [path.name for path in tmp_path.iterdir()] == ["page"]


@pytest.fixture
def quality(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("quality")


@pytest.mark.parametrize(
    ("row", "figures", "verdict"),
    [
        pytest.param("wine", {"ours": 0.97, "sklearn": 0.975}, "held", id="by less than 1 %"),
        pytest.param(
            "wine", {"ours": 0.9, "keras": 1.0}, "**missed**: Keras by hand is better", id="behind"
        ),
        pytest.param("diabetes", {"ours": 40.0, "sklearn": 50.0}, "held", id="lower is better"),
        pytest.param(
            "146 photographs",
            {"ours": 0.6, "ours_s": 300.0},
            "**missed**: goal 0.7, goal 200 CPU s",
            id="goals",
        ),
    ],
)
def test_a_row_of_quality_is_held_or_missed(quality, row, figures, verdict):
    assert quality.verdict(quality.ROWS[row], figures) == verdict


def test_the_page_of_quality_has_the_kept_results(quality):
    kept = json.loads((BENCHMARKS / "quality.json").read_text())

    assert (BENCHMARKS / "QUALITY.md").read_text() == quality.page(kept)
