"""The examples run as their documentation says."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

_ROOT = Path(__file__).parents[2]
_CELLS = _ROOT / "examples/data/cells"
_CAMERAS = 8


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Images of two classes by eight cameras, and a row without a class."""
    path = tmp_path / "photos.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE photos (path TEXT, species TEXT, camera TEXT)")
        for species in ("RBC", "WBC"):
            (tmp_path / species).mkdir()
            for number, image in enumerate(sorted((_CELLS / species).iterdir())[:16]):
                shutil.copy(image, tmp_path / species)
                row = (f"{species}/{image.name}", species, f"camera {number % _CAMERAS}")
                connection.execute("INSERT INTO photos VALUES (?, ?, ?)", row)
        connection.execute("INSERT INTO photos VALUES ('unnamed.jpg', NULL, 'camera 0')")
    return path


def _run(database: Path, output: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    script = str(_ROOT / "examples/custom_source.py")
    return subprocess.run(
        [sys.executable, script, str(database), "--output", str(output), *options],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_custom_source(database: Path, tmp_path: Path) -> None:
    result = _run(database, tmp_path / "data", "--max-bad-fraction", "0.1")

    assert result.returncode == 0, result.stderr
    directory = Path(result.stdout.strip())
    metadata = json.loads((directory / "metadata.json").read_text())
    cameras = {
        split: {
            camera
            for shard in entry["shards"]
            for camera in pyarrow.parquet.read_table(directory / f"index/{shard['file']}.parquet")
            .column("camera")
            .to_pylist()
        }
        for split, entry in metadata["splits"].items()
    }
    assert sum(split["num_records"] for split in metadata["splits"].values()) == 32
    assert metadata["classes"] == ["RBC", "WBC"]
    assert metadata["rejected"] == {"no species": 1}
    assert len(cameras["train"] | cameras["test"]) == _CAMERAS
    assert not cameras["train"] & cameras["test"]


@pytest.mark.slow
def test_custom_source_counts_its_rejects_as_bad(database: Path, tmp_path: Path) -> None:
    result = _run(database, tmp_path / "data")

    assert result.returncode != 0
    assert "photos.db: unnamed.jpg: no species (the column is NULL)" in result.stderr
