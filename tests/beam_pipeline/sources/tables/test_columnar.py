"""Tables that unpack to far more than their size, or are truncated."""

import gzip
import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.sources.tables.columnar import ReadArrow, ReadParquet
from beam_pipeline.sources.tables.csv import ReadCsv

LONG = "x" * (8 << 20)


def read_all(read):
    [file] = read.files()
    for _ in read.opened(file).batches():
        pass


def written(path, values, **options):
    """Write a table of one column, `x`; return its path."""
    table = pa.table({"x": values})
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd", **options)
    else:
        feather.write_feather(table, str(path), compression="zstd")
    return str(path)


def test_a_small_file_of_many_rows_is_refused(tmp_path):
    path = written(tmp_path / "t.parquet", pa.nulls(5_000_000, pa.int64()), row_group_size=1 << 20)
    with pytest.raises((ConfigError, DataError), match="it has 5,000,000 rows or more in"):
        ReadParquet(path).plan()


def repeated():
    return pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array([LONG]))


def views():
    shared = pa.array([LONG], pa.string_view())
    view, text = shared.buffers()[1:]
    buffers = [None, pa.py_buffer(view.to_pybytes() * 1000), text]
    return pa.Array.from_buffers(pa.string_view(), 1000, buffers)


def pages():
    return pa.array([LONG] * 40)


def in_a_struct():
    return pa.StructArray.from_arrays([repeated()], ["text"])


def in_a_map():
    keys = pa.array(["k"] * 1000)
    return pa.MapArray.from_arrays(pa.array(range(1001), pa.int32()), keys, repeated())


def in_lists_of_one():
    return pa.FixedSizeListArray.from_arrays(repeated(), 1)


def views_of_a_dictionary():
    entries = pa.array([LONG], pa.string_view())
    return pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), entries)


@pytest.mark.parametrize(
    ("texts", "suffix"),
    [
        (repeated, "parquet"),
        (in_a_struct, "arrow"),
        (views, "arrow"),
        (in_lists_of_one, "arrow"),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (
                *itertools.product((pages,), ("parquet", "arrow")),
                *((repeated, "arrow"), (in_a_struct, "parquet")),
                *((in_a_map, "arrow"), (views_of_a_dictionary, "arrow")),
            )
        ),
    ],
)
def test_a_repeated_long_text_is_refused_before_it_fills_memory(tmp_path, texts, suffix):
    path = tmp_path / f"t.{suffix}"
    read = ReadParquet if suffix == "parquet" else ReadArrow
    source = read(written(path, texts()))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(RecordError, match=r"(rows unpack to|it unpacks to over 256 MiB)"):
        read_all(source)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda: pa.RunEndEncodedArray.from_arrays([1000], [LONG]), id="runs"),
        pytest.param(
            lambda: pa.ListViewArray.from_arrays([0] * 1000, [1] * 1000, pa.array([LONG])),
            id="views of lists",
        ),
        pytest.param(
            lambda: pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), id="union"
        ),
    ],
)
def test_types_whose_values_share_bytes_are_not_read(tmp_path, values):
    path = tmp_path / "t.arrow"
    with pytest.raises(RecordError, match=r"column 'x' is of the type .*, which is not read"):
        read_all(ReadArrow(written(path, values())))


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("is_file", [True, False], ids=["file", "stream"])
def test_compressed_buffers_are_refused_before_they_are_unpacked(tmp_path, compression, is_file):
    path = tmp_path / "t.arrow"
    table = pa.table({"x": np.zeros(36 << 20)})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with new(str(path), table.schema, options=options) as writer:
        writer.write_table(table)
    assert path.stat().st_size < 4 << 20
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(RecordError, match="it unpacks to over 256 MiB"):
            read_all(ReadArrow(str(path)))
    finally:
        pa.set_memory_pool(usual)
    assert pool.max_memory() < 64 << 20


@pytest.mark.parametrize("footer_bytes", [200, 6], ids=["batches", "magic"])
def test_an_arrow_file_that_is_cut_is_damaged(tmp_path, footer_bytes):
    path = tmp_path / "t.arrow"
    table = pa.table({"x": range(1000)})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    path.write_bytes(path.read_bytes()[:-footer_bytes])
    with pytest.raises(DataError, match="it ends before its footer does"):
        ReadArrow(str(path)).plan()


def test_rows_beyond_a_files_size_are_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,label\n" + b"1,a\n" * 1_100_000))
    with pytest.raises(RecordError, match="rows or more in"):
        read_all(ReadCsv(str(path)))


def test_features_that_are_nested_without_end_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    nested = '{"info": {"features": {"label": ' + "[" * 9999 + "]" * 9999 + "}}}"
    table = pa.table({"label": [0, 1], "": [2, 3]}).replace_schema_metadata({"huggingface": nested})
    pq.write_table(table, path)
    roles = ReadParquet(str(path)).plan().roles
    assert roles.label == "label"
