"""Arrow files and streams: the same records as of Parquet, and images that are read in place."""

import struct

import pyarrow as pa
import pyarrow.parquet
import pytest
from file_bytes import photograph, photographs
from pyarrow import feather

from beam_pipeline.errors import DataError
from beam_pipeline.files import storage
from beam_pipeline.records import Record
from beam_pipeline.sources.columnar import arrow_file
from beam_pipeline.sources.columnar.arrow_file import opened_arrow
from beam_pipeline.sources.columnar.read import ReadArrow, ReadParquet


def as_stream(table, path, **options):
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, max_chunksize=3)


def as_file(table, path, **options):
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, max_chunksize=3)


def as_feather(table, path):
    feather.write_feather(table, path, compression="zstd", chunksize=3)


def packed_stream(table, path):
    as_stream(table, path, compression="lz4")


WRITERS = [as_stream, as_file, as_feather, packed_stream]


@pytest.mark.parametrize(
    ("write", "in_place"), [*zip(WRITERS, [True, True, False, False], strict=True)]
)
def test_what_is_not_packed_is_read_where_it_lies(tmp_path, write, in_place, read_manifest):
    path = tmp_path / "train.arrow"
    write(photographs(7), path)

    records = read_manifest(ReadArrow(str(path), scratch=str(tmp_path / "scratch")))

    files = [record.features["image"].file for record in records]
    assert [storage.read_bytes(file) for file in files] == [photograph(n) for n in range(7)]
    assert {file.path == str(path) for file in files} == {in_place}


@pytest.mark.parametrize("write", WRITERS)
def test_values_are_those_of_parquet(tmp_path, write, read_manifest):
    table = pa.table(
        {
            "x": pa.array([1, None, 3, 4, 5, 6, 7], pa.int16()),
            "half": pa.array([n / 2 for n in range(7)], pa.float32()),
            "colour": pa.array(["red", "blue", None, *["red"] * 4]).dictionary_encode(),
            "when": pa.array(range(7), pa.timestamp("us")),
            "v": [[1.5, 2.0]] * 7,
            "talk": [[{"role": "user", "said": "hé"}]] * 7,
            "long": ["long " * 300] * 7,
            "is_true": [True] * 7,
            "name": pa.array([f"{n}" * 20 for n in range(7)], pa.large_string()),
        }
    )
    write(table, tmp_path / "a.arrow")
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3)

    arrow = read_manifest(ReadArrow(str(tmp_path / "a.arrow"), scratch=str(tmp_path / "scratch")))
    parquet = read_manifest(
        ReadParquet(str(tmp_path / "a.parquet"), scratch=str(tmp_path / "scratch"))
    )

    def shown(elements):
        return [
            {name: str(value) for name, value in each.features.items() if name != "long"}
            if isinstance(each, Record)
            else each.detail
            for each in elements
        ]

    assert shown(arrow) == shown(parquet)
    assert len(arrow) == 7


def test_dictionaries_that_change_on_the_way(tmp_path, read_manifest):
    """A stream may replace its dictionary: each batch has the one before it."""
    batches = [
        pa.record_batch({"c": pa.array(names).dictionary_encode(), "x": range(2)})
        for names in (["a", "b"], ["c", "d"], ["e", "f"])
    ]
    with pa.ipc.new_stream(tmp_path / "a.arrow", batches[0].schema) as out:
        for batch in batches:
            out.write_batch(batch)

    records = read_manifest(ReadArrow(str(tmp_path / "a.arrow")))

    assert [record.features["c"] for record in records] == list("abcdef")


@pytest.mark.parametrize("write", [as_stream, as_feather])
def test_views_as_polars_writes_them(tmp_path, write, read_manifest):
    table = pa.table(
        {
            "image": pa.array([photograph(n) for n in range(4)], pa.binary_view()),
            "name": pa.array([f"{n} of a long name" for n in range(4)], pa.string_view()),
        }
    )
    write(table, tmp_path / "a.arrow")

    records = read_manifest(ReadArrow(str(tmp_path / "a.arrow"), scratch=str(tmp_path / "scratch")))

    assert [storage.read_bytes(each.features["image"].file) for each in records] == [
        photograph(n) for n in range(4)
    ]
    assert records[3].features["name"] == "3 of a long name"


def test_a_file_on_a_store(tmp_path, bucket, read_manifest):
    url, _ = bucket
    as_stream(photographs(8), tmp_path / "train.arrow")
    storage.write_bytes(f"{url}/input/train.arrow", (tmp_path / "train.arrow").read_bytes())

    here = read_manifest(ReadArrow(str(tmp_path / "train.arrow"), scratch=str(tmp_path / "a")))
    there = read_manifest(ReadArrow(f"{url}/input/train.arrow", scratch=str(tmp_path / "b")))

    def contents(records):
        return [storage.read_bytes(record.features["image"].file) for record in records]

    assert contents(there) == contents(here)
    assert there[0].features["image"].file.path.startswith(url)


def test_a_batch_that_is_too_large_is_refused_with_what_helps(tmp_path, monkeypatch, read_manifest):
    monkeypatch.setattr(arrow_file, "_MAX_BATCH_BYTES", 10_000)
    table = pa.table({"x": list(range(20_000))})
    path = tmp_path / "a.feather"
    feather.write_feather(table, path, compression="uncompressed")
    with pytest.raises(DataError, match=r"160,\d+ bytes, .* chunksize=1000\) of pyarrow"):
        read_manifest(ReadArrow(str(path)))

    feather.write_feather(table, path, compression="uncompressed", chunksize=1000)
    assert len(read_manifest(ReadArrow(str(path)))) == 20_000


def test_a_file_of_version_1_is_written_anew_as_the_refusal_says(tmp_path, read_manifest):
    path = tmp_path / "a.feather"
    with pytest.warns(DeprecationWarning, match="Feather V1"):
        feather.write_feather(pa.table({"x": [1, 2]}), path, version=1)
    with pytest.raises(DataError, match=r"feather\.write_feather\(feather\.read_table\(path\)"):
        opened_arrow(str(path)).__enter__()

    with pytest.warns(DeprecationWarning, match="Feather V1"):
        feather.write_feather(feather.read_table(path), path)
    assert len(read_manifest(ReadArrow(str(path)))) == 2


def test_sizes_that_cannot_be_are_refused_before_memory_is_taken(tmp_path, read_manifest):
    path = tmp_path / "a.feather"
    feather.write_feather(pa.table({"x": [7] * 1000}), path, compression="lz4")
    data = path.read_bytes()
    at = data.index(struct.pack("<q", 8000), 200)  # how much the values unpack to
    path.write_bytes(data[:at] + struct.pack("<q", 1 << 40) + data[at + 8 :])

    with pytest.raises(DataError, match=r"states 1,099,511,627,776 bytes"):
        read_manifest(ReadArrow(str(path)))
