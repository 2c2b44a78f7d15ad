"""The pages of docs/ as they are read: every command and every Python snippet, in their order.

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
from end_to_end.inputs_of_guides import EXAMPLES, INPUTS
from end_to_end.test_readme import NOISE

_DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# By page: what begins a line, or stands in a snippet, that cannot run here, and why.
_NOT_HERE = {
    "archives-and-arrays": dict.fromkeys(("import pickle", "scipy.io"), "test_not_read.py"),
    "detection": {"pip install": "network", "git clone": "network"},
    "training": {
        "--weights mobilenet": "network: Keras's weights",
        "export TF_CONFIG": "several machines",
        "--output runs/both": "several machines",
    },
}
# Pages whose commands other tests run, or that need what no test here has.
_ELSEWHERE = {
    "audio-classification": "test_audio_classification.py",
    "dataflow": "a cloud; tests/dataflow has its service's answers",
    "docker": "containers; tests/docker",
    "flink": "a cluster; tests/flink",
    "gpus": "GPUs; tests/gpu",
    "migrate": "test_migrate.py",
    "other-readers": "test_other_projects.py",
    "own-source": "a part of examples/custom_source.py, which test_examples.py runs",
    "runners": "Spark; tests/runners",
    "scaling": "hours; test_benchmarks.py runs it small",
    "serving": "test_serving.py",
}


def _snippets(page: str) -> Iterator[tuple[str, str]]:
    """("bash", a command), ("shell", a loop of several) and ("python", a block)."""
    for language, block in _FENCE.findall((_DOCS / f"{page}.md").read_text()):
        if language == "python":
            yield language, block
            continue
        if "\ndone" in block:
            yield "shell", block
            continue
        for line in block.replace("\\\n", "").splitlines():
            if shlex.split(line, comments=True):
                yield language, line


def _reason(page: str, code: str) -> str:
    """Why a snippet does not run here; or ""."""
    reasons = _NOT_HERE.get(page, {})
    return next((reason for sign, reason in reasons.items() if sign in code), "")


def test_every_page_is_run_or_listed():
    pages = {path.stem for path in _DOCS.glob("*.md") if _FENCE.search(path.read_text())}
    assert pages == INPUTS.keys() | _ELSEWHERE.keys()
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
    for file in tmp_path.glob("downloads/*.zip"):  # of archives-and-arrays.md
        store.put(f"{url}/{file.name}", file.read_bytes())
    ran = 0
    for language, code in _snippets(page):
        if _reason(page, code):
            continue
        code = code.replace("s3://bucket", url)
        if language == "python":
            words = [sys.executable, "-c", code.replace("epochs=5", "epochs=1")]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (code, done.stderr)
        elif language == "shell":
            subprocess.run(["bash", "-ec", code], cwd=tmp_path, check=True)
        else:
            python, option, *words = shlex.split(_shorter(code), comments=True)
            assert python == "python", code
            if option == "-m":
                done = command(*words, cwd=tmp_path)
            else:
                words = [sys.executable, option, *words]
                done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (code, done.stderr)
            assert not NOISE.search(done.stderr), (code, done.stderr)
        ran += 1
    assert ran
