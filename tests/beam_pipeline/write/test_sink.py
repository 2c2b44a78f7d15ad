"""Beam's sink as this project uses it; what fails here has moved in a release of Beam."""

import hashlib
from pathlib import Path

import pytest
from apache_beam.io import WriteToTFRecord

from beam_pipeline import tfrecord
from beam_pipeline.config import BuildConfig
from beam_pipeline.write.sink import ShardSink, split_sink
from beam_pipeline.write.stage import WriteShards
from tfrecord_dataset.format.frames import framed, payload_of

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
