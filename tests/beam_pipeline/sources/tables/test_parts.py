"""Parts of a file of rows are, together, the file."""

import csv
import gzip
import io
import itertools
import json
import pickle
import random

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest
from file_bytes import arrow_bytes, parquet_bytes

from beam_pipeline.files import storage
from beam_pipeline.records import Deferred
from beam_pipeline.sources.tables import parts
from beam_pipeline.sources.tables.columnar import ReadArrow, ReadParquet
from beam_pipeline.sources.tables.csv import CsvTable, ReadCsv
from beam_pipeline.sources.tables.json import JsonTable, ReadJsonl
from beam_pipeline.sources.tables.table import TableFile
from tfrecord_dataset import delimited
from tfrecord_dataset.delimited import Dialect
from tfrecord_dataset.format import inflation

COUNT = 40


@pytest.fixture
def tiny_parts(monkeypatch):
    """Divide files wherever they can be divided."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 1)
    monkeypatch.setattr(parts, "LEAST_BYTES", 1)


def file_at(path):
    path = str(path)
    return TableFile(path=path, relative="x", split=None, folder="", root="")


def rows_of(tables):
    """Return each row with its line, and each bad row."""
    rows = []
    for batch in itertools.chain.from_iterable(table.rows() for table in tables):
        rows += [*zip(batch.lines, batch.by_row(), strict=True)]
        rows += [(bad.line, bad) for bad in batch.bad]
    return sorted(rows, key=lambda row: row[0])


def divided(table):
    """Return the parts of a table, as they reach workers."""
    return pickle.loads(pickle.dumps([*table.parts()]))


def check_same(table, block):
    with pytest.MonkeyPatch.context() as patch:
        whole = rows_of([table])
        patch.setattr(delimited, "BLOCK_BYTES", block)
        patch.setattr(parts, "LEAST_BYTES", 1)
        assert rows_of([table]) == whole
        assert rows_of(divided(table)) == whole


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(
    text=st.text(st.sampled_from('a",\n\r\ufeffé#'), max_size=60),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "shift_jis"]),
    num_before=st.integers(0, 2),
    num_above=st.integers(0, 2),
    has_quotes=st.booleans(),
    block=st.integers(1, 20),
)
@hypothesis.example('h,i\n"a\n' + "a,a\n" * 20, "utf-8", 0, 1, True, 3)
@hypothesis.example('"a",a\n\ufeff"a",a\n' * 3, "utf-8", 0, 1, True, 1)
@hypothesis.example('a,"a\r\n"\r\n' * 5 + "a,\n" + "a,a\r" * 5, "utf-8-sig", 0, 1, True, 2)
def test_rows_of_text(tmp_path_factory, text, encoding, num_before, num_above, has_quotes, block):
    path = tmp_path_factory.getbasetemp() / "x.csv"
    path.write_bytes(text.encode(encoding, "replace"))
    dialect = Dialect(encoding=encoding, num_before=num_before, has_quotes=has_quotes)
    table = CsvTable(file=file_at(path), header=("h", "i"), dialect=dialect, num_above=num_above)
    check_same(table, block)


@hypothesis.settings(max_examples=100, deadline=None)
@hypothesis.given(
    lines=st.lists(st.sampled_from(['{"a": "é"}', '\ufeff{"a": 1}', "[1]", "", "{", '{"a":\r1}'])),
    end=st.sampled_from(["\n", "\r", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    block=st.integers(1, 20),
)
def test_lines_of_json(tmp_path_factory, lines, end, encoding, block):
    path = tmp_path_factory.getbasetemp() / "x.jsonl"
    path.write_bytes(end.join(lines).encode(encoding, "replace"))
    check_same(JsonTable(file=file_at(path)), block)


ROWS = [
    {"id": n, "label": f"c{n % 3}", "note": f'a "{n}",\nbelow' * (200 if n == 7 else 1), "x": n / 7}
    for n in range(COUNT)
]
ARROW = pa.Table.from_pylist(ROWS)
CODED = ARROW.set_column(1, "label", ARROW["label"].dictionary_encode())


PARQUET = parquet_bytes(CODED, row_group_size=2)
FEATHER = arrow_bytes(CODED, pa.ipc.new_file, compression="lz4")


def as_csv(rows):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0], quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


JSONL = "".join(f"{json.dumps(row)}\n" for row in ROWS).encode()


@pytest.mark.parametrize(
    ("read", "name", "data", "num_parts"),
    [
        pytest.param(ReadCsv, "m.csv", as_csv(ROWS), COUNT, id="csv"),
        pytest.param(ReadCsv, "m.csv.gz", gzip.compress(as_csv(ROWS)), 1, id="gzip"),
        pytest.param(ReadJsonl, "m.jsonl", JSONL, COUNT, id="jsonl"),
        pytest.param(ReadJsonl, "m.json", json.dumps(ROWS).encode(), 1, id="a list"),
        pytest.param(ReadParquet, "m.parquet", PARQUET, COUNT // 2, id="parquet"),
        pytest.param(ReadArrow, "m.arrow", arrow_bytes(ARROW), COUNT // 2, id="stream"),
        pytest.param(ReadArrow, "m.arrow", FEATHER, COUNT // 2, id="feather"),
    ],
)
def test_each_row_is_read_once(
    write, read_tables, monkeypatch, tmp_path, tiny_parts, read, name, data, num_parts
):
    path = write(name, data)
    [table] = read(path).plan().tables
    tables = divided(table)
    counts = [len(rows_of([each])) for each in tables]
    assert [*filter(None, counts)] == [COUNT // num_parts] * num_parts, "but for the header"
    ranges = [each.part for each in tables]
    assert all(one.end == other.start for one, other in itertools.pairwise(ranges))
    assert sum(each.num_bytes for each in ranges) <= len(data)
    # A cluster's two passes, with long values in scratch files of each part.
    in_parts = read_tables(read(path, scratch=str(tmp_path / "parts")))
    monkeypatch.setattr(parts, "LEAST_BYTES", len(data))
    assert values_of(in_parts) == values_of(
        read_tables(read(path, scratch=str(tmp_path / "whole")))
    )
    assert len(in_parts) == COUNT


def values_of(records):
    """Return the values of records by key, with the content of references."""
    return {
        record.key: {
            name: value.read(storage.read_bytes(value.file))
            if isinstance(value, Deferred)
            else value
            for name, value in record.features.items()
        }
        for record in records
    }


def test_a_part_of_an_arrow_stream_whose_dictionaries_change(write, tiny_parts):
    file = pa.BufferOutputStream()
    schema = CODED.select(["label"]).schema
    with pa.ipc.new_stream(file, schema) as out:
        for words in (["a", "b"], ["c", "d"]):
            column = pa.array(words).dictionary_encode()
            out.write_batch(pa.record_batch([column], schema=schema))
    [table] = ReadArrow(write("m.arrow", file.getvalue().to_pybytes())).plan().tables
    assert [each.part.is_whole for each in table.parts()] == [True]


@pytest.mark.parametrize("num_others", [400, 5])
def test_limits_on_inflation_are_those_of_whole_files(
    write, read_tables, monkeypatch, tiny_parts, num_others
):
    """Repeated texts take no place in a file: too much for its part, or for the whole file."""
    monkeypatch.setattr(inflation, "MAX_BYTES", 1 << 20)
    others = [random.Random(n).randbytes(2_000).hex() for n in range(num_others)]
    file = io.BytesIO()
    with pa.parquet.ParquetWriter(file, pa.schema({"note": pa.string()})) as out:
        for texts in (others, ["x" * 20_000] * 400):
            out.write_table(pa.table({"note": texts}))
    path = write("m.parquet", file.getvalue())
    in_parts = read_tables(ReadParquet(path))
    monkeypatch.setattr(parts, "LEAST_BYTES", 1 << 30)
    assert in_parts == read_tables(ReadParquet(path))
    assert len(in_parts) == (800 if num_others == 400 else 1)
