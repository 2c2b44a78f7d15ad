"""The pages of docs/ as they are read: every command and every Python snippet, in their order, and
what they print.

What takes a cluster, a cloud, a GPU, the network or hours is listed in `_NOT_HERE`, and what other
tests run in `_ELSEWHERE`; nothing else may be left out.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import EXAMPLES, INPUTS

_DOCS = Path(__file__).parents[2] / "docs"
# By page: what begins a line, or stands in a snippet, that cannot run here, and why.
_NOT_HERE = {
    "training": {
        "--weights mobilenet": "network: Keras's weights",
        "TF_CONFIG": "several machines",
        "--output runs/both": "several machines",
    },
}
# Pages that show what their trainings print: they are not made shorter.
_AS_WRITTEN = {"tutorial"}
# Pages whose commands other tests run, or that need what no test here has.
_ELSEWHERE = {
    "clusters": "Flink, Spark, a cloud; tests/flink, tests/runners, tests/dataflow",
    "docker": "containers; tests/docker",
    "gpus": "GPUs; tests/gpu",
    "migrate": "test_migrate.py",
    "other-readers": "test_other_projects.py",
    "own-source": "a part of examples/custom_source.py, which test_own_layout.py runs",
    "scaling": "hours; test_benchmarks.py runs it small",
    "serving": "test_serving.py",
}


def test_every_page_is_run_or_listed():
    found = {path.stem for path in _DOCS.glob("*.md") if pages.fences(path.read_text())}
    assert found == INPUTS.keys() | _ELSEWHERE.keys()
    assert not INPUTS.keys() & _ELSEWHERE.keys()


def test_nothing_is_listed_that_is_not_there():
    for page, reasons in _NOT_HERE.items():
        code = "".join(code for _, code in pages.fences((_DOCS / f"{page}.md").read_text()))
        assert all(sign in code for sign in reasons), page


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `make demo` makes."""
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
    """A training of fewer epochs, in the same order."""
    shorter = [*words]
    for at, word in enumerate(words, start=1):
        if word == "--epochs":
            shorter[at] = str(-(-int(words[at]) // 8))
        elif word in ("--steps-per-epoch", "--warmup-steps"):
            shorter[at] = "3"
    return shorter


@pytest.mark.nightly
@pytest.mark.parametrize("page", INPUTS)
def test_the_snippets_run(page, tmp_path, demo, bucket):
    url, store = bucket
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "demo").symlink_to(demo)
    INPUTS[page](tmp_path)
    store.put_folder(f"{url}/pets", tmp_path / "cells")  # of object-stores.md

    def change(words: list[str]) -> list[str]:
        if any(sign in " ".join(words) for sign in _NOT_HERE.get(page, ())):
            return []
        assert words[0] in ("beam-tfrecords", "beam-tfrecords-train", "python"), words
        changed = [
            word.replace("s3://bucket", url).replace("epochs=5", "epochs=1") for word in words
        ]
        return changed if page in _AS_WRITTEN or "-c" in words else _shorter(changed)

    assert pages.play((_DOCS / f"{page}.md").read_text(), tmp_path, change)
