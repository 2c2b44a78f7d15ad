"""Parquet files that unpack to far more than they are."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.sources.tables.read import ReadParquet


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {
                "text": pa.array(
                    ["x" * (40 << 20) + str(number) for number in range(8)], pa.large_string()
                )
            },
            "unpacks to over 256 MiB",
        ),
        ({"a": pa.array([1]).take(pa.array([0] * 5_000_000))}, "states 5,000,000 rows in"),
    ],
    ids=["texts", "rows"],
)
def test_a_small_file_of_much_content_is_refused(tmp_path, rows, message):
    pq.write_table(
        pa.table(rows), tmp_path / "t.parquet", compression="zstd", row_group_size=1 << 20
    )
    with pytest.raises((ConfigError, DataError), match=f"it {message}"):
        ReadParquet(str(tmp_path / "t.parquet")).plan()


def test_a_long_text_that_a_dictionary_repeats_is_refused_before_it_fills_memory(tmp_path):
    path = tmp_path / "t.parquet"
    texts = pa.array(["x" * (8 << 20)] * 40)
    pq.write_table(pa.table({"text": texts}), path, compression="zstd")
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match="rows unpack to"):
        ReadParquet(str(path)).plan()
