"""The README as it is typed: every command and snippet runs, and nothing else speaks meanwhile."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text()
_FENCE = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# As libraries log: absl's "I0000 00:00:", glog's "2026-01-01 12:00:00.1: W tensorflow/",
# Python's "WARNING:absl:", warnings of modules, Abseil's and oneDNN's notices.
NOISE = re.compile(
    r"^(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d .*: [IWEF] |(?-i:INFO|WARNING|ERROR):"
    r"|\S+\.py:\d+: \w*Warning)"
    r"|absl|cuda|onednn|TF-TRT|apache_beam|tensorflow/|site-packages",
    re.IGNORECASE | re.MULTILINE,
)


def test_it_is_short():
    assert len(_README.splitlines()) < 150


def test_the_pattern_of_noise_sees_noise():
    assert NOISE.search("I0000 00:00:1763937600.1 123 cpu_feature_guard.cc:227] This TensorFlow")
    assert NOISE.search("2026-11-23 21:00:00.123: E external/local_xla/xla.cc:1] Unable to")
    assert NOISE.search("done\nWARNING:absl:Skipping variable loading")
    assert not NOISE.search("warning: 1 file that may hold data was not read")
    assert not NOISE.search("epoch 1/5  loss 0.61\nrejects: none\n120 records in 3 shards")


@pytest.mark.slow
def test_every_command_and_snippet_runs_in_silence(tmp_path, command):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    ran = 0
    for language, code in _FENCE.findall(_README):
        if language == "python":
            run = [sys.executable, "-c", code]
            done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert not NOISE.search(done.stderr), done.stderr
            ran += 1
            continue
        for line in code.splitlines():
            words = shlex.split(line, comments=True)
            if words[:2] == ["python", "-m"]:
                done = command(*words[2:], cwd=tmp_path)
                assert done.returncode == 0, (line, done.stderr)
                assert not NOISE.search(done.stderr), (line, done.stderr)
                ran += 1
            else:  # the set-up of a machine
                assert words[0] in ("sudo", "make", "."), line
    assert ran == 9
    report = (tmp_path / "data/cells/1.0.0/report.html").read_text()
    assert "<html" in report
