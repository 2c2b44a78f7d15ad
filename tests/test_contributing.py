"""The diffs of CONTRIBUTING.md apply to a copy of the packages, and do what the page says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYOUT, OPTION = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)


@pytest.fixture
def changed(tmp_path):
    """changed(diff, words) -> what the command prints with the diff applied."""

    def run(diff, *words):
        for package in ("beam_pipeline", "tfrecord_dataset"):
            shutil.copytree(ROOT / package, tmp_path / package)
        subprocess.run(
            ["git", "apply", "-p1", "-C1"], cwd=tmp_path, input=diff, text=True, check=True
        )
        command = [sys.executable, "-m", "beam_pipeline", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.slow
def test_a_layout(changed, tmp_path, write_image):
    write_image(tmp_path / "in/images/1.png")
    (tmp_path / "in/corners").mkdir()
    (tmp_path / "in/corners/1.txt").write_text("cat 1 1 5 5\n")
    printed = changed(LAYOUT, "plan", "in")
    assert "layout: corners" in printed
    assert "feature boxes: boxes, 1 class" in printed


@pytest.mark.slow
def test_an_option(changed):
    assert "--note NOTE" in changed(OPTION, "build", "--help-all")
