"""Parquet: the same records as of files and of JSON Lines with the same content."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_bytes import photographs

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.files import storage
from beam_pipeline.pipeline import build
from beam_pipeline.records import Deferred, FileRef, Record
from beam_pipeline.sources.columnar.read import ReadParquet


@pytest.fixture
def written(tmp_path):
    def write(table, name="train.parquet", **options):
        path = tmp_path / "input" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **options)
        return path.parent

    return write


def built(source, output, **options):
    return build(BuildConfig(input=str(source), output=str(output), name="t", **options))


@pytest.mark.slow
def test_workers_and_threads_write_the_same_bytes(written, tmp_path, digests):
    source = written(photographs(30), row_group_size=4)

    built(source, tmp_path / "one")
    built(source, tmp_path / "other", threads=2)

    one, other = (digests(tmp_path / name / "t/1.0.0") for name in ("one", "other"))
    assert {**one, "build.json": ""} == {**other, "build.json": ""}


def test_a_column_without_a_name_is_told_of(written, caplog):
    ReadParquet(str(written(pa.table({"": [1], "x": [2]})))).job()
    assert "left out, since they have no name: column 1" in caplog.text


def test_nothing_that_was_unpacked_stays(written, tmp_path):
    built(written(photographs(5)), tmp_path / "data")

    assert [path.name for path in (tmp_path / "data").iterdir()] == ["t"]
    assert [path.name for path in (tmp_path / "data/t").iterdir()] == ["1.0.0"]


@pytest.fixture
def read(read_manifest):
    return lambda folder, scratch: read_manifest(ReadParquet(str(folder), scratch=str(scratch)))


def test_long_values_and_files_are_references(written, tmp_path, read):
    """What a record carries through a shuffle does not grow with them."""
    table = photographs(4).append_column("text", pa.array(["long " * 5000, "short"] * 2))

    records = read(written(table, row_group_size=2), tmp_path / "scratch")

    assert all(isinstance(record, Record) for record in records)
    assert [type(record.features["text"]) for record in records] == [Deferred, str] * 2
    files = [record.features["image"].file for record in records]
    assert [type(file) for file in files] == [FileRef] * 4
    assert len({file.path for file in files}) == 2  # a row group


def test_a_file_that_changes_is_unpacked_again(written, tmp_path, read):
    first = read(written(photographs(3)), tmp_path / "scratch")
    other = read(written(photographs(3, first=9)), tmp_path / "scratch")

    paths = [{record.features["image"].file.path for record in each} for each in (first, other)]
    assert paths[0].isdisjoint(paths[1])


def test_a_page_that_is_damaged_stops_the_build(written, tmp_path):
    folder = written(photographs(20), compression="snappy")
    path = folder / "train.parquet"
    data = bytearray(path.read_bytes())
    data[200:220] = b"\xff" * 20
    path.write_bytes(data)

    with pytest.raises((DataError, ConfigError), match=r"train\.parquet"):
        built(folder, tmp_path / "data")


@pytest.mark.slow
def test_a_file_on_a_store(written, tmp_path, bucket):
    url, _ = bucket
    folder = written(photographs(12), row_group_size=5)
    storage.write_bytes(f"{url}/input/train.parquet", (folder / "train.parquet").read_bytes())

    here = built(folder, tmp_path / "here")
    there = built(f"{url}/input", f"{url}/data")

    assert here.num_records("train") == 12
    assert there.splits == here.splits
