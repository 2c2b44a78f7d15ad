"""The README as it is typed: every command and snippet runs, and nothing else speaks meanwhile."""

import re
import shlex
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import TREES

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text()


def test_it_is_short():
    assert len(_README.splitlines()) < 100


def test_the_pattern_of_noise_sees_noise():
    noise = pages.NOISE
    assert noise.search("I0000 00:00:1763937600.1 123 cpu_feature_guard.cc:227] This TensorFlow")
    assert noise.search("2026-11-23 21:00:00.123: E external/local_xla/xla.cc:1] Unable to")
    assert noise.search("done\nWARNING:absl:Skipping variable loading")
    assert not noise.search("warning: 1 file not read that may hold data")
    assert not noise.search("epoch 1/5  loss 0.61\nrejects: none\n120 records in 3 shards")


def _without_set_up(words):
    """Nothing of the set-up of a machine is run."""
    is_ours = words[0].startswith("beam-tfrecords")
    assert is_ours or words[0] in ("python", "sudo", "make", "."), words
    return words if is_ours or words[0] == "python" else []


@pytest.mark.slow
def test_every_command_and_snippet_runs_in_silence_and_prints_what_is_shown(tmp_path):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    ran = pages.play(_README, tmp_path, _without_set_up)
    assert len(ran) == 4
    assert not any(pages.NOISE.search(done.stderr) for _, done in ran)
    report = (tmp_path / "data/cells/1.0.0/report.html").read_text()
    assert "<html" in report


def _rows():
    """(page of docs/from, command) of each row of the table of inputs."""
    for row in re.findall(r"^\| (.*) \| `(\w+ .*)` \|$", _README, re.MULTILINE):
        yield re.search(r"\(docs/from/([\w-]+)\.md\)", row[0])[1], row[1]


@pytest.mark.nightly
@pytest.mark.parametrize(("page", "line"), list(_rows()))
def test_the_commands_of_the_table_run_on_the_trees_of_their_pages(page, line, tmp_path):
    TREES[page](tmp_path)
    pages.run(["beam-tfrecords", *shlex.split(line)], tmp_path)


def test_what_the_commands_write_is_ignored_by_git():
    ignored = (_ROOT / ".gitignore").read_text().splitlines()
    written = {path.split("/")[0] for path in re.findall(r"--output (\w+)", _README)}
    assert {f"/{folder}/" for folder in written} <= {*ignored}
    assert written >= {"data", "runs"}
