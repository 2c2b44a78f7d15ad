"""Runs every command and snippet of README, docs/ and docs/from, and compares the output.

Those that need a cluster, a cloud, a GPU, the network or hours are listed in `_NOT_HERE`, and those
that other tests run in `_ELSEWHERE`; all others must run.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import EXAMPLES, INPUTS, TREES

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_README = (_ROOT / "README.md").read_text()
_OF_INPUTS = {page.stem: page.read_text() for page in _DOCS.glob("from/*.md")}
# By page: starts of lines, or parts of snippets, that cannot run here, and why.
_NOT_HERE = {
    "compare-runs": {"tensorboard --logdir": "it serves until it is stopped"},
    "training-reference": {
        "TF_CONFIG": "several machines",
        "--output runs/both": "several machines",
    },
}
# Pages that show the output of their trainings, which are not shortened.
_AS_WRITTEN = {"tutorial"}
# Pages whose commands other tests run, or that need things no test here has.
_ELSEWHERE = {
    "clusters": "clusters, containers; tests/flink, tests/runners, tests/dataflow, tests/docker",
    "gpus": "GPUs; tests/gpu",
    "install": "it sets up a machine; test_packaging.py",
    "migrate": "test_migrate.py",
    "serving": "test_serving.py",
}


@pytest.mark.parametrize(
    ("text", "is_noise"),
    [
        ("I0000 00:00:1763937600.1 123 cpu_feature_guard.cc:227] This TensorFlow", True),
        ("2026-11-23 21:00:00.123: E external/local_xla/xla.cc:1] Unable to", True),
        ("done\nWARNING:absl:Skipping variable loading", True),
        ("warning: 1 file not read that may hold data", False),
        ("epoch 1/5  loss 0.61\nrejects: none\n120 records in 3 shards", False),
    ],
)
def test_the_pattern_of_noise_sees_noise(text, is_noise):
    assert bool(pages.NOISE.search(text)) == is_noise


@pytest.mark.parametrize(
    ("line", "is_printed"),
    [
        pytest.param("train: 3 records", True, id="whole"),
        pytest.param("report: …/report.html", True, id="a part left out"),
        pytest.param("train: 3", False, id="the start of a line"),
        pytest.param("test: 3 records", False, id="another line"),
    ],
)
def test_a_line_of_output_is_compared_whole(line, is_printed):
    missing = pages.not_printed(line, "train: 3 records\nreport: /a/report.html\n")
    assert missing == ([] if is_printed else [line])


def test_pages_are_short_and_show_what_one_sees():
    assert len(_README.splitlines()) <= 100
    assert [line.split("#")[0].strip() for line in _README.splitlines() if line[:5] == "make "] == [
        "make demo",
        "make test",
    ]
    for name in _OF_INPUTS.keys() - {"index"}:
        most = 1_200 if name == "tables" else 330  # its reference is on the same page
        assert 150 <= len(_OF_INPUTS[name].split()) <= most, name
        assert "\n```text\n" in _OF_INPUTS[name], name
        assert "](../images/" in _OF_INPUTS[name], name


def test_every_page_is_run_or_listed():
    found = {path.stem for path in _DOCS.glob("*.md") if pages.fences(path.read_text())}
    assert found == INPUTS.keys() | _ELSEWHERE.keys()
    assert not INPUTS.keys() & _ELSEWHERE.keys()
    assert _OF_INPUTS.keys() == TREES.keys()
    for page, reasons in _NOT_HERE.items():
        code = "".join(code for _, code in pages.fences((_DOCS / f"{page}.md").read_text()))
        assert all(sign in code for sign in reasons), page


def test_what_the_commands_of_readme_write_is_ignored_by_git():
    ignored = (_ROOT / ".gitignore").read_text().splitlines()
    written = {path.split("/")[0] for path in re.findall(r"--output (\w+)", _README)}
    assert {f"/{folder}/" for folder in written} <= {*ignored}
    assert written >= {"data", "runs"}


def _without_set_up(words):
    """Skip commands that set up a machine."""
    is_ours = words[0].startswith("beam-tfrecords")
    assert is_ours or words[0] in ("python", "sudo", "make", "."), words
    return words if is_ours or words[0] == "python" else []


@pytest.mark.slow
def test_readme_runs_in_silence_and_prints_what_is_shown(tmp_path):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    ran = pages.play(_README, tmp_path, _without_set_up)
    assert len(ran) == 4
    assert not any(pages.NOISE.search(done.stderr) for _, done in ran)
    assert "<html" in (tmp_path / "data/cells/1.0.0/report.html").read_text()


def _rows():
    """Yield (page of docs/from, command) of each row of README's table of inputs."""
    for row in re.findall(r"^\| (.*) \| `(\w+ .*)` \|$", _README, re.MULTILINE):
        yield re.search(r"\(docs/from/([\w-]+)\.md\)", row[0])[1], row[1]


@pytest.mark.nightly
@pytest.mark.parametrize(("page", "line"), list(_rows()))
def test_the_commands_of_the_table_run_on_the_trees_of_their_pages(page, line, tmp_path):
    TREES[page](tmp_path)
    pages.run(["beam-tfrecords", *shlex.split(line)], tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", TREES)
def test_a_page_of_an_input_runs_on_its_tree(name, tmp_path):
    """Builds do not warn, and all named reports exist."""
    TREES[name](tmp_path)
    for words, done in pages.play(_OF_INPUTS[name], tmp_path):
        # The trainer warns about few records.
        assert words[0] != "beam-tfrecords" or "warning" not in done.stderr.lower(), done.stderr
        for report in re.findall(r"^report: (.*/report\.html)$", done.stderr, re.MULTILINE):
            assert (tmp_path / report).exists()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder made by `make demo`."""
    folder = tmp_path_factory.mktemp("made") / "demo"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run = subprocess.run(
        [str(EXAMPLES / "demo.sh")],
        env={**os.environ, "DEMO_DIR": str(folder), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return folder


def _shorter(words: list[str]) -> list[str]:
    """Reduce the epochs of a training."""
    shorter = [*words]
    for at, word in enumerate(words, start=1):
        if word == "--epochs":
            shorter[at] = str(-(-int(words[at]) // 8))
        elif word in ("--steps-per-epoch", "--warmup-steps"):
            shorter[at] = "3"
    return shorter


@pytest.mark.nightly
@pytest.mark.parametrize("page", INPUTS)
def test_the_snippets_of_a_guide_run(page, tmp_path, demo, bucket):
    url, store = bucket
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "demo").symlink_to(demo)
    INPUTS[page](tmp_path)
    store.put_folder(f"{url}/pets", tmp_path / "cells")  # for object-stores.md

    def change(words: list[str]) -> list[str]:
        if any(sign in " ".join(words) for sign in _NOT_HERE.get(page, ())):
            return []
        assert words[0] in ("beam-tfrecords", "beam-tfrecords-train", "python"), words
        changed = [
            word.replace("s3://bucket", url).replace("epochs=5", "epochs=1") for word in words
        ]
        return changed if page in _AS_WRITTEN or "-c" in words else _shorter(changed)

    # test_other_projects.py runs the snippets of other readers.
    text = (_DOCS / f"{page}.md").read_text().partition("\n## Other readers\n")[0]
    assert pages.play(text, tmp_path, change)
