"""Rows of CSV and JSON Lines files, with the lines they start on."""

import gzip

import pytest

from beam_pipeline.errors import DataError
from beam_pipeline.sources.manifest import csv_table
from beam_pipeline.sources.manifest.lines import read_blocks
from beam_pipeline.sources.manifest.read import ReadCsv


def rows_of(source):
    """(line from 1, values, or why there are none) of each row."""
    (table,), _ = source.tables()
    rows = []
    for batch in table.batches(0, 1 << 40):
        good = zip(batch.lines, batch.by_row(), strict=True)
        rows += [(line + 1, values) for line, values in good]
        rows += [(row.line + 1, row.detail) for row in batch.bad]
    return sorted(rows, key=lambda row: row[0])


def csv_rows(path, column_names=()):
    return rows_of(ReadCsv(path, column_names=column_names))


def test_a_quote_that_is_not_closed_costs_its_line_alone(tmp_path, write):
    lines = [f"{number},cat\n" for number in range(2, 1500)]
    lines[8] = '"10,cat\n'
    path = write(tmp_path / "a.csv", "a,b\n" + "".join(lines))

    rows = dict(csv_rows(path))

    assert sorted(rows) == list(range(2, 1500))
    assert "a quote opens that is not closed where a field ends, in 1,490 lines" in rows.pop(10)
    assert all(rows[line] == {"a": str(line), "b": "cat"} for line in rows)


def test_quotes_that_never_pair_are_looked_for_only_so_far(tmp_path, monkeypatch, write):
    monkeypatch.setattr(csv_table, "_MAX_AGAIN_BYTES", 100_000)
    path = write(tmp_path / "a.csv", "a,b\n" + 'x","\n' * 50_000)
    rows = csv_rows(path)
    assert len(rows) == 50_000
    assert all(isinstance(row, str) for _, row in rows)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_a_line_without_end_stops_the_build(tmp_path, name, write):
    data = b"a,b\n" + bytes(20 << 20)
    path = write(tmp_path / name, gzip.compress(data, 1) if name.endswith("gz") else data)
    with pytest.raises(DataError, match=r"has a line of over 16 MiB behind byte 4; is it a text"):
        list(read_blocks(path))
