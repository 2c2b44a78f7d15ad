"""Whatever is broken in a dataset is found, and named by file and record."""

import shutil
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest
import soundfile
import tensorflow as tf
from sealing import edit

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset.reading import read_frames
from beam_pipeline.dataset.verification.shards import StatedRecords, StatedShard, verify_shard
from beam_pipeline.pipeline import build
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, FileRef, Record
from beam_pipeline.running import progress
from tfrecord_dataset.sealed_json import sealed


@pytest.fixture(scope="module")
def whole(tmp_path_factory, class_folders):
    folder = tmp_path_factory.mktemp("whole")
    config = beam_pipeline.BuildConfig(
        input=str(class_folders(folder / "pets")), output=str(folder / "data"), num_shards=2
    )
    return Path(beam_pipeline.build(config).path)


@pytest.fixture(scope="module")
def compressed(tmp_path_factory, class_folders):
    folder = tmp_path_factory.mktemp("compressed")
    config = beam_pipeline.BuildConfig(
        input=str(class_folders(folder / "pets")), output=str(folder / "data"), compression="gzip"
    )
    return Path(beam_pipeline.build(config).path)


@pytest.fixture
def dataset(whole, tmp_path):
    """A copy that may be broken."""
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def verify(directory):
    return beam_pipeline.verify(beam_pipeline.open(str(directory)))


def shard(dataset, number=0):
    return sorted(dataset.glob("*.tfrecord-*"))[number]


def spans(dataset, number=0):
    spans = dataset / "idx" / f"{shard(dataset, number).name}.idx"
    return [tuple(map(int, line.split())) for line in spans.read_text().splitlines()]


def edit_metadata(dataset, change):
    edit(dataset / "metadata.json", change)


def test_all_is_well(whole, compressed, capsys):
    assert verify(whole) == verify(compressed) == []
    assert commands.main(["verify", str(whole)]) == 0
    assert "16 records in 2 shards of 1 split: no problems" in capsys.readouterr().out


def test_existing_examples_declared_as_a_dataset_states_them(whole, tmp_path):
    """Some features have all of their keys, but nothing was counted of them."""
    schema = beam_pipeline.open(str(whole)).schema
    config = beam_pipeline.BuildConfig(
        input=f"{whole}/*.tfrecord-*", output=str(tmp_path), name="again", schema=schema
    )
    assert beam_pipeline.verify(beam_pipeline.build(config)) == []


