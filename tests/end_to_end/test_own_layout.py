"""Custom layouts and sources, as in docs/dev/own-source.md, are found and built."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beam_pipeline import open as open_dataset

ROOT = Path(__file__).parents[2]
GAMES = {"train.pgn": "e4 e5 Nf3 1-0\n\nd4 d5 c4 0-1\n", "test.pgn": "c4 e5 1-0\n"}


@pytest.fixture
def site(tmp_path):
    """A folder of installed packages, including one with the page's code."""
    page = (ROOT / "docs/dev/own-source.md").read_text()
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
def run(site, command):
    """run(*arguments) -> the result of the command with the package installed."""
    path = os.pathsep.join([str(site), str(ROOT)])
    return lambda *arguments: command(
        "beam_pipeline", *arguments, env={**os.environ, "PYTHONPATH": path}
    )


def test_a_registered_layout_builds(tmp_path, run):
    folder = tmp_path / "games"
    folder.mkdir()
    for name, text in GAMES.items():
        (folder / name).write_text(text)

    result = run("build", folder, "--output", tmp_path / "data")

    assert result.returncode == 0, result.stderr
    assert "layout: pgn" in result.stderr
    info = open_dataset(result.stdout.splitlines()[-1])
    assert {split: info.num_records(split) for split in info.splits} == {"train": 2, "test": 1}


@pytest.mark.slow
def test_the_example_of_a_source_of_ones_own(tmp_path):
    """Images of two classes by eight cameras in a database, and a row without a class."""
    path = tmp_path / "photos.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE photos (path TEXT, species TEXT, camera TEXT)")
        rows = [("unnamed.jpg", None, "camera 0")]
        for species in ("RBC", "WBC"):
            (tmp_path / species).mkdir()
            images = sorted((ROOT / f"examples/data/cells/{species}").iterdir())[:16]
            for number, image in enumerate(images):
                shutil.copy(image, tmp_path / species)
                rows.append((f"{species}/{image.name}", species, f"camera {number % 8}"))
        connection.executemany("INSERT INTO photos VALUES (?, ?, ?)", rows)
    script = [sys.executable, ROOT / "examples/custom_source.py", path]
    options = ["--output", tmp_path / "data", "--max-bad-fraction", "0.1"]

    done = subprocess.run([*script, *options], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    info = open_dataset(done.stdout.strip())
    assert sum(map(info.num_records, info.splits)) == 32
    assert info.classes == ("RBC", "WBC")
    assert info.metadata["rejected"] == {"no species": 1}
    cameras = {
        split: {
            camera
            for shard in shards
            for camera in pq.read_table(f"{info.path}/index/{shard.file}.parquet")[
                "camera"
            ].to_pylist()
        }
        for split, shards in info.splits.items()
    }
    assert len(cameras["train"] | cameras["test"]) == 8
    assert not cameras["train"] & cameras["test"]
