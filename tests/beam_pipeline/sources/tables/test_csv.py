"""CSV: dialects, headers, and rows with the numbers of their first lines."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.tables.csv import ReadCsv, data_in
from tfrecord_dataset.delimited import Dialect, dialect_of, lines_of


def rows_of(path, **options):
    """Return (line, values or the reason of the reject) of each row."""
    plan = ReadCsv(path, **options).plan()
    rows = []
    for batch in plan.tables[0].batches():
        rows += zip(batch.lines, batch.by_row(), strict=True)
        rows += [(row.line, row.detail) for row in batch.bad]
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a,b;c,d\n", Dialect(), id="the most commas"),
        pytest.param("a;b;c;d,e\n", Dialect(delimiter=";"), id="the most"),
        pytest.param("a\n", Dialect(), id="one column"),
        pytest.param("sep=;\na;b\n", Dialect(delimiter=";", num_before=1), id="Excel"),
        pytest.param("sep=é\na\n", Dialect(), id="no separator"),
        pytest.param("# x\na, b\n1, 2\n", Dialect(skips_spaces=True, num_before=1), id="comment"),
        pytest.param("# x\n# a,b\n1,2\n", Dialect(num_before=1), id="names"),
        pytest.param('a\tb\n"x\ty\n', Dialect(delimiter="\t", has_quotes=False), id="stray quotes"),
        pytest.param('a\tb\n"x\ty"\tz\n', Dialect(delimiter="\t"), id="quoted tabs"),
    ],
)  # fmt: skip
def test_dialects(text, expected):
    assert dialect_of(lines_of(text), is_tsv=False) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("name,age|cat,3", "", id="names"),
        pytest.param("2001,2002,country|1,2,Cuba", "", id="years"),
        pytest.param("0,1,2|5,6,7", "", id="pixels"),
        pytest.param("5,0,0|1,2,3", "0", id="numbers that repeat"),
        pytest.param("5.1,setosa|4.9,virginica", "5.1", id="a fraction"),
        pytest.param("1.jpg,cat|2.jpg,dog", "1.jpg", id="a file"),
        pytest.param("good,1|bad,0", "1", id="a number above numbers"),
        pytest.param("so so,pos|fine,pos|bad,neg|dull,neg", "pos", id="a value again"),
        pytest.param("2020-01-01,ok|2020-01-02,bad|2020-01-03,late", "2020-01-01", id="dates"),
        pytest.param("a,b|a,b|1,2", "", id="the header again"),
    ],
)
def test_first_rows_that_are_data(text, expected):
    names, *below = (row.split(",") for row in text.split("|"))
    assert data_in(names, below) == expected


def test_lines_of_rows_and_of_what_is_not_a_row(write):
    text = 'a,b\n1,2\n\n3\n"x\ny",5\n6,7,"p\nq"\n9,"10\n11"\n12,13\n'
    wrong = "3 fields where the header has 2, in 2 lines: is a quote not closed?: '6,7,\"p\\nq\"'"
    assert rows_of(write("a.csv", text)) == [
        (2, {"a": "1", "b": "2"}),
        (4, "1 fields where the header has 2: '3'"),
        (5, {"a": "x\ny", "b": "5"}),
        (7, wrong),
        (9, {"a": "9", "b": "10\n11"}),
        (11, {"a": "12", "b": "13"}),
    ]


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        pytest.param(b"a,b\n1,\xff,3\n2,x\n", "3 fields where the header has 2", id="and a field"),
        pytest.param(
            b"a,b\n2,x\n1,2," + b"y" * 200_000 + b"\n", "3 fields where the", id="a long field"
        ),
        pytest.param(b'a,b\n2,x\n1,"y\n', "a quote opens that is not closed", id="a quote"),
        pytest.param(
            b'a,b\n1,"y\n' + b"2,z\n" * 12 + b'3,z"\n2,x\n',
            "a quote opens that is not closed",
            id="rows",
        ),
    ],
)
def test_rows_that_cannot_be_used(write, text, bad):
    rows = dict(rows_of(write("a.csv", text)))
    assert {"a": "2", "b": "x"} in rows.values()
    [detail] = [row for row in rows.values() if isinstance(row, str)]
    assert bad in detail


@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "utf-16"), ("cp1251", "windows-1251")])
def test_encodings(write, encoding, name):
    path = write("a.csv", "имя,год\nЖук,2\n".encode(encoding))
    assert rows_of(path, encoding=name) == [(2, {"имя": "Жук", "год": "2"})]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"1,2\n", {"encoding": "klingon"}, "encoding 'klingon' cannot be used"),
        (b"1,2\n", {"encoding": "rot13"}, "encoding 'rot13' cannot be used"),
        (b"1,2\n", {"encoding": "idna"}, "encoding 'idna' cannot be used"),
        (b"1,2\n", {"column_names": ["a", "a"]}, "has the column 'a' twice; rename one"),
    ],
)
def test_tables_that_cannot_be_read(write, data, options, message):
    with pytest.raises(ConfigError, match=message):
        ReadCsv(write("a.csv", data), **options).plan()


def test_a_header_of_thousands_of_columns(write):
    names = [f"expression_of_gene_{number}" for number in range(10_000)]
    path = write("a.csv", f"{','.join(names)}\n{','.join('1' for _ in names)}\n")
    assert rows_of(path) == [(2, dict.fromkeys(names, "1"))]


def test_a_batch_of_many_columns_is_of_several_blocks(write):
    header, row = (
        ",".join(f"c{number}" for number in range(4_200)),
        ",".join(["0.12345678"] * 4_200),
    )
    path = write("a.csv", f"{header}\n" + f"{row}\n" * 60)  # 2.8 MB
    assert [len(batch) for batch in ReadCsv(path).plan().tables[0].batches()] == [60]


@pytest.mark.parametrize(
    "above", ["# \u2028\n", "# \x0b\x0c\n", "# \x85\n#\x1c\n", 'id\x0c,"b\u2028\n",c\n']
)
def test_other_line_separators_end_no_line_of_the_header(write, above):
    header = "" if above.startswith("id") else "id,b,c\n"
    rows = rows_of(write("a.csv", f"{above}{header}1,x,y\n2,z,y\n"))
    first = (above + header).count("\n") + 1
    found = [(line, [*row.values()]) for line, row in rows]
    assert found == [(first, ["1", "x", "y"]), (first + 1, ["2", "z", "y"])]


def test_spaces_before_quotes(write):
    path = write("a.csv", 'a, b\n1, "y, z"\n2, x\n')
    assert rows_of(path) == [(2, {"a": "1", "b": "y, z"}), (3, {"a": "2", "b": "x"})]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a,b\n,kg\n1,2\n", {"header_rows": 2}, [(3, {"a": "1", "b_kg": "2"})]),
        ("a,,b\nx,y,x\n1,2,3\n", {"header_rows": 2}, [(3, {"a_x": "1", "a_y": "2", "b_x": "3"})]),
        ("a\nb\nc\n1\n", {"header_rows": 3}, [(4, {"a_b_c": "1"})]),
        ("a,b\n", {"header_rows": 2}, []),
    ],
)  # fmt: skip
def test_names_of_several_header_rows_are_joined(write, text, options, expected):
    assert rows_of(write("a.csv", text), **options) == expected
