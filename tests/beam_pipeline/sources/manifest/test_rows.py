"""Rows of CSV and JSON Lines files, with the lines they start on."""

import gzip
from pathlib import Path

import pytest

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.sources.manifest import csv_lines
from beam_pipeline.sources.manifest.lines import read_blocks
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


def write(path: Path, text: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def rows_of(source):
    """(line from 1, values, or why there are none) of each row."""
    (table,) = source.tables()
    rows = []
    for batch in table.batches(0, 1 << 40):
        good = zip(batch.lines, batch.by_row(), strict=True)
        rows += [(line + 1, values) for line, values in good]
        rows += [(row.line + 1, row.detail) for row in batch.bad]
    return sorted(rows, key=lambda row: row[0])


def csv_rows(path, column_names=()):
    return rows_of(ReadCsv(path, column_names=column_names))


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        pytest.param("a.csv", "a,b\n1,2", [(2, {"a": "1", "b": "2"})], id="no last line end"),
        pytest.param("a.csv", ",a\n0,1\n", [(2, {"a": "1"})], id="pandas's index"),
        pytest.param("a.csv", "a|b\n1|2,3\n", [(2, {"a": "1", "b": "2,3"})], id="bar"),
        pytest.param("a.csv", "a\tb\n1\t2\n", [(2, {"a": "1", "b": "2"})], id="tab"),
        pytest.param("a.tsv", "a,b\tc\n1\t2\n", [(2, {"a,b": "1", "c": "2"})], id="tsv"),
        pytest.param("a.csv", "a\n1\n", [(2, {"a": "1"})], id="one column"),
        pytest.param(
            "a.csv", 'a,b\n"1\n2",3\n4,5\n',
            [(2, {"a": "1\n2", "b": "3"}), (4, {"a": "4", "b": "5"})], id="line ends",
        ),
        pytest.param(
            "a.tsv", 'a\tb\n"so\t"he ""said"" so"\n"1\t2\n3"\t4\n',
            [(2, {"a": '"so', "b": 'he "said" so'}), (3, {"a": '"1', "b": "2"}),
             (4, {"a": '3"', "b": "4"})], id="stray quotes",
        ),
        pytest.param(
            "a.tsv", 'a\tb\n"1\n2"\t3\n"1\t2"\t3\n',
            [(2, {"a": "1\n2", "b": "3"}), (4, {"a": "1\t2", "b": "3"})], id="quoted tabs",
        ),
    ],
)  # fmt: skip
def test_csv_rows(tmp_path, name, text, rows):
    path = write(tmp_path / name, text)
    assert csv_rows(path) == rows


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:-9], id="cut short"),
        pytest.param(lambda data: b"a\n1\n", id="not compressed"),
        pytest.param(lambda data: data[:20] + b"\xff" * 9 + data[29:], id="damaged"),
    ],
)
def test_a_compressed_file_that_is_damaged(tmp_path, damage):
    whole = gzip.compress(b"a\n" + b"".join(b"%d\n" % number for number in range(999)))
    path = write(tmp_path / "a.csv.gz", whole)
    assert len(csv_rows(path)) == 999
    write(tmp_path / "a.csv.gz", damage(whole))
    with pytest.raises(DataError, match=r"a\.csv\.gz cannot be decompressed"):
        csv_rows(path)


@pytest.mark.parametrize(
    ("text", "normalized"), [('"In, so', "In, 1, so"), ('Or, "so"', 'Or, "1"')]
)
def test_named_columns_tell_the_delimiter(tmp_path, text, normalized):
    path = write(tmp_path / "metadata.csv", f"LJ1|{text}|{normalized}\n")
    ((_, values),) = csv_rows(path, ["id", "text", "normalized"])
    assert values == {"id": "LJ1", "text": text, "normalized": normalized}


def test_a_first_line_that_is_no_header(tmp_path):
    path = write(tmp_path / "a.csv", '"So" he said,so\n1,2\n')
    with pytest.raises(ConfigError, match=r"no header line .* --column-names"):
        csv_rows(path)


