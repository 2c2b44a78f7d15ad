"""Rows that cannot be used, among the first rows of a manifest and behind them."""

import pytest

from beam_pipeline.sources.manifest.read_json import ReadJsonl


@pytest.mark.parametrize(
    ("usual", "odd", "reason"),
    [
        pytest.param(None, {}, "unsupported column", id="object"),
        pytest.param([1], [[1], 2], "malformed annotation", id="ragged"),
        pytest.param([1], [2**64], "value out of range", id="huge"),
    ],
)
@pytest.mark.parametrize("line", [1, 51, 121])
def test_an_odd_value_rejects_its_row_alone(
    tmp_path, read_manifest, write, json_lines, by_name, usual, odd, reason, line
):
    rows = [{"image": f"{number}.jpg", "v": usual} for number in range(120)]
    rows.insert(line - 1, {"image": "odd.jpg", "v": odd})
    elements = read_manifest(ReadJsonl(write(tmp_path / "m.jsonl", json_lines(*rows))))
    records, rejects = by_name(elements)
    assert len(records) == 120
    found = rejects.pop(f"m.jsonl:{line}")
    assert (found.reason, found.bad, rejects) == (reason, True, {})
    assert "column 'v'" in found.detail


def test_leaving_out_what_few_rows_have(tmp_path, read_manifest, write, json_lines):
    rows = [{"x": number} for number in range(110)]
    path = write(tmp_path / "m.jsonl", json_lines(*rows, {"x": 1, "odd": {}}))
    assert len(read_manifest(ReadJsonl(path, ignore_columns=["odd"]))) == 111
