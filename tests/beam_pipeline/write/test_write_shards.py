"""The rows of a shard do not depend on how they are divided into parts."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from apache_beam.io import WriteToTFRecord
from inspecting import Inspected, table_of

from beam_pipeline import tfrecord
from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import position
from beam_pipeline.config import BuildConfig
from beam_pipeline.write import write_shards
from beam_pipeline.write.write_shards import ShardSink, WriteShards, shard_rows, split_sink
from tfrecord_dataset.format.frames import framed, payload_of

NUM_ROWS = 1000


def batches():
    """Tables of records whose packed size grows."""
    for start in range(0, NUM_ROWS, 100):
        numbers = range(start, start + 100)
        yield columns.to_bytes(
            table_of(
                (
                    Inspected(
                        key=f"{number}",
                        features={"text": "x" * number},
                        num_bytes=number,
                        content_digest="00" * 32,
                    ),
                    "train",
                    position(f"{number}", seed=0),
                )
                for number in numbers
            )
        )


@pytest.fixture
def whole():
    return columns.in_order(columns.from_bytes(batches()))


@pytest.mark.parametrize(
    ("max_bytes", "num_parts"),
    [
        pytest.param(1 << 20, 1, id="in memory"),
        pytest.param(85_000, 7, id="in ranges of positions"),
    ],
)
def test_rows_come_in_order(tmp_path, monkeypatch, whole, max_bytes, num_parts):
    monkeypatch.setattr(write_shards, "_MAX_BYTES", max_bytes)
    with shard_rows(list(batches()), str(tmp_path)) as rows:
        parts = list(rows.parts)
        chunks = list(rows.chunks(4_000, 16))
        again = list(rows.parts)

    assert rows.num_rows == NUM_ROWS
    assert len(parts) == num_parts
    assert pa.concat_tables(parts) == pa.concat_tables(again) == whole
    assert max(part.num_rows for part in parts) < 2 * NUM_ROWS / num_parts
    assert chunks == list(columns.chunks(whole, 4_000, 16))
    assert not list(tmp_path.iterdir())


def test_records_of_one_position_are_one_part(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(write_shards, "_MAX_BYTES", 100_000)
    place = columns.SCHEMA.get_field_index("position")
    same = pa.array(np.full(NUM_ROWS, 2**64 - 1, np.uint64))
    table = whole.set_column(place, columns.SCHEMA.field(place), same)
    with shard_rows([columns.to_bytes(table)], str(tmp_path)) as rows:
        [part] = rows.parts
    assert part == columns.in_order(table)


def test_rows_of_many_columns_are_in_large_parts(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(write_shards, "_MAX_BYTES", 1)
    with shard_rows(list(batches()), str(tmp_path)) as rows:
        num_parts = len(list(rows.parts))
    assert num_parts <= 1 + whole.nbytes // (1024 * whole.num_columns)


EXAMPLES = [b"", b"one", bytes(range(256)) * 1000]


def write(sink: ShardSink, folder: Path) -> Path:
    writer = sink.open_writer(str(folder), "00003-attempt")
    for some in (EXAMPLES[:2], EXAMPLES[2:]):
        writer.write(b"".join(map(framed, some)))
    return Path(str(writer.close()))


def test_shards_are_written_by_beams_transform():
    assert issubclass(WriteShards, WriteToTFRecord)


@pytest.mark.parametrize(("compression", "suffix"), [("none", ""), ("gzip", ".gz")])
def test_a_shard_is_named_compressed_and_hashed(tmp_path, compression, suffix):
    config = BuildConfig(output=str(tmp_path), name="pets", compression=compression)
    sink = split_sink(config, "train")
    assert sink.final_name(3, 12) == f"pets-train.tfrecord-00003-of-00012{suffix}"
    path = write(sink, tmp_path)

    assert path.parent == tmp_path
    assert path.name.startswith("00003-attempt")
    data = path.read_bytes()
    assert data.startswith(b"\x1f\x8b") == (compression == "gzip")
    stored = tfrecord.read_file(str(path), compressed=compression == "gzip")
    assert [payload_of(frame) for _, frame in stored] == EXAMPLES
    found = sink.file.sha256, sink.file.num_bytes
    assert found == (hashlib.sha256(data).hexdigest(), len(data))
