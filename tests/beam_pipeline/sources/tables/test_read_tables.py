"""Records from tables of every format: long values, files in tables, labels of all rows."""

import csv
import io
import json
import pickle
import re

import pyarrow as pa
import pytest
import yaml
from file_bytes import arrow_bytes, parquet_bytes

from beam_pipeline.errors import DataError
from beam_pipeline.files import storage
from beam_pipeline.problems import ProblemError
from beam_pipeline.records import ClassLabel, Deferred, Record, Rejected
from beam_pipeline.sources.tables.columnar import ReadArrow, ReadParquet
from beam_pipeline.sources.tables.csv import ReadCsv
from beam_pipeline.sources.tables.json import ReadJsonl

WORDS = 'long "text", with\nlines; tabs\tand é ' * 40
LONG = ("note", "vector", "grid", "words", "talk")
ROWS = [
    {
        "id": number,
        "label": "cat",
        "note": WORDS + str(number),
        "vector": [number / 7 + each for each in range(300)],
        "grid": [[number, each] for each in range(200)],
        "words": [f"wörd {each}" for each in range(200)],
        "talk": json.dumps([{"said": WORDS, "by": number}], ensure_ascii=False),
    }
    for number in range(5)
]


def as_csv(rows):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {name: json.dumps(v) if isinstance(v, list) else v for name, v in row.items()}
        )
    return text.getvalue().encode()


FORMATS = [
    pytest.param(ReadCsv, "m.csv", as_csv, id="csv"),
    pytest.param(
        *(ReadJsonl, "m.jsonl"),
        lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
        id="jsonl",
    ),
    pytest.param(
        *(ReadParquet, "m.parquet"),
        lambda rows: parquet_bytes(pa.Table.from_pylist(rows), row_group_size=2),
        id="parquet",
    ),
    pytest.param(
        *(ReadArrow, "m.arrow"), lambda rows: arrow_bytes(pa.Table.from_pylist(rows)), id="arrow"
    ),
]


def resolved(record):
    """Return a record's values, all inline, and the names of those that were references."""
    record = pickle.loads(pickle.dumps(record))
    values = {
        name: value.read(storage.read_bytes(value.file)) if isinstance(value, Deferred) else value
        for name, value in record.features.items()
    }
    return values, {name for name, value in record.features.items() if isinstance(value, Deferred)}


@pytest.mark.parametrize(("read", "name", "write_rows"), FORMATS)
def test_long_values_go_to_scratch_and_are_the_same(
    write, tmp_path, read_tables, read, name, write_rows
):
    path = write(name, write_rows(ROWS))
    inline = read_tables(read(path))
    for _ in range(2):  # a retried worker finds the files
        spilled = read_tables(read(path, scratch=str(tmp_path / "scratch")))
        assert [resolved(record) for record in spilled] == [
            (record.features, set(LONG)) for record in inline
        ]
    assert all(len(pickle.dumps(record)) < 2500 for record in spilled)


def test_a_field_longer_than_pythons_own_reader_takes(write, tmp_path, read_tables):
    path = write("m.csv", f'x\n"{list(range(100_000))}"\n')
    (record,) = read_tables(ReadCsv(path, scratch=str(tmp_path / "scratch")))
    long = record.features["x"]
    assert long.read(storage.read_bytes(long.file)).shape == (100_000,)


@pytest.mark.parametrize(("read", "name", "write_rows"), FORMATS)
def test_thousands_of_whole_numbers_are_one_to_predict(
    write, read_tables, caplog, read, name, write_rows
):
    path = write(name, write_rows([{"x": 1, "target": 17 * n + 10**5} for n in range(1500)]))
    records = read_tables(read(path))
    assert {record.features["target"] for record in records} == {
        17 * n + 10**5 for n in range(1500)
    }
    assert "1,500 different whole numbers" in caplog.text
    first, *_ = read_tables(read(path, label_column="target"))
    assert first.features["label"] == ClassLabel("100000")


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([number % 900 for number in range(1500)], id="hundreds of classes"),
        pytest.param([number % 1100 for number in range(11_000)], id="ten rows each"),
        pytest.param([f"{number:05d}" for number in range(1500)], id="names"),
        pytest.param([*range(1500), "cat"], id="a word"),
    ],
)
def test_whole_numbers_that_are_classes(write, read_tables, numbers):
    path = write("m.csv", "x,target\n" + "".join(f"1,{number}\n" for number in numbers))
    records = read_tables(ReadCsv(path))
    assert {record.features["label"].name for record in records} == set(map(str, numbers))


@pytest.mark.parametrize(
    ("read", "text", "warning"),
    [
        pytest.param(ReadCsv, f"x,y\n{2**64},a\n3,b\n4,a\n", "1 of 3 whole", id="CSV"),
        pytest.param(ReadCsv, f"x,y\n{2**64},a\ncat,b\n", "", id="next to a text"),
        pytest.param(ReadCsv, "x,y\n007,a\n008,b\n", "", id="leading zeros"),
        pytest.param(ReadCsv, f"x,y\n{'9' * 5000},a\n1,b\n", "1 of 2 whole", id="5,000 digits"),
        pytest.param(ReadJsonl, f'{{"x": {2**64}}}\n{{"x": 1}}\n', "1 of 2 whole", id="JSON"),
    ],
)
def test_whole_numbers_of_over_64_bits_are_text(write, read_tables, caplog, read, text, warning):
    first, *_ = read_tables(read(write("t.csv", text)))
    assert isinstance(first.features["x"], str)
    messages = [f"x is text: {warning} numbers need over 64 bits"] if warning else []
    assert caplog.messages == messages


