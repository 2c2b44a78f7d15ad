"""What Beam ships to remote workers with `--setup_file ./setup.py`."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_source_distribution_holds_the_pipeline(tmp_path):
    folder = tmp_path / "dist"
    base = ["--egg-base", str(tmp_path)]
    command = [sys.executable, "setup.py", "-q", "egg_info", *base, "sdist", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"setup.py", "pyproject.toml", "LICENSE", "beam_pipeline/py.typed"} <= names
    modules = {
        str(path.relative_to(ROOT))
        for package in ("beam_pipeline", "tfrecord_dataset")
        for path in (ROOT / package).rglob("*.py")
    }
    assert modules <= names