@pytest.mark.parametrize("text", ['a,b\n1,2\n3,"4\n', 'a,b\n1,2\n3,"4"5\n6,7'])
def test_quotes_that_do_not_pair(tmp_path, text):
    first, fault, *_ = csv_rows(write(tmp_path / "a.csv", text))
    assert first == (2, {"a": "1", "b": "2"})
    assert fault[0] == 3
    assert "double that quote" in fault[1]


def test_json_rows_refuse_what_is_no_character(tmp_path):
    path = write(tmp_path / "m.jsonl", b'{"a": "\\ud800"}\n{"a": "\xff"}\n{"a": "\\ud83d\\ude00"}')
    first, second, third = rows_of(ReadJsonl(path))
    assert "not UTF-8" in first[1]
    assert "not UTF-8" in second[1]
    assert third == (3, {"a": "😀"})


def test_a_quote_that_is_not_closed_costs_its_line_alone(tmp_path):
    lines = [f"{number},cat\n" for number in range(2, 1500)]
    lines[8] = '"10,cat\n'
    path = write(tmp_path / "a.csv", "a,b\n" + "".join(lines))

    rows = dict(csv_rows(path))

    assert sorted(rows) == list(range(2, 1500))
    assert "a quote opens that is not closed where a field ends, in 1,490 lines" in rows.pop(10)
    assert all(rows[line] == {"a": str(line), "b": "cat"} for line in rows)


@pytest.mark.parametrize(
    ("text", "bad", "good"),
    [
        pytest.param('1,"x\n2,y\n3,z\n4,"w"\n', [2], [3, 4, 5], id="until a field in quotes"),
        pytest.param('"1,x\n2,y\n"\n3,z\n', [2, 4], [3, 5], id="a field too few"),
        pytest.param('1,"x\n2,y\n2,y\n3"z,\n', [2], [3, 4, 5], id="until a stray quote"),
        pytest.param(
            '1,"x\n' + "2,y\n" * 10 + '3,5"\n', [2], [*range(3, 14)], id="which pairs by chance"
        ),
        pytest.param('1,"x\n\ny, and z.\n"\n2,"3\n4\n5"\n', [], [2, 6], id="several lines"),
        pytest.param('1,"x\n' + "2,y\n" * 9 + '3"\n4,x\n', [], [2, 13], id="some lines alike"),
        pytest.param('1,"' + "x\n" * 100 + '"\n2,x\n', [], [2, 103], id="a long text"),
    ],
)
def test_quotes_over_several_lines(tmp_path, text, bad, good):
    rows = csv_rows(write(tmp_path / "a.csv", f"a,b\n{text}"))

    assert [line for line, row in rows if isinstance(row, str)] == bad
    assert [line for line, row in rows if isinstance(row, dict)] == good


def test_quotes_that_never_pair_are_looked_for_only_so_far(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_lines, "_MAX_AGAIN_BYTES", 100_000)
    path = write(tmp_path / "a.csv", "a,b\n" + 'x","\n' * 50_000)
    rows = csv_rows(path)
    assert len(rows) == 50_000
    assert all(isinstance(row, str) for _, row in rows)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_a_line_without_end_stops_the_build(tmp_path, name):
    data = b"a,b\n" + bytes(20 << 20)
    path = write(tmp_path / name, gzip.compress(data, 1) if name.endswith("gz") else data)
    with pytest.raises(DataError, match=r"has a line of over 16 MiB behind byte 4; is it a text"):
        list(read_blocks(path))


def test_json_that_is_nested_deep_is_a_bad_row(tmp_path):
    digits = b'{"a": ' + b"1" * 5000 + b"}"
    deep = [b"[" * 1_000_000, b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}"]
    path = write(tmp_path / "m.jsonl", b"\n".join([*deep, digits, b'{"a": 1}']))
    rows = rows_of(ReadJsonl(path))
    assert [row[1] for row in rows[3:]] == [{"a": 1}]
    assert all(row[1].startswith("nested over 64 deep") for row in rows[:2])
    assert rows[2][1].startswith("not JSON: Exceeds the limit")
