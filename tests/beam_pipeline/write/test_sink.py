"""Beam's sink as this project uses it; what fails here has moved in a release of Beam."""

import gzip
import hashlib
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.io import WriteToTFRecord
from apache_beam.metrics.metric import Lineage
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.running.runner import choose_runner
from beam_pipeline.tfrecord import frames
from beam_pipeline.write.sink import ShardSink, split_sink
from beam_pipeline.write.stage import WriteShards
from tfrecord_dataset.frames import framed, payload_of

EXAMPLES = [b"", b"one", bytes(range(256)) * 1000]


def make_sink(folder: Path, compression: str = "none") -> ShardSink:
    config = BuildConfig(output=str(folder), name="pets", compression=compression)
    return split_sink(config, "train")


def write(sink: ShardSink, folder: Path) -> Path:
    return Path(written(sink, str(folder)))


def written(sink: ShardSink, folder: str) -> str:
    writer = sink.open_writer(folder, "00003-attempt")
    for some in (EXAMPLES[:2], EXAMPLES[2:]):
        writer.write(b"".join(map(framed, some)))
    return str(writer.close())


def test_shards_are_written_by_beams_transform():
    assert issubclass(WriteShards, WriteToTFRecord)


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_shard_is_compressed_hashed_and_counted(tmp_path, compression):
    sink = make_sink(tmp_path, compression)
    path = write(sink, tmp_path)

    data = path.read_bytes()
    assert (sink.file.sha256, sink.file.num_bytes) == (
        hashlib.sha256(data).hexdigest(),
        len(data),
    )
    stored = frames.read_file(str(path), compressed=compression == "gzip")
    assert [payload_of(frame) for _, frame in stored] == EXAMPLES
    assert data.startswith(b"\x1f\x8b") == (compression == "gzip")


@pytest.mark.parametrize(
    ("compression", "name"),
    [
        ("none", "pets-train.tfrecord-00002-of-00005"),
        ("gzip", "pets-train.tfrecord-00002-of-00005.gz"),
    ],
)
def test_the_name_of_a_shard_says_that_it_is_gzip(tmp_path, compression, name):
    assert make_sink(tmp_path, compression).final_name(2, 5) == name


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_shard_in_an_object_store(tmp_path, bucket, compression):
    folder, _ = bucket
    config = BuildConfig(output=folder, name="pets", compression=compression)
    sink = split_sink(config, "train")
    data = storage.read_bytes(FileRef(path=written(sink, f"{folder}/train")))

    assert data == write(make_sink(tmp_path, compression), tmp_path).read_bytes()
    assert (sink.file.sha256, sink.file.num_bytes) == (
        hashlib.sha256(data).hexdigest(),
        len(data),
    )


def test_the_bytes_of_a_gzip_shard_do_not_tell_when_it_was_written(tmp_path):
    first, second = (write(make_sink(tmp_path, "gzip"), tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == write(make_sink(tmp_path), tmp_path).read_bytes()


def test_the_names(tmp_path):
    sink = make_sink(tmp_path)
    assert sink.final_name(3, 12) == "pets-train.tfrecord-00003-of-00012"
    path = write(sink, tmp_path)
    assert path.parent == tmp_path
    assert path.name.startswith("00003-attempt")


def test_the_shards_are_in_the_lineage_of_the_job(tmp_path):
    options = PipelineOptions([])
    pipeline = beam.Pipeline(choose_runner(options), options)
    pipeline | beam.Create([make_sink(tmp_path)]) | beam.Map(ShardSink.report_lineage, 2)
    result = pipeline.run()
    result.wait_until_finish()
    lineage = Lineage.query(result.metrics(), Lineage.SINK)
    assert {name.rpartition("/")[2] for name in lineage} == {
        "pets-train.tfrecord-00000-of-00002",
        "pets-train.tfrecord-00001-of-00002",
    }
