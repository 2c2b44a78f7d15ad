"""A package that registers a layout, as docs/own-source.md has it: installed, found, built."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from beam_pipeline import open as open_dataset

ROOT = Path(__file__).parents[2]
GAMES = {"train.pgn": "e4 e5 Nf3 1-0\n\nd4 d5 c4 0-1\n", "test.pgn": "c4 e5 1-0\n"}


@pytest.fixture
def site(tmp_path):
    """A folder of installed packages, with one that has the page's code."""
    page = (ROOT / "docs/own-source.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    [code] = [block for block in blocks if "LAYOUT = " in block]
    [entry] = re.findall(r'^\[project.entry-points."(.*)"\]\n(\w+ = )"(.*)"$', page, re.MULTILINE)
    info = tmp_path / "site/chess-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chess\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{entry[0]}]\n{entry[1]}{entry[2]}\n")
    (tmp_path / "site/chess_layout.py").write_text(code)
    return tmp_path / "site"


@pytest.fixture
def command(site):
    def run(*arguments):
        path = os.pathsep.join([str(site), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-m", "beam_pipeline", *arguments],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_registered_layout_builds(tmp_path, command):
    folder = tmp_path / "games"
    folder.mkdir()
    for name, text in GAMES.items():
        (folder / name).write_text(text)

    result = command("build", str(folder), "--output", str(tmp_path / "data"))

    assert result.returncode == 0, result.stderr
    assert "layout: pgn" in result.stderr
    info = open_dataset(result.stdout.splitlines()[-1])
    assert {split: info.num_records(split) for split in info.splits} == {"train": 2, "test": 1}


@pytest.mark.slow
def test_its_name_is_listed_and_taken(tmp_path, command):
    (tmp_path / "a.bin").write_text("")

    help_text = command("build", "--help").stdout
    refused = command("plan", str(tmp_path), "--layout", "pgn")

    assert "arrays, idx, tfrecord, pgn " in " ".join(help_text.split())
    assert refused.returncode == 2
    assert "cannot be read as pgn" in refused.stderr
    assert "no .pgn files" in refused.stderr
