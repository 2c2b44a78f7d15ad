"""TFRecord files that others wrote: built from and adopted, their Examples are the same bytes."""

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from apache_beam.options.pipeline_options import PipelineOptions

import beam_pipeline
import trainer
from beam_pipeline import commands, frames
from beam_pipeline.adoption import adopt
from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.tfrecord.files import find_record_files

NUM_RECORDS, NUM_FILES = 21, 3
TWO_PROCESSES = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]


def feature(values):
    """A tf.train.Feature of a value, or of a list of them."""
    listed = np.ravel(values).tolist() if isinstance(values, np.ndarray) else values
    listed = listed if isinstance(listed, list) else [listed]
    if listed and isinstance(listed[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=listed))
    if isinstance(values, np.ndarray) or (listed and isinstance(listed[0], float)):
        return tf.train.Feature(float_list=tf.train.FloatList(value=listed))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=listed))


def example(**values):
    """The bytes of an Example, as TensorFlow makes it."""
    features = {key: feature(value) for key, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def random(number):
    return np.random.default_rng(number)


def jpeg(number):
    return tf.io.encode_jpeg(random(number).integers(0, 256, (12, 16, 3), np.uint8)).numpy()


def wav(number):
    samples = random(number).uniform(-1, 1, (100 + number, 1))
    return tf.audio.encode_wav(np.float32(samples), 8000).numpy()


# A record by its number, as tutorials write them; and what each key is taken for.
SCHEMAS: dict[str, tuple[Any, dict[str, str]]] = {
    "image": (
        lambda n: {"image": jpeg(n), "label": n % 3},
        {"image": "image", "label": "class_label"},
    ),
    "image and metadata": (
        lambda n: {"image": jpeg(n), "metadata": random(n).normal(size=5), "label": n % 3},
        {"image": "image", "label": "class_label", "metadata": "tensor [5]"},
    ),
    "sequence": (
        lambda n: {"sequence": list(range(1, 2 + n % 7)), "label": n % 3},
        {"label": "class_label", "sequence": "sequence [None]"},
    ),
    "padded sequence": (
        lambda n: {"sequence": [*range(n % 7), *[0] * (7 - n % 7)], "label": n % 3},
        {"label": "class_label", "sequence": "tensor [7]"},
    ),
    "audio": (
        lambda n: {"audio": wav(n), "speaker_id": n % 5, "timestamp": 0.5 + n},
        {"audio": "audio", "speaker_id": "scalar", "timestamp": "scalar"},
    ),
    "boxes": (
        lambda n: {
            "image_raw": jpeg(n),
            "labels": [1] * (n % 3),
            "bounding_boxes": random(n).uniform(size=(n % 3, 4)),
        },
        {
            "bounding_boxes": "sequence [None, 4]",
            "image_raw": "image",
            "labels": "sequence [None]",
        },
    ),
    "raw image": (
        lambda n: {"image": np.float32(random(n).uniform(size=(64, 64))).tobytes(), "label": n % 3},
        {"image": "tensor [64, 64] bytes", "label": "class_label"},
    ),
    "several files": (
        lambda n: {
            "image_raw": jpeg(n),
            "label": n % 3,
            "height": 12,
            "width": 16,
            "caption": f"Bild {n}: häßlich".encode(),
        },
        {
            "caption": "text",
            "height": "scalar",
            "image_raw": "image",
            "label": "class_label",
            "width": "scalar",
        },
    ),
    "arrays": (
        lambda n: {
            "pixels": random(n).integers(0, 256, (28, 28), np.uint8).tobytes(),
            "volume": random(n).normal(size=(5, 7)).tobytes(),
            "vector": random(n).normal(size=9),
            "y": 0.5 * n,
        },
        {
            "pixels": "tensor [28, 28] bytes",
            "vector": "tensor [9]",
            "volume": "bytes",
            "y": "scalar",
        },
    ),
}
schemas = pytest.mark.parametrize("schema", SCHEMAS)


def write(folder: Path, payloads, compression="", name="data_{}.tfrecord", files=NUM_FILES) -> Path:
    """Payloads in files that TensorFlow writes."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = folder / name.format(number)
        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for payload in payloads[number::files]:
                writer.write(payload)
    return folder


def examples(schema):
    return [example(**SCHEMAS[schema][0](number)) for number in range(NUM_RECORDS)]


def build(path, output, beam_options=(), **options: Any) -> beam_pipeline.DatasetInfo:
    config = beam_pipeline.BuildConfig(input=str(path), output=str(output), name="made", **options)
    info = beam_pipeline.build(config, PipelineOptions(list(beam_options)))
    assert beam_pipeline.verify(info) == []
    assert [path.name for path in Path(info.directory).glob(".*")] == []
    return info


def stored(info, split=None):
    """The Examples of a data set, as TensorFlow reads them."""
    compression = "GZIP" if info.compressed else ""
    return [
        payload
        for name, shards in info.splits.items()
        for shard in shards
        for payload in tf.data.TFRecordDataset(
            f"{info.directory}/{shard.file}", compression
        ).as_numpy_iterator()
        if split in (None, name)
    ]


def taken_for(features):
    """Feature by name, briefly."""
    return {
        each.name: " ".join(
            str(part)
            for part in (
                each.kind,
                each.kind in ("tensor", "sequence") and [*each.shape],
                each.encoding,
            )
            if part
        )
        for each in features
    }


@schemas
def test_every_example_is_written_as_it_is(tmp_path, schema):
    payloads = examples(schema)
    write(tmp_path / "in", payloads[:12])
    write(tmp_path / "in", payloads[12:], "GZIP", name="more_{}.tfrecord.gz")
    info = build(tmp_path / "in", tmp_path, num_shards=2)

    assert len(info.splits["train"]) == 2
    assert Counter(stored(info)) == Counter(payloads)
    assert taken_for(info.features) == SCHEMAS[schema][1]
    assert all(each.bare for each in info.features)


@schemas
def test_adopt_states_what_the_trainer_infers(tmp_path, schema):
    folder = write(tmp_path / "in", examples(schema))
    info = adopt(str(folder))
    bare = trainer.open(str(folder / "*.tfrecord"))
    fields = ("name", "kind", "dtype", "shape", "key", "format", "encoding", "bare")

    assert [[getattr(each, field) for field in fields] for each in info.features] == [
        [getattr(each, field) for field in fields] for each in bare.features.values()
    ]
    described = trainer.open(folder)
    for one, other in zip(described.numpy("train"), bare.numpy("train"), strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_two_processes_give_the_same_bytes(tmp_path, digests):
    folder = write(tmp_path / "in", examples("several files"), "GZIP")
    one = build(folder, tmp_path / "one", split={"train": 0.7, "test": 0.3})
    other = build(folder, tmp_path / "other", TWO_PROCESSES, split={"train": 0.7, "test": 0.3})

    assert digests(Path(one.directory)) == digests(Path(other.directory))


def test_splits_by_the_names_of_files(tmp_path):
    payloads = examples("sequence")
    write(tmp_path / "in", payloads[:14], name="train-0000{}-of-00002", files=2)
    write(tmp_path / "in", payloads[14:], name="test_{}.tfrecord", files=1)
    info = build(tmp_path / "in", tmp_path)

    assert Counter(stored(info, "train")) == Counter(payloads[:14])
    assert Counter(stored(info, "test")) == Counter(payloads[14:])


def test_what_a_key_holds_decides_the_split(tmp_path):
    folder = write(tmp_path / "in", examples("audio"))
    info = build(folder, tmp_path, group_by="speaker_id", split={"a": 0.5, "b": 0.5})

    speakers = {
        split: {each["speaker_id"].item() for each in trainer.open(info.directory).numpy(split)}
        for split in info.splits
    }
    assert speakers["a"] | speakers["b"] == set(range(5))
    assert not speakers["a"] & speakers["b"]


def test_equal_pictures_are_duplicates(tmp_path):
    payloads = [example(image=jpeg(number // 2), label=number) for number in range(4)]
    info = build(write(tmp_path / "in", payloads), tmp_path, duplicates="drop")

    told = info.metadata["duplicates"]
    assert (told["groups"], told["records"], told["conflicting"]) == (2, 4, 2)
    assert told["examples"][0]["labels"] in (["0", "1"], ["2", "3"])
    assert len(stored(info)) == 2


def test_a_declared_schema(tmp_path):
    folder = write(tmp_path / "in", examples("boxes"))
    schema = parse_schema(
        {
            "image": {"kind": "image", "key": "image_raw"},
            "boxes": {"kind": "boxes", "key": "bounding_boxes"},
        }
    )
    info = build(folder, tmp_path, schema=schema)

    assert [(each.name, each.key, each.encoding) for each in info.features] == [
        ("image", "image_raw", ""),
        ("boxes", "bounding_boxes", "flat"),
    ]
    record = next(iter(trainer.open(info.directory).numpy("train", image_dtype="uint8")))
    assert record["image"].shape == (12, 16, 3)
    assert record["boxes"].shape[1] == 4


def test_show_draws_what_others_stored(tmp_path, capsys):
    box = [0.1, 0.2, 0.8, 0.9]
    payloads = [example(image=jpeg(0), label=1, boxes=np.array(box * count)) for count in (0, 1)]
    folder = write(tmp_path / "in", payloads, files=1)
    schema = parse_schema({"image": "image", "label": "class_label", "boxes": "boxes"})
    adopt(str(folder), schema=schema)
    shown = tmp_path / "shown"

    assert commands.main(["show", str(folder), "--images", str(shown)]) == 0
    assert "boxes  [0.1, 0.2, 0.8, 0.9]" in capsys.readouterr().out
    without, with_box = (
        tf.io.decode_jpeg((shown / f"train-0000{number}-record.jpg").read_bytes()).numpy()
        for number in (0, 1)
    )
    assert (without != with_box).any()


def test_what_does_not_fit_a_declared_schema_is_rejected(tmp_path):
    payloads = [example(age=number) for number in (17, 200, 40)] + [example(age=0.5), example(x=1)]
    folder = write(tmp_path / "in", payloads, files=1)
    schema = parse_schema(
        {"age": {"kind": "scalar", "dtype": "int64", "minimum": 0, "maximum": 120}}
    )
    info = build(folder, tmp_path, schema=schema, max_bad_fraction=0.7)

    assert Counter(stored(info)) == Counter([payloads[0], payloads[2]])
    lines = Path(info.directory, "rejects.jsonl").read_text().splitlines()
    assert [(reject["source"], reject["detail"]) for reject in map(json.loads, lines)] == [
        ("data_0.tfrecord:1", "key 'age' holds 200, where 0 to 120 was expected"),
        (
            "data_0.tfrecord:3",
            "key 'age' holds a float list of 1, where an int64 list of 1 was expected",
        ),
        ("data_0.tfrecord:4", "key 'age' is missing, where an int64 list of 1 was expected"),
    ]


def test_class_names(tmp_path):
    folder = write(tmp_path / "in", examples("image"))
    info = build(folder, tmp_path, classes=("cat", "dog", "bird"))
    assert info.classes == ("cat", "dog", "bird")

    with pytest.raises(DataError, match="class 2, but 2 classes are declared"):
        build(folder, tmp_path / "again", classes=("cat", "dog"))


def test_pictures_that_others_would_convert_are_kept(tmp_path):
    tall = tf.io.encode_jpeg(np.zeros((8, 4, 3), np.uint8)).numpy()
    exif = (
        b"\xff\xe1\x00\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
    )
    payloads = [example(image=tall[:2] + exif + tall[2:]), example(image=jpeg(1))]
    info = build(write(tmp_path / "in", payloads), tmp_path)

    assert Counter(stored(info)) == Counter(payloads)
    assert info.metadata["changes"] == {"image kept: orientation": 1}


def test_conversions_are_refused(tmp_path, capsys):
    folder = write(tmp_path / "in", examples("image"))
    code = commands.main(["plan", str(folder), "--image-size", "8"])

    assert code == 2
    assert "build from the raw files" in capsys.readouterr().err


def test_plan_says_what_raw_bytes_were_taken_for(tmp_path, capsys):
    folder = write(tmp_path / "in", examples("raw image"))

    assert commands.main(["plan", str(folder)]) == 0
    told = capsys.readouterr()
    assert "found tfrecord: 3 files" in told.err
    assert "image: 16,384 raw bytes a record are taken for float32 [64, 64]" in told.out
    assert commands.main(["build", str(folder), "--output", str(tmp_path), "--name", "raw"]) == 0
    assert "are taken for float32 [64, 64]" in capsys.readouterr().err


def test_a_data_set_of_this_project(tmp_path, labelled):
    info = build(labelled.directory, tmp_path)

    assert Counter(stored(info)) == Counter(stored(labelled))
    assert {split: info.num_records(split) for split in info.splits} == {
        split: labelled.num_records(split) for split in labelled.splits
    }
    names = {each.name: each.kind for each in info.features}
    assert names["image/encoded"] == "image"
    assert names["image/class/label"] == "class_label"

    again = build(labelled.directory, tmp_path / "again", schema=labelled.features)
    assert again.features == labelled.features
    assert again.classes == ("cat", "dog")
    assert Counter(stored(again)) == Counter(stored(labelled))


def flipped(data, byte):
    return data[:byte] + bytes([data[byte] ^ 1]) + data[byte + 1 :]


SEQUENCE_EXAMPLE = tf.train.SequenceExample(
    feature_lists=tf.train.FeatureLists(
        feature_list={"words": tf.train.FeatureList(feature=[feature(1)])}
    )
).SerializeToString()


# What becomes of a file of 7 records: the damage, the reject's record and reason, records left.
DAMAGE: dict[str, tuple[Any, str, str, int]] = {
    "payload": (lambda data: flipped(data, 100), ":0", "damaged record", 6),
    "cut_off": (lambda data: data[:-9], "", "truncated file", 6),
    "garbage": (lambda data: data + b"some garbage", "", "damaged file", 7),
    "another_kind": (
        lambda data: data + frames.framed(example(image=jpeg(0), label=0.5)),
        ":7",
        "type conflict",
        7,
    ),
    "sequence_example": (
        lambda data: data + frames.framed(SEQUENCE_EXAMPLE),
        ":7",
        "not an Example",
        7,
    ),
    "half_a_picture": (
        lambda data: data + frames.framed(example(image=jpeg(0)[:-200], label=1)),
        ":7",
        "truncated image",
        7,
    ),
    "no_picture": (
        lambda data: data + frames.framed(example(image=b"a text", label=1)),
        ":7",
        "not an image",
        7,
    ),
    "empty": (lambda data: b"", "", "no records", 0),
    "text": (lambda data: b"this is text", "", "not a TFRecord file", 0),
    "length": (lambda data: flipped(data, 3), "", "not a TFRecord file", 0),
    "gzip": (lambda data: gzip.compress(data, mtime=0)[:-9], "", "truncated file", 7),
}


def test_damage_is_rejected_by_file_and_record(tmp_path):
    payloads = [example(image=jpeg(number), label=number % 3) for number in range(7)]
    for name, (damage, *_) in DAMAGE.items():
        write(tmp_path / "in", payloads, name=f"{name}.tfrecord", files=1)
        path = tmp_path / f"in/{name}.tfrecord"
        path.write_bytes(damage(path.read_bytes()))
    config = beam_pipeline.BuildConfig(input=str(tmp_path / "in"), output=str(tmp_path), name="a")
    with pytest.raises(DataError, match="10 of 64 records are bad"):
        beam_pipeline.build(config)
    info = build(tmp_path / "in", tmp_path, max_bad_fraction=0.2)

    written = Counter(stored(info))
    assert written.keys() == set(payloads), "all of them whole"
    assert written.total() == sum(left for *_, left in DAMAGE.values())
    assert taken_for(info.features) == SCHEMAS["image"][1]
    lines = Path(info.directory, "rejects.jsonl").read_text("utf-8").splitlines()
    rejects = {each["source"]: each["reason"] for each in map(json.loads, lines)}
    assert rejects == {
        f"{name}.tfrecord{record}": reason for name, (_, record, reason, _) in DAMAGE.items()
    }


def test_a_length_in_the_middle(tmp_path):
    payloads = examples("sequence")
    folder = write(tmp_path / "in", payloads, files=1)
    path = folder / "data_0.tfrecord"
    path.write_bytes(flipped(path.read_bytes(), sum(len(each) + 16 for each in payloads[:9])))
    with pytest.raises(DataError, match="1 of 10 records are bad"):
        build(folder, tmp_path)
    info = build(folder, tmp_path, max_bad_fraction=0.2)

    assert Counter(stored(info)) == Counter(payloads[:9])
    assert "record 9, at byte" in Path(info.directory, "rejects.jsonl").read_text()


# TFDS 4.9 calls what protobuf 6 warns of.
tfds_warns = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def tfds():
    import tensorflow_datasets

    return tensorflow_datasets


@tfds_warns
def test_a_directory_that_tfds_prepared(tfds, tmp_path, digests):
    class Pets(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("2.1.0")
        code_path = None  # TFDS would look for it with a package that it does not ask for

        def _info(self):
            return self.dataset_info_from_configs(
                features=tfds.features.FeaturesDict(
                    {
                        "image": tfds.features.Image(shape=(None, None, 3)),
                        "label": tfds.features.ClassLabel(names=["cat", "dog"]),
                        "weight": tfds.features.Tensor(shape=(3,), dtype=np.float32),
                    }
                )
            )

        def _split_generators(self, manager):
            return {"train": self._generate_examples(0, 9), "test": self._generate_examples(9, 12)}

        def _generate_examples(self, first, last):
            for number in range(first, last):
                image = random(number).integers(0, 256, (12, 16, 3), np.uint8)
                weight = np.full(3, number, np.float32)
                yield number, {"image": image, "label": number % 2, "weight": weight}

    builder = Pets(data_dir=tmp_path, file_format="tfrecord")
    builder.download_and_prepare()
    directory = Path(builder.data_dir)
    before = digests(directory)
    info = adopt(str(directory))

    assert (info.metadata["name"], info.metadata["version"]) == ("pets", "2.1.0")
    assert {split: info.num_records(split) for split in info.splits} == {"test": 3, "train": 9}
    assert info.classes == ("cat", "dog")
    assert taken_for(info.features) == {
        "image": "image",
        "label": "class_label",
        "weight": "tensor [3]",
    }
    after = digests(directory)
    assert {name: after[name] for name in before} == before
    assert beam_pipeline.verify(info) == []
    opened = trainer.open(directory)
    assert list(opened.classes) == ["cat", "dog"]
    theirs = tfds.as_numpy(builder.as_dataset(split="test", shuffle_files=False))
    for one, other in zip(opened.numpy("test", image_dtype="uint8"), theirs, strict=True):
        for name in ("image", "label", "weight"):
            np.testing.assert_array_equal(one[name], other[name])

    built = build(directory, tmp_path / "built")
    assert Counter(stored(built)) == Counter(stored(info))
    assert {*built.splits} == {"train", "test"}


@tfds_warns
@pytest.mark.parametrize(
    "name", ["train-{:05d}-of-00003", "pets_train.record-{:05d}-of-00003", "train_{:05d}.tfrecord"]
)
def test_tfds_reads_what_was_adopted(tfds, tmp_path, name):
    names = [name.format(number) for number in range(NUM_FILES)]
    folder = tmp_path / "pets"
    folder.mkdir()
    payloads = examples("boxes")
    for number, each in enumerate(names):
        write(folder, payloads[number::NUM_FILES], name=each, files=1)
    adopt(str(folder))

    builder = tfds.builder_from_directory(str(folder))
    assert builder.info.splits["train"].num_examples == NUM_RECORDS
    read = list(tfds.as_numpy(builder.as_dataset(split="train", shuffle_files=False)))
    ours = list(trainer.open(folder).numpy("train", image_dtype="uint8"))
    for one, other in zip(ours, read, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


def test_shards_in_folders_are_adopted_and_opened(tmp_path):
    payloads = examples("image")
    write(tmp_path / "pets/train", payloads[:14])
    write(tmp_path / "pets/valid", payloads[14:])
    info = adopt(str(tmp_path / "pets"))

    assert beam_pipeline.verify(info) == []
    opened = trainer.open(tmp_path / "pets")
    assert {split: opened.num_records(split) for split in opened.splits} == {
        "train": 14,
        "valid": 7,
    }
    labels = [record["label"] for record in opened.numpy("valid")]
    assert sorted(labels) == sorted(number % 3 for number in range(14, 21))


def test_a_data_set_that_moves_stays_adopted(tmp_path):
    folder = write(tmp_path / "in", examples("image"), "GZIP")
    adopt(str(folder))
    moved = shutil.move(folder, tmp_path / "elsewhere")

    info = beam_pipeline.open_dataset(str(moved))
    assert beam_pipeline.verify(info) == []
    with pytest.raises(ConfigError, match="pass --overwrite"):
        adopt(str(moved))


@pytest.mark.parametrize(
    "names",
    [
        ["nsynth-train.tfrecord", "nsynth-valid.tfrecord"],
        ["coco_train.record-00000-of-00001", "coco_val.record-00000-of-00001"],
        ["jpeg/train/00-8.tfrec", "jpeg/test/00-8.tfrec"],
        ["pets-train.tfrecord-00000-of-00001", "pets-more.tfrecord-00000-of-00001"],
        ["my-pets-train.tfrecord-00000-of-00001", "my-pets-more.tfrecord-00000-of-00001"],
        ["train2017_0.tfrecord", "Test images.tfrecord"],
        ["train00.tfrecord", "validate00.tfrecord"],
        ["trainer.tfrecord", "contest.tfrecord"],
    ],
)
def test_builder_and_trainer_agree_on_the_splits_of_names(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        with tf.io.TFRecordWriter(str(tmp_path / name)) as writer:
            writer.write(example(number=1))
    found, _ = find_record_files(str(tmp_path))
    opened = trainer.open([tmp_path / name for name in names]).splits

    assert {file.relative: file.split or "train" for file in found} == {
        str(Path(file).relative_to(tmp_path)): split.name
        for split in opened.values()
        for file in split.files
    }