AGES = "".join(f"{age},a\n" for age in range(2000))


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        (
            AGES + "3O,a\n",
            int,
            "age is a number: 1 of 2,001 values is not a number ('3O', t.csv:2002)",
        ),
        (
            "1,a\n" * 98 + "3O,a\n4O,b\n",
            str,
            "age is text: 2 of 100 values are not numbers ('3O', t.csv:100)",
        ),
        (AGES + "NA,a\n,a\n?,b\n", float, None),
        ("A1,a\n2,b\n3,c\n", str, None),
        (
            '"1,5",a\n"-0,5",b\n3,c\n',
            str,
            "age is text: '1,5' (t.csv:2) has a comma; if it is decimal, in a recipe: "
            "`decimal_comma: true`",
        ),
        ('"1,5",a\n"1,5 m",b\n', str, None),
        (
            "years,a\n" + "1,a\n" * 98,
            str,
            "age is text: 1 of 99 values is not a number ('years', t.csv:2); if it is a unit, in a "
            "recipe: `header_rows: 2`",
        ),
    ],
)
def test_a_few_texts_among_numbers_are_reported(write, read_tables, caplog, rows, kind, message):
    path = write("t.csv", "age,name\n" + rows)
    elements = read_tables(ReadCsv(path))
    records = [each for each in elements if isinstance(each, Record)]
    assert {type(record.features["age"]) for record in records} == {kind}
    assert caplog.messages == ([message] if message else [])
    rejects = [each for each in elements if isinstance(each, Rejected)]
    assert [each.source for each in rejects] == (["t.csv:2002"] if kind is int else [])

    for line in re.findall(r"in a recipe: `(.+?)`", f"{caplog.text} {rejects}"):
        caplog.clear()
        elements = read_tables(ReadCsv(path, **yaml.safe_load(line)))
        assert all(isinstance(each, Record) for each in elements)
        assert not caplog.messages


ONES = "1;a\n" * 200


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(ONES + "1.234;b\n1.234,5;c\n", {1.0, 1234.0, 1234.5}, id="thousands"),
        pytest.param(ONES + "1.234;b\n0.5;c\n", {1.0, 1.234, 0.5}, id="fractions"),
        pytest.param(ONES + "1,5;b\n;c\n", {1.0, 1.5}, id="a gap"),
        pytest.param(ONES[:400] + "1,5;b\nx;c\n", {"1", "1,5", "x"}, id="text"),
        pytest.param(ONES + "1.234;b\n", None, id="a question"),
    ],
)
def test_decimal_commas_are_decided_by_all_rows(write, read_tables, rows, expected):
    table = ReadCsv(write("t.csv", "x;y\n" + rows), decimal_comma=True)
    if expected is None:
        with pytest.raises(
            ProblemError, match=r"such as 1\.234.* in a recipe: `decimal_comma: \[x"
        ):
            read_tables(table)
        return
    values = {record.features["x"] for record in read_tables(table)}
    assert {value for value in values if value == value} == expected


def test_words_for_missing_numbers_do_not_hide_numbers_to_predict(write, read_tables):
    """Among the first rows, from which roles follow."""
    rows = "".join(f"{number},{number / 7}\n" for number in range(50))
    records = read_tables(ReadCsv(write("t.csv", "x,target\n1,NA\n" + rows)))
    assert {type(record.features["target"]) for record in records} == {float}


@pytest.mark.parametrize(
    ("number", "expected"), [(None, [1, 3]), (-1, [1, -1, 3]), (0.5, [1, 0.5, 3])]
)
def test_what_replaces_a_missing_number(write, read_tables, number, expected):
    table = ReadCsv(write("t.csv", "x,y\n1,a\n,b\n3,c\n"), missing_number=number)
    records = [each for each in read_tables(table) if isinstance(each, Record)]
    assert [record.features["x"] for record in records] == expected
    assert len({type(record.features["x"]) for record in records}) == 1


def with_images(images):
    return parquet_bytes(
        pa.Table.from_pylist([{"image": {"bytes": each, "path": None}} for each in images]),
        row_group_size=150,
    )


def test_files_in_a_column_go_to_scratch(write, tmp_path, read_tables):
    images = [b"\x89PNG\r\n\x1a\n" + bytes([n]) * n * 100 for n in range(200)]
    path = write("m.parquet", with_images(images))
    records = read_tables(ReadParquet(path, scratch=str(tmp_path / "scratch")))
    assert [record.key for record in records] == [f"m.parquet#{n}" for n in range(200)]
    files = [record.features["image"].file for record in records]
    assert [storage.read_bytes(file) for file in files] == images


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (ReadParquet, parquet_bytes(pa.table({"": [1], "x": [2]}))),
        (ReadJsonl, b'{"": 1, "x": 2}\n'),
    ],
)
def test_a_column_without_a_name_is_left_out(write, read_tables, read, data):
    [record] = read_tables(read(write("a", data)))
    assert (record.split, record.features) == (None, {"x": 2})


def test_rows_with_thousands_of_columns_each_are_refused_before_they_are_a_table(write):
    rows = (json.dumps({f"{row} {n}": 1 for n in range(100)}) for row in range(1000))
    with pytest.raises(DataError, match="the rows have 100,000 features"):
        ReadJsonl(write("t.jsonl", "\n".join(rows))).plan()


def test_a_column_whose_name_begins_with_nul_keeps_its_values(write, read_tables):
    found = read_tables(ReadCsv(write("t.csv", "\0note,b\nhello,1\n")))
    assert [record.features for record in found] == [{"\0note": "hello", "b": 1}]
