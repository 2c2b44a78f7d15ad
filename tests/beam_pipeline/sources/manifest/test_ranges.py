"""However a manifest is cut into ranges, its rows are the same, with the same lines."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest
from cases.inputs import workbook_parts

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.records import Deferred
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.json_table import JsonTable
from beam_pipeline.sources.manifest.lines import read_blocks
from beam_pipeline.sources.manifest.read import ReadCsv
from beam_pipeline.sources.manifest.read_json import ReadJsonl
from beam_pipeline.sources.manifest.survey import Questions, overview, survey
from beam_pipeline.sources.manifest.workbook import ReadXlsx

# Small files soon have every cut, through quotes, line ends and characters.
PIECES = [
    "a",
    "1",
    "2.5",
    "é",
    "😀",
    " ",
    ",",
    ",",
    '"',
    '""',
    '","',
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\t",
]
MARK = "\ufeff".encode()
EASY = hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)


def lines_of(data: bytes):
    """The lines of a whole file, as Python's own reader of them wants them."""
    text = data.removeprefix(MARK).decode(errors="surrogateescape")
    return list(io.StringIO(text, newline="\n"))


def next_csv_row(lines):
    """(the first row of these lines, or None where it cannot be read; how many lines it has)."""
    reader = csv.reader(lines, strict=True)
    try:
        return next(reader), reader.line_num
    except csv.Error:
        return None, reader.line_num


def whole_csv(data: bytes):
    """(line, fields or None) of each row, by Python's own reader alone.

    Where quotes do not pair, the first line of the row is one by itself.
    """
    lines = lines_of(data)
    line = next_csv_row(lines)[1]
    rows = []
    while line < len(lines):
        fields, count = next_csv_row(lines[line:])
        between = lines[line + 1 : line + count - 1]
        holds_rows = all(len(next_csv_row([text])[0] or ()) == 2 for text in between)
        at_least = 1 if fields and len(fields) != 2 else 10
        if count > 1 and (fields is None or (len(between) >= at_least and holds_rows)):
            fields, count = None, 1
        if fields is None or (fields and fields != [""]):
            usable = fields and len(fields) == 2 and "\udcff" not in "".join(fields)
            rows.append((line, dict(zip("xy", fields, strict=True)) if usable else None))
        line += count
    return rows


def whole_json(data: bytes):
    """The same of JSON Lines."""
    rows = []
    for line, text in enumerate(lines_of(data)):
        if text.strip():
            try:
                text.encode()
                values = json.loads(text)
            except ValueError:
                values = None
            rows.append((line, values if isinstance(values, dict) else None))
    return rows


def stated(values):
    """The values of a row that it has; rows of JSON have those of their own."""
    return {name: value for name, value in values.items() if value is not None}


def in_ranges(table, range_bytes, questions):
    """The rows of all ranges, one after the other, and the survey of each range."""
    parts = table.ranges(range_bytes)
    data = Path(table.manifest.path).read_bytes()
    all_rows = overview([survey(part, questions) for part in parts], questions)
    rows = []
    for part in parts:
        start, end, _, first_line = all_rows.places[table.manifest.path, part.start]
        for batch in table.batches(start, end) if start < end else ():
            good = list(zip(batch.lines, batch.by_row(), strict=True))
            places = zip(batch.offsets, batch.lengths, strict=True)
            for (_, values), (offset, length) in zip(good, places, strict=True):
                of_row = data[offset : offset + length]
                assert {name: table.cell(name)(of_row) for name in values} == values
            rows += [(first_line - 1 + line, stated(values)) for line, values in good]
            rows += [(first_line - 1 + row.line, None) for row in batch.bad]
    return sorted(rows, key=lambda row: row[0]), all_rows


@EASY
@hypothesis.given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=60),
    mark=st.booleans(),
    broken=st.booleans(),
    sizes=st.tuples(st.integers(4, 9), st.integers(10, 40)),
)
def test_any_cut_of_a_csv(tmp_path, pieces, mark, broken, sizes):
    data = MARK * mark + b"x,y\n" + "".join(pieces).encode() + b"\xff" * broken
    path = tmp_path / "m.csv"
    path.write_bytes(data)
    (table,), _ = ReadCsv(str(path)).tables()
    expected = whole_csv(data)
    questions = Questions(columns=Columns())

    whole, all_rows = in_ranges(table, 1 << 20, questions)
    assert whole == expected
    for size in sizes:
        rows, overall = in_ranges(table, size, questions)
        assert rows == expected
        assert overall.kinds == all_rows.kinds


@EASY
@hypothesis.given(
    rows=st.lists(
        st.one_of(
            st.dictionaries(
                st.sampled_from("xy"), st.one_of(st.integers(), st.text(max_size=3))
            ).map(lambda row: json.dumps(row, ensure_ascii=False)),
            st.sampled_from(["", " ", "\r", "[1]", "{", '{"x": [1, 2]}', '{"x": {}}']),
        ),
        max_size=12,
    ),
    mark=st.booleans(),
    ends=st.sampled_from(["\n", "\r\n"]),
    last_end=st.booleans(),
    size=st.integers(4, 60),
)
@hypothesis.example(rows=['{"x": {}}', "{}", "{}"], mark=False, ends="\n", last_end=False, size=4)
def test_any_cut_of_json_lines(tmp_path, rows, mark, ends, last_end, size):
    data = MARK * mark + (ends.join(rows) + ends * last_end).encode()
    path = tmp_path / "m.jsonl"
    path.write_bytes(data)
    expected = whole_json(data)
    questions = Questions(columns=Columns())

    table = JsonTable(
        manifest=Manifest(path=str(path), relative="m", split=None, folder="/", root="/")
    )
    whole, all_rows = in_ranges(table, 1 << 20, questions)
    assert whole == expected
    found, overall = in_ranges(table, size, questions)
    assert found == expected
    assert overall.kinds == all_rows.kinds


