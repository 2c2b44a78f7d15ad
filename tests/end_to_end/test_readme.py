"""The README as it is typed: every command and snippet runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_README = (_ROOT / "README.md").read_text()
_FENCE = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_it_is_short():
    assert len(_README.splitlines()) < 150


@pytest.mark.slow
def test_every_command_and_snippet_runs(tmp_path, command):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    ran = 0
    for language, code in _FENCE.findall(_README):
        if language == "python":
            run = [sys.executable, "-c", code]
            done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            ran += 1
            continue
        for line in code.splitlines():
            words = shlex.split(line, comments=True)
            if words[:2] == ["python", "-m"]:
                done = command(*words[2:], cwd=tmp_path)
                assert done.returncode == 0, (line, done.stderr)
                ran += 1
            else:  # the set-up of a machine
                assert words[0] in ("sudo", "make", "."), line
    assert ran == 9
    report = (tmp_path / "data/cells/1.0.0/report.html").read_text()
    assert "<html" in report
