"""Delimited text: lines, and rows by one rule for quotes."""

import csv
import io

import hypothesis
import hypothesis.strategies as st
import pytest

from tfrecord_dataset import delimited
from tfrecord_dataset.delimited import Dialect, LongLineError, lines_of, read_rows, text_blocks


def rows_of(text, *, width=None, block=1 << 20, long_line=delimited._LONG_LINE):
    """Return (line, fields or the reason of the fault) of each row that is not empty."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_BYTES", block)
        patch.setattr(delimited, "_LONG_LINE", long_line)
        for part in read_rows(text_blocks(io.BytesIO(text.encode())), Dialect(), width):
            for rows in part:
                assert len(rows.fields) == len(rows.lines)
                found += [*zip(rows.lines, rows.fields, strict=True), *rows.faults]
    return sorted((each for each in found if each[1]), key=lambda row: row[0])


def one_by_one(text, width):
    """Read a row at a time with Python's strict reader; a fault costs one line."""
    lines, found, at = lines_of(text), [], 0
    while at < len(lines):
        reader = csv.reader(lines[at:], strict=True)
        try:
            row = next(reader)
        except csv.Error:
            found.append((at + 1, None))
            at += 1
            continue
        if row:
            found.append((at + 1, row if width in (None, len(row)) else None))
        at += reader.line_num
    return found


TEXTS = st.text(st.sampled_from('a",\n\r\x0b\x85\u2028'), max_size=40)


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(
    TEXTS,
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([1, 3, 1 << 20]),
    st.sampled_from([0, 1 << 20]),
)
@hypothesis.example('a,"\n' * 30, None, 3, 0)
@hypothesis.example('"a\n' + '",",\n' * 5, 2, 1, 1 << 20)
@hypothesis.example('a,"b""",\r\n"""",",",""\r\n', 3, 1 << 20, 0)
def test_rows_are_those_of_pythons_strict_reader(text, width, block, long_line):
    rows = [
        (line, None if isinstance(row, str) else row)
        for line, row in rows_of(text, width=width, block=block, long_line=long_line)
    ]
    assert rows == one_by_one(text, width)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\r\nc\rd", ["a\n", "b\r\n", "c\r", "d"]),
        ("a\n\rb", ["a\n", "\r", "b"]),
        ("a\u2028b\x0bc\x0cd\x85e\x1cf\n", ["a\u2028b\x0bc\x0cd\x85e\x1cf\n"]),
        ("", []),
    ],
)
def test_nothing_else_ends_a_line(text, lines):
    assert lines_of(text) == lines
    for block in (1, 2, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "BLOCK_BYTES", block)
            blocks = [*text_blocks(io.BytesIO(text.encode()))]
        assert "".join(blocks) == text
        assert [line for each in blocks for line in lines_of(each)] == lines


@pytest.mark.parametrize(
    ("row", "detail"),
    [
        pytest.param('1,"open', "a quote opens that is not closed: '1,\"open'", id="open"),
        pytest.param('1,"a "b" c"', 'text after a closing quote: \'1,"a "b" c"\'', id="inner"),
        pytest.param("1", "1 fields where the header has 2: '1'", id="short"),
        pytest.param(
            '1,"a\nb",2',
            "3 fields where the header has 2, in 2 lines: is a quote not closed?: '1,\"a\\nb\",2'",
            id="long",
        ),
    ],
)
@pytest.mark.parametrize("below", ['8,"g"\n9,x\n', "9,x\n", ""])
def test_a_fault_costs_its_row(row, detail, below):
    *above, (line, found) = rows_of(f'3,"y"\n{row}\n', width=2)
    assert (above, line, found) == ([(1, ["3", "y"])], 2, detail)
    good = [row for row in rows_of(f"{row}\n{below}", width=2) if row[1] != detail]
    expected = [each.replace('"', "").split(",") for each in below.splitlines()]
    assert [fields for _, fields in good] == expected


def test_an_unclosed_quote_costs_its_line_among_900_000(monkeypatch):
    """Even if no other quote follows: the rows below it are not one row."""
    monkeypatch.setattr(delimited, "MAX_CHARACTERS", 1 << 20)
    count, faults = 0, []
    text = "1,2\n" * 450_000 + '3,"open\n' + "4,5\n" * 450_000
    for block in read_rows(text_blocks(io.BytesIO(text.encode())), Dialect(), 2):
        for rows in block:
            count += len(rows.lines)
            faults += rows.faults
    assert (count, faults) == (900_000, [(450_001, "a quote opens that is not closed: '3,\"open'")])


def test_long_texts_are_split_without_pythons_reader(monkeypatch):
    monkeypatch.delattr(Dialect, "fields_of")
    text = "a, b\u2028 " * 2_000
    assert rows_of(f'1,"{text}",x\n' * 90) == [(line, ["1", text, "x"]) for line in range(1, 91)]


def test_no_line_is_read_a_third_time(monkeypatch):
    """Each line opens a quote that the next one closes and opens again."""
    read = []
    fields_of = Dialect.fields_of
    monkeypatch.setattr(
        Dialect,
        "fields_of",
        lambda dialect, lines: fields_of(dialect, (read.append(line) or line for line in lines)),
    )
    lines = 5_000
    assert len(rows_of('a","\n' * lines, width=2)) == lines
    assert len(read) < 6 * lines


def test_a_line_beyond_the_limit():
    with pytest.raises(LongLineError, match="a line of over 2 MiB; split it"):
        [*text_blocks(io.BytesIO(b"a" * (3 << 20)), at_most=1 << 21)]
