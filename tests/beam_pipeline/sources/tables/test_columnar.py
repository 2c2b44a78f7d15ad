"""Tables that unpack to far more than they are."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.sources.tables.read import ReadArrow, ReadCsv, ReadParquet


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            lambda: pa.array([f"{'x' * (40 << 20)}{n}" for n in range(8)], pa.large_string()),
            "unpacks to over 256 MiB",
        ),
        (lambda: pa.nulls(5_000_000, pa.int64()), "has 5,000,000 rows or more in"),
    ],
    ids=["texts", "rows"],
)
def test_a_small_file_of_much_content_is_refused(tmp_path, values, message):
    table = pa.table({"x": values()})
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd", row_group_size=1 << 20)
    with pytest.raises((ConfigError, DataError), match=f"it {message}"):
        ReadParquet(str(tmp_path / "t.parquet")).plan()


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_repeated_long_text_is_refused_before_it_fills_memory(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    table = pa.table({"text": ["x" * (8 << 20)] * 40})
    if suffix == "parquet":
        pq.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, str(path), compression="zstd")
    read = ReadParquet(str(path)) if suffix == "parquet" else ReadArrow(str(path))
    [file] = read.files()
    with pytest.raises(RecordError, match="rows unpack to"):
        list(read.opened(file).batches())


def test_rows_beyond_a_files_size_are_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,label\n" + b"1,a\n" * 1_100_000))
    read = ReadCsv(str(path))
    [file] = read.files()
    with pytest.raises(RecordError, match="rows or more in"):
        for _ in read.opened(file).batches():
            pass
