"""Spoken digits: WAV to a classifier on two replicas."""

import json
import shlex
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_COMMANDS = """
beam_pipeline build examples/data/digits --path-pattern {label}_{speaker}_{index} \
--split train=0.8,test=0.2 --output data
trainer train --data data/digits --output runs/digits --devices cpu:2 --epochs 30
trainer evaluate --data data/digits --run runs/digits
"""


@pytest.mark.slow
def test_digits_are_told_apart(tmp_path, command):
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    build, train, evaluate = map(shlex.split, _COMMANDS.strip().splitlines())

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
