"""The README as it is typed: every command and snippet runs, and nothing else speaks meanwhile."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import TREES

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "README.md"
_README = _PAGE.read_text()
# As libraries log: absl's "I0000 00:00:", glog's "2026-01-01 12:00:00.1: W tensorflow/",
# Python's "WARNING:absl:", warnings of modules, Abseil's and oneDNN's notices.
NOISE = re.compile(
    r"^(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d .*: [IWEF] |(?-i:INFO|WARNING|ERROR):"
    r"|\S+\.py:\d+: \w*Warning)"
    r"|absl|cuda|onednn|TF-TRT|apache_beam|tensorflow/|site-packages",
    re.IGNORECASE | re.MULTILINE,
)


def test_it_is_short():
    assert len(_README.splitlines()) < 100


def test_the_pattern_of_noise_sees_noise():
    assert NOISE.search("I0000 00:00:1763937600.1 123 cpu_feature_guard.cc:227] This TensorFlow")
    assert NOISE.search("2026-11-23 21:00:00.123: E external/local_xla/xla.cc:1] Unable to")
    assert NOISE.search("done\nWARNING:absl:Skipping variable loading")
    assert not NOISE.search("warning: 1 file not read that may hold data")
    assert not NOISE.search("epoch 1/5  loss 0.61\nrejects: none\n120 records in 3 shards")


@pytest.mark.slow
def test_every_command_and_snippet_runs_in_silence_and_prints_what_is_shown(tmp_path, command):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    ran, printed = 0, ""
    for language, code in pages.fences(_PAGE):
        if language == "text":
            assert not pages.not_printed(code, printed), printed
        elif language == "python":
            run = [sys.executable, "-c", code]
            done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert not NOISE.search(done.stderr), done.stderr
            ran += 1
        else:
            for words in pages.commands(code):
                if words[:2] != ["python", "-m"]:  # the set-up of a machine
                    assert words[0] in ("sudo", "make", "."), words
                    continue
                done = command(*words[2:], cwd=tmp_path)
                assert done.returncode == 0, (words, done.stderr)
                assert not NOISE.search(done.stderr), (words, done.stderr)
                printed += done.stdout + done.stderr
                ran += 1
    assert ran == 4
    report = (tmp_path / "data/cells/1.0.0/report.html").read_text()
    assert "<html" in report


def _rows():
    """(page of docs/from, command) of each row of the table of inputs."""
    for row in re.findall(r"^\| (.*) \| `(\w+ .*)` \|$", _README, re.MULTILINE):
        yield re.search(r"\(docs/from/([\w-]+)\.md\)", row[0])[1], row[1]


@pytest.mark.nightly
@pytest.mark.parametrize(("page", "line"), list(_rows()))
def test_the_commands_of_the_table_run_on_the_trees_of_their_pages(page, line, tmp_path, command):
    TREES[page](tmp_path)
    done = command("beam_pipeline", *shlex.split(line), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_the_commands_write_is_ignored_by_git():
    ignored = (_ROOT / ".gitignore").read_text().splitlines()
    written = {path.split("/")[0] for path in re.findall(r"--output (\w+)", _README)}
    assert {f"/{folder}/" for folder in written} <= {*ignored}
    assert written >= {"data", "runs"}
