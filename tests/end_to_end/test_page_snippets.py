"""The pages of docs/ as they are read: every command and every Python snippet, in their order, and
what they print.

What takes a cluster, a cloud, a GPU, the network or hours is listed in `_NOT_HERE`, and what other
tests run in `_ELSEWHERE`; nothing else may be left out.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_guides import EXAMPLES, INPUTS
from end_to_end.test_readme import NOISE

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
    "own-source": "a part of examples/custom_source.py, which test_examples.py runs",
    "scaling": "hours; test_benchmarks.py runs it small",
    "serving": "test_serving.py",
}


def _snippets(page: str) -> Iterator[tuple[str, str]]:
    """("bash", a command), ("python", a block), and ("text", what those before it print)."""
    for language, block in pages.fences(_DOCS / f"{page}.md"):
        if language == "bash":
            for words in pages.commands(block):
                yield language, shlex.join(words)
        else:
            yield language, block


def _reason(page: str, code: str) -> str:
    """Why a snippet does not run here; or ""."""
    reasons = _NOT_HERE.get(page, {})
    return next((reason for sign, reason in reasons.items() if sign in code), "")


def test_every_page_is_run_or_listed():
    found = {path.stem for path in _DOCS.glob("*.md") if pages.fences(path)}
    assert found == INPUTS.keys() | _ELSEWHERE.keys()
    assert not INPUTS.keys() & _ELSEWHERE.keys()


def test_nothing_is_listed_that_is_not_there():
    for page, reasons in _NOT_HERE.items():
        for sign in reasons:
            assert any(sign in code for _, code in _snippets(page)), (page, sign)


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


def _shorter(line: str) -> str:
    """A training of fewer epochs, in the same order."""
    line = re.sub(r"--epochs (\d+)", lambda found: f"--epochs {-(-int(found[1]) // 8)}", line)
    return re.sub(r"--(steps-per-epoch|warmup-steps) \d+", r"--\1 3", line)


@pytest.mark.nightly
@pytest.mark.parametrize("page", INPUTS)
def test_the_snippets_run(page, tmp_path, demo, bucket, command):
    url, store = bucket
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "demo").symlink_to(demo)
    INPUTS[page](tmp_path)
    store.put_folder(f"{url}/pets", tmp_path / "cells")  # of object-stores.md
    ran, printed, is_output = 0, "", False
    for language, code in _snippets(page):
        if language == "text":
            assert not pages.not_printed(code, printed), printed
            is_output = True
            continue
        if _reason(page, code):
            continue
        if is_output:
            printed, is_output = "", False
        code = code.replace("s3://bucket", url)
        if language == "python":
            words = [sys.executable, "-c", code.replace("epochs=5", "epochs=1")]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (code, done.stderr)
        else:
            line = code if page in _AS_WRITTEN else _shorter(code)
            python, option, *words = shlex.split(line)
            assert python == "python", code
            if option == "-m":
                done = command(*words, cwd=tmp_path)
            else:
                words = [sys.executable, option, *words]
                done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (code, done.stderr)
            assert not NOISE.search(done.stderr), (code, done.stderr)
        printed += done.stdout + done.stderr
        ran += 1
    assert ran
