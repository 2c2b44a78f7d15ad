"""Columns of whole numbers of over 64 bits become text, with a count."""

import json
import logging

import pytest

from beam_pipeline.cli import commands

LARGE = str(2**64)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", f"x,label\n{LARGE},a\n3,b\n4,a\n", "1 of 3 whole numbers need over 64 bits"),
        ("t.csv", f"x,label\n{LARGE},a\ncat,b\n", ""),
        ("t.csv", "x,label\n007,a\n008,b\n", ""),
        ("t.csv", f"x,label\n{'9' * 5_000},a\n1,b\n", "1 of 2 whole numbers need over 64 bits"),
        ("t.jsonl", json.dumps({"x": 2**64}) + '\n{"x": 1}\n', "1 of 2 whole numbers need over"),
    ],
    ids=["of CSV", "text", "leading zeros", "5,000 digits", "of JSON"],
)
def test_a_column_with_numbers_of_over_64_bits(tmp_path, caplog, name, text, message):
    (tmp_path / name).write_text(text)
    with caplog.at_level(logging.WARNING):
        build = ["build", str(tmp_path / name), "--output", str(tmp_path / "out"), "--name", "t"]
        assert commands.main(build) == 0
    warnings = [each for each in caplog.messages if "64 bits" in each]
    assert message in " ".join(warnings)
    assert len(warnings) == bool(message)
