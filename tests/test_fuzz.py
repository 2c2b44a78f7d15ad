"""Mutated files of every format are accepted, rejected by name, or a named error."""

import pytest
from fuzz import corpus, running
from fuzz.targets import FORMATS

# Readers of the other formats load TensorFlow, verify a whole dataset, or are slow.
_QUICK = (
    *("jpeg", "png", "other images", "npy", "map", "mp3", "zip"),
    *(name for name in corpus.LAYOUTS if name != "zoo"),
)
# One format in CI.
_MANY = {"tfrecord": pytest.mark.slow}
_FOUND = sorted(path.name for path in corpus.FOUND.iterdir())


def _need_reader(name):
    if name == "xlsx":
        pytest.importorskip("python_calamine")


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        (name, 3) if name in _QUICK else pytest.param(name, 20, marks=pytest.mark.nightly)
        for name in FORMATS
    ],
)
def test_a_few_cases(name, cases):
    _need_reader(name)
    right = FORMATS[name].corpus()
    for seed in range(max(3, cases // FORMATS[name].cases_for_one)):
        assert running.try_case(name, running.case_of(name, seed, right))


@pytest.mark.parametrize("file", _FOUND)
def test_what_was_a_fault(file):
    """The files' names are `<format>-<what was wrong>`."""
    name = file.partition("-")[0]
    assert running.try_case(name, (corpus.FOUND / file).read_bytes())


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in _QUICK else pytest.mark.nightly) for each in FORMATS],
)
def test_a_right_file_is_taken(name):
    """Mutations of files that are rejected anyway would test little."""
    _need_reader(name)
    assert any(running.try_case(name, right) == "taken" for right in FORMATS[name].corpus())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_MANY.get(name, pytest.mark.nightly)) for name in FORMATS]
)
def test_many_cases(name):
    """In a process with limited time and memory."""
    cases = 300 // FORMATS[name].cases_for_one
    report = running.run(name, range(cases))
    assert report.faults == []
    assert report.outcomes.total() == cases
    assert report.peak_mb < 1024
