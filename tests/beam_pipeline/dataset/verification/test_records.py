"""Any damage in a dataset is found, and reported by file and record."""

import re

import pytest
import tensorflow as tf
from damages import edit

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset.reading import read_frames
from tfrecord_dataset.json_file import sealed


def shard(dataset, number=0):
    return sorted(dataset.glob("*.tfrecord-*"))[number]


def spans(dataset, number=0):
    spans = dataset / "idx" / f"{shard(dataset, number).name}.idx"
    return [tuple(map(int, line.split())) for line in spans.read_text().splitlines()]


def edit_metadata(dataset, change):
    edit(dataset / "metadata.json", change)


def test_a_dataset_that_is_built_again_of_its_own_shards(whole, found, tmp_path):
    """Some features have all keys, but no statistics."""
    again = beam_pipeline.build(input=str(whole), output=str(tmp_path), name="again")
    assert found(again.path) == []
    assert [*again.features] == [*beam_pipeline.open(whole).features]


def cut(dataset, end):
    shard(dataset).write_bytes(shard(dataset).read_bytes()[:end])


def state(**counts):
    """Change the entry of the first split's first shard in metadata.json."""
    return lambda facts: facts["splits"]["test"]["shards"][0].update(counts)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda dataset: cut(dataset, -10),
            "truncated file: record {last}, at byte {offset}: it lacks its last 10 bytes",
            id="cut",
        ),
        pytest.param(
            lambda dataset: cut(dataset, spans(dataset)[-1][0]),
            "{name}: it holds {last} records",
            id="without its last record",
        ),
        pytest.param(
            lambda dataset: edit_metadata(dataset, state(num_records=99)),
            "{name}: it holds",
            id="a wrong count",
        ),
        *(
            pytest.param(
                lambda dataset, count=count: edit_metadata(
                    dataset, lambda facts: facts["splits"]["test"].update({count: 99})
                ),
                "metadata.json: split test states 99",
                id=f"a split's {count}",
            )
            for count in ("num_records", "num_bytes")
        ),
    ],
)
def test_what_a_shard_holds(dataset, found, damage, message):
    (offset, _), last = spans(dataset)[-1], len(spans(dataset)) - 1
    damage(dataset)
    expected = message.format(name=shard(dataset).name, last=last, offset=offset)
    assert any(expected in line for line in found(dataset))


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
        (sealed({"format_version": 99}), "format version 99, but this version reads 3", 2),
    ],
)
def test_what_cannot_be_opened(dataset, capsys, text, message, code):
    (dataset / "metadata.json").unlink()
    if text is not None:
        (dataset / "metadata.json").write_text(text)
    for command in ("verify", "show"):
        assert commands.main([command, str(dataset)]) == code
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "kind", "values", "message"),
    [
        ("audio/sample_rate", "int64", [9], "sample_rate is 8000, audio/sample_rate states 9"),
        ("audio/num_samples", "int64", [9], r"num_samples is \d+, audio/num_samples states 9"),
        ("audio/channels", "int64", [9], "channels is 1, audio/channels states 9"),
        ("audio/format", "bytes", [b"ogg"], "format is wav, audio/format states ogg"),
        (
            "audio/encoded",
            "bytes",
            [b"RIFF\0\0\0\0WAVE"],
            "'audio/encoded' holds truncated audio: ",
        ),
        ("audio/encoded", "bytes", [b"noise"], "'audio/encoded' holds 5 bytes that start with"),
        ("image/class/label", "int64", [2], "'image/class/label' holds the class 2"),
        ("image/class/label", "int64", [0, 0], "an int64 list of 2, where an int64 list of 1"),
        ("topics/label", "int64", [0, 7], "'topics/label' holds the class 7"),
        ("topics/label", "bytes", [b"x"], "a bytes list of 1, where an int64 list"),
        ("grid", "bytes", [bytes(1198)], r"holds 1,198 bytes, where uint16 \[20, 30\] has 1,200"),
        ("grid", "int64", [1], "an int64 list of 1, where a bytes list of 1"),
        ("point", "float", [1.0, 2.0], "a float list of 2, where a float list of 3"),
        ("rows", "float", [1.0, 2.0], "a float list of 2, where a float list in rows of 4"),
        ("rows", "", [], "the Example lacks rows"),
    ],
)
def test_a_record_that_is_not_as_the_schema_says(dataset, found, key, kind, values, message):
    first, *others = [frame.payload for frame in read_frames(str(shard(dataset)), False)]
    example = tf.train.Example.FromString(first)
    del example.features.feature[key]
    if kind:
        getattr(example.features.feature[key], f"{kind}_list").value.extend(values)
    with tf.io.TFRecordWriter(str(shard(dataset))) as writer:
        for payload in (example.SerializeToString(), *others):
            writer.write(payload)
    assert any(re.search(f"record 0, at byte 0: .*{message}", each) for each in found(dataset))


def test_audio_that_is_not_as_the_schema_says(dataset, found):
    def state_other_audio(facts):
        [audio] = [each for each in facts["features"] if each["name"] == "audio"]
        audio.update(shape=[51, 2], sample_rate=9)

    edit_metadata(dataset, state_other_audio)
    message = r"audio \[\d+, 1\], where \[51, 2\] was expected"
    assert any(re.search(message, each) for each in found(dataset))
