"""Spoken digits, by the commands that the page has: WAV to a classifier on two replicas."""

import json
import re
import shlex
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs/audio-classification.md"


def _commands() -> list[list[str]]:
    """Those of the page's block on the recordings in this repository, without `python -m`."""
    blocks = re.findall(r"^```bash\n(.*?)^```", _PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if "examples/data/digits" in block]
    return [shlex.split(line)[2:] for line in block.splitlines()]


@pytest.mark.slow
def test_digits_are_told_apart(tmp_path, command):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    build, train, evaluate = _commands()

    built = command(*build, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert "10 classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9" in built.stderr

    trained = command(*train, "--seed", "0", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert "task audio_classification: from audio (audio) to label" in trained.stderr
    assert "2 replicas," in trained.stderr

    evaluated = command(*evaluate, cwd=tmp_path)
    assert evaluated.returncode == 0, evaluated.stderr
    result = json.loads(evaluated.stdout)
    metadata = json.loads((tmp_path / "data/digits/1.0.0/metadata.json").read_text())
    assert result["num_records"] == metadata["splits"]["test"]["num_records"] > 30
    assert result["accuracy"] >= 0.9
