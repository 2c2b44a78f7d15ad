"""Whoever has times in seconds learns that a float of 32 bits does not hold them, and what does."""

import numpy as np
import pytest

import trainer
from beam_pipeline.cli import commands

TIMES = [1700000061.5, 1700000001.25, 1700000000.0]
NOTE = (
    "note: timestamp: float32 has 7 digits: 1700000001.25 is stored as 1700000000; store the "
    "difference from a number near it, or declare int64 or text by --schema"
)


@pytest.fixture
def table(tmp_path, write_manifest):
    rows = [{"timestamp": time, "size": 0.1} for time in TIMES]
    return str(write_manifest(tmp_path / "times.csv", rows))


@pytest.mark.slow
def test_numbers_that_are_rounded_are_noted(table, tmp_path, capsys):
    assert commands.main(["plan", table]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == NOTE

    assert commands.main(["build", table, "--output", str(tmp_path / "data")]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == NOTE
    records = trainer.open(out.strip()).numpy("train")
    assert [float(record["timestamp"]) for record in records] == [1700000000.0] * 3


@pytest.mark.parametrize(
    "declared",
    [
        "{kind: text}",
        pytest.param(
            "{kind: tensor, dtype: float64, shape: [1], encoding: bytes}", marks=pytest.mark.slow
        ),
    ],
)
def test_what_holds_them_has_no_note(table, tmp_path, capsys, declared):
    schema = tmp_path / "schema.yaml"
    schema.write_text(f"timestamp: {declared}\n")
    arguments = [table, "--schema", str(schema), "--output", str(tmp_path / "data")]

    assert commands.main(["build", *arguments]) == 0
    out, err = capsys.readouterr()
    assert "note:" not in err
    records = trainer.open(out.strip()).numpy("train")
    assert {float(np.ravel(record["timestamp"])[0]) for record in records} == set(TIMES)