def test_a_flipped_byte(dataset):
    offset, length = spans(dataset)[3]
    data = bytearray(shard(dataset).read_bytes())
    data[offset + length // 2] ^= 1
    shard(dataset).write_bytes(data)

    problems = verify(dataset)
    name = shard(dataset).name
    assert len(problems) == 2
    assert problems[0].startswith(f"{name}: record 3, at byte {offset}: damaged record: ")
    assert problems[1].startswith(f"{name}: its sha256 is ")


def test_worker_processes_find_the_same(dataset, monkeypatch):
    offset, length = spans(dataset)[3]
    data = bytearray(shard(dataset).read_bytes())
    data[offset + length // 2] ^= 1
    shard(dataset).write_bytes(data)
    shard(dataset, 1).unlink()
    in_this_process = verify(dataset)
    monkeypatch.setattr("beam_pipeline.dataset.shard_parallelism._FEW_BYTES", 0)

    assert len(in_this_process) == 3
    assert verify(dataset) == in_this_process


def test_the_progress_is_counted(whole, tmp_path):
    info = beam_pipeline.open(str(whole))
    records = StatedRecords(
        directory=str(whole),
        features=info.schema,
        compressed=False,
        columns=(),
        existing=False,
    )
    for entry in info.splits["train"]:
        stated = StatedShard(shard=entry, rows=None, spans=None)
        assert verify_shard(stated, records, str(tmp_path)).problems == []
    assert progress.counts(str(tmp_path)) == {"verify": 16}


def test_a_truncated_shard(dataset):
    offset, _ = spans(dataset)[-1]
    data = shard(dataset).read_bytes()
    shard(dataset).write_bytes(data[:-10])
    number = len(spans(dataset)) - 1
    lacking = f"truncated file: record {number}, at byte {offset}, lacks its last 10 bytes"
    assert any(lacking in each for each in verify(dataset))


def test_a_shard_that_lost_its_last_record(dataset):
    offset, _ = spans(dataset)[-1]
    shard(dataset).write_bytes(shard(dataset).read_bytes()[:offset])
    records = len(spans(dataset))
    assert any(f"holds {records - 1} records" in problem for problem in verify(dataset))


def test_a_wrong_count_of_a_shard(dataset):
    edit_metadata(dataset, lambda m: m["splits"]["train"]["shards"][1].update(num_records=99))
    assert any(f"{shard(dataset, 1).name}: it holds" in problem for problem in verify(dataset))


@pytest.mark.parametrize("count", ["num_records", "num_bytes"])
def test_a_wrong_count_of_a_split(dataset, count):
    edit_metadata(dataset, lambda m: m["splits"]["train"].update({count: 99}))
    assert any("metadata.json: split train states 99" in problem for problem in verify(dataset))


def test_damaged_gzip(compressed, tmp_path):
    dataset = Path(shutil.copytree(compressed, tmp_path / "copy"))
    data = bytearray(shard(dataset).read_bytes())
    data[len(data) // 2] ^= 0xFF
    shard(dataset).write_bytes(data)
    assert any(" cannot be unpacked: " in problem for problem in verify(dataset))


def test_the_command_names_problems_and_fails(dataset, capsys):
    shard(dataset).unlink()
    assert commands.main(["verify", str(dataset)]) == 3
    output = capsys.readouterr()
    assert f"{shard(dataset).name}" not in output.out
    assert "missing file" in output.err
    assert "does not verify" in output.err


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        (None, "is not a finished dataset", 2),
        ("{", "metadata.json is not a dataset's metadata: it is not JSON", 3),
        ("{}", "metadata.json is not a dataset's metadata: it does not end with its checksum", 3),
        (
            sealed({"a": 1}),
            "metadata.json is not a dataset's metadata: format_version is null, not a whole number",
            3,
        ),
        (sealed({"format_version": 99}), "format version 99, but this program reads 3", 2),
    ],
)
def test_what_cannot_be_opened(dataset, capsys, text, message, code):
    (dataset / "metadata.json").unlink()
    if text is not None:
        (dataset / "metadata.json").write_text(text)
    for command in ("verify", "show"):
        assert commands.main([command, str(dataset)]) == code
        assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def various(tmp_path_factory):
    """One record of audio, raw values, lists and labels."""
    folder = tmp_path_factory.mktemp("various")
    soundfile.write(folder / "a.wav", np.zeros((50, 2)), 8000)
    numbers, rows = np.arange(600, dtype=np.uint16), np.ones((3, 4), np.float32)
    features = {
        "audio": Audio(file=FileRef(path=str(folder / "a.wav"))),
        "label": ClassLabel("a"),
        "topics": ClassLabels(("x", "y")),
        "raw": Array(dtype="uint16", shape=(20, 30), data=numbers.tobytes()),
        "point": Array(dtype="float32", shape=(3,), data=rows[0, :3].tobytes()),
        "rows": Array(dtype="float32", shape=rows.shape, data=rows.tobytes()),
    }
    more = {**features, "rows": Array(dtype="float32", shape=(0, 4))}
    records = [Record(key="a", features=features), Record(key="b", features=more)]
    config = beam_pipeline.BuildConfig(output=str(folder), name="various")
    return Path(build(config, source=beam.Create(records)).path)


def test_every_kind_is_well(various):
    assert verify(various) == []


@pytest.mark.parametrize(
    ("key", "kind", "values", "message"),
    [
        ("audio/sample_rate", "int64", [9], "sample_rate is 8000, audio/sample_rate states 9"),
        ("audio/num_samples", "int64", [9], "num_samples is 50, audio/num_samples states 9"),
        ("audio/channels", "int64", [9], "channels is 2, audio/channels states 9"),
        ("audio/format", "bytes", [b"ogg"], "format is wav, audio/format states ogg"),
        (
            "audio/encoded",
            "bytes",
            [b"RIFF\0\0\0\0WAVE"],
            "'audio/encoded' holds truncated audio: ",
        ),
        ("audio/encoded", "bytes", [b"noise"], "'audio/encoded' holds 5 bytes that start with"),
        ("label/label", "int64", [1], "'label/label' holds the class 1"),
        ("label/label", "int64", [0, 0], "an int64 list of 2, where an int64 list of 1"),
        ("topics/label", "int64", [0, 7], "'topics/label' holds the class 7"),
        ("topics/label", "bytes", [b"x"], "a bytes list of 1, where an int64 list"),
        ("raw", "bytes", [bytes(1198)], "holds 1,198 bytes, where uint16 [20, 30] has 1,200"),
        ("raw", "int64", [1], "an int64 list of 1, where a bytes list of 1"),
        ("point", "float", [1.0, 2.0], "a float list of 2, where a float list of 3"),
        ("rows", "float", [1.0, 2.0], "a float list of 2, where a float list in rows of 4"),
        ("rows", "", [], "the Example lacks rows"),
    ],
)
def test_a_record_that_is_not_as_the_schema_says(various, tmp_path, key, kind, values, message):
    dataset = Path(shutil.copytree(various, tmp_path / "copy"))
    first, *others = [frame.payload for frame in read_frames(str(shard(dataset)), False)]
    example = tf.train.Example.FromString(first)
    del example.features.feature[key]
    if kind:
        getattr(example.features.feature[key], f"{kind}_list").value.extend(values)
    with tf.io.TFRecordWriter(str(shard(dataset))) as writer:
        for payload in (example.SerializeToString(), *others):
            writer.write(payload)
    assert any("record 0, at byte 0: " in each and message in each for each in verify(dataset))


def test_audio_that_is_not_as_the_schema_says(various, tmp_path):
    dataset = Path(shutil.copytree(various, tmp_path / "copy"))
    edit_metadata(dataset, lambda m: m["features"][0].update(shape=[51, 2], sample_rate=9))
    assert any("audio [50, 2], where [51, 2] was expected" in each for each in verify(dataset))