@EASY
@hypothesis.given(
    data=st.lists(st.sampled_from([b"a", b"\n", b"\r\n", "😀".encode(), b"\xff"])).map(b"".join),
    start=st.integers(0, 30),
    block_bytes=st.integers(1, 9),
)
def test_blocks_are_the_lines_and_their_places(tmp_path, data, start, block_bytes):
    path = tmp_path / "m"
    path.write_bytes(data)
    places = [0]
    for line in io.BytesIO(data):
        places.append(places[-1] + len(line))
    blocks = list(read_blocks(str(path), start, block_bytes))

    starts = [number for block in blocks for number in block.starts[:-1]]
    assert starts == [place for place in places[:-1] if place >= start]
    ends = [number for block in blocks for number in block.starts[1:]]
    assert ends == places[len(places) - len(ends) :]
    lines = [line for block in blocks for line in block.lines]
    encoded = [line.encode(errors="surrogateescape") for line in lines]
    assert encoded == [data[begin:end] for begin, end in zip(starts, ends, strict=True)]
    assert all(block.is_unicode for block in blocks) or b"\xff" in data


ROWS = (
    'image,label,note\na.jpg,cat,"so\nor, so"\n\nb.jpg,dog,\n,cat,x\nb.jpg,cat,"1\n2\n3"\nc.jpg,é\n'
)


@pytest.mark.parametrize("range_bytes", [4, 5, 7, 16, 33])
def test_records_and_rejects_of_small_ranges(tmp_path, read_manifest, write, range_bytes):
    source = ReadCsv(write(tmp_path / "m.csv", ROWS))
    whole = read_manifest(source)
    assert sorted(map(repr, read_manifest(source, range_bytes))) == sorted(map(repr, whole))
    assert {element.source for element in whole} == {f"m.csv:{line}" for line in (2, 5, 6, 7, 10)}


def test_a_compressed_manifest_is_unpacked_to_be_cut(tmp_path, read_manifest, write):
    whole = read_manifest(ReadCsv(write(tmp_path / "m.csv", ROWS)))
    packed = write(tmp_path / "z" / "m.csv.gz", gzip.compress(ROWS.encode()))
    source = ReadCsv(packed, image_root=str(tmp_path), scratch=str(tmp_path / "scratch"))
    for _ in range(2):  # the second time it is there
        elements = read_manifest(source, 16)
        assert repr(sorted(map(repr, elements))).replace("m.csv.gz", "m.csv") == repr(
            sorted(map(repr, whole))
        )
        assert len([*(tmp_path / "scratch").iterdir()]) == 1
    write(tmp_path / "z" / "m.csv.gz", gzip.compress(ROWS.encode())[:-9])
    with pytest.raises(DataError, match=r"m\.csv\.gz cannot be decompressed .*fetch it again"):
        read_manifest(source, 16)


@pytest.mark.parametrize("suffix", ["json", "json.gz", "xlsx"])
@pytest.mark.parametrize("range_bytes", [20, 1 << 20])
def test_rows_that_are_no_lines_are_unpacked_once_to_be_cut(
    tmp_path, read_manifest, write, suffix, range_bytes
):
    rows = [{"x": number, "note": "long " * 300, "label": "ab"[number % 2]} for number in range(12)]
    path = tmp_path / f"a.{suffix}"
    if suffix == "xlsx":
        pytest.importorskip("python_calamine")
        cells = [[*rows[0]], *([*row.values()] for row in rows)]
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in workbook_parts([("One", cells)]).items():
                archive.writestr(name, text)
    else:
        data = json.dumps(rows).encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    read = ReadXlsx if suffix == "xlsx" else ReadJsonl

    whole = read_manifest(read(str(path)))
    cut = read_manifest(read(str(path), scratch=str(tmp_path / "scratch")), range_bytes)

    assert [record.key for record in cut] == [record.key for record in whole]
    assert [record.features["x"] for record in cut] == [*range(12)]
    assert {type(record.features["note"]) for record in whole} == {str}
    assert {type(record.features["note"]) for record in cut} == {Deferred}
    (unpacked,) = (tmp_path / "scratch").iterdir()
    assert len(unpacked.read_bytes().splitlines()) == 12


def test_what_is_left_out_lies_in_no_range(tmp_path, read_manifest, write):
    path = write(tmp_path / "m.jsonl", '{"x": 1}\n' * 200)
    with pytest.raises(ConfigError, match="--ignore-columns 'z' is not there; there are 'x'"):
        read_manifest(ReadJsonl(path, ignore_columns=["z"]), 100)
