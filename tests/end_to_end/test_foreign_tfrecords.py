"""TFRecords of others are adopted or built, with equal bytes; TFDS reads them.

The files are as in TensorFlow's tutorials.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from end_to_end.building import build
from tensorflow_examples import example
from tiers import first_in_ci

import beam_pipeline
import trainer
from beam_pipeline.cli import commands
from beam_pipeline.dataset.adoption import adopt
from beam_pipeline.schema.declaration import parse_schema

of_schemas = pytest.mark.parametrize(
    "schema", ["boxes", "values", pytest.param("audio", marks=pytest.mark.slow)]
)
BOXES = {"kind": "boxes", "key": "bounding_boxes"}
# TFDS 4.9 calls functions deprecated in protobuf 6.
tfds_warns = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

NUM_RECORDS, NUM_FILES = 21, 3


def _random(number: int) -> np.random.Generator:
    return np.random.default_rng(number)


def jpeg(number: int) -> bytes:
    """Make an image of 16 x 12 pixels, different for each number."""
    pixels = _random(number).integers(0, 256, (12, 16, 3), np.uint8)
    return bytes(tf.io.encode_jpeg(pixels).numpy())


def _wav(number: int) -> bytes:
    samples = _random(number).uniform(-1, 1, (100 + number, 1))
    return bytes(tf.audio.encode_wav(np.float32(samples), 8000).numpy())


# Functions from a number to a record as in tutorials, and the inferred feature of each key.
SCHEMAS: dict[str, tuple[Callable[[int], Mapping[str, Any]], dict[str, str]]] = {
    "audio": (
        lambda n: {"audio": _wav(n), "speaker_id": n % 5, "timestamp": 0.5 + n},
        {"audio": "audio", "speaker_id": "scalar", "timestamp": "scalar"},
    ),
    "boxes": (
        lambda n: {
            "image_raw": jpeg(n),
            "labels": [1] * (n % 3),
            "bounding_boxes": _random(n).uniform(size=(n % 3, 4)),
        },
        {
            "bounding_boxes": "sequence [None, 4]",
            "image_raw": "image",
            "labels": "sequence [None]",
        },
    ),
    "values": (
        lambda n: {
            "caption": f"Bild {n}: häßlich".encode(),
            "padded": [*range(n % 7), *[0] * (7 - n % 7)],
            "pixels": _random(n).integers(0, 256, (28, 28), np.uint8).tobytes(),
            "raw": np.float32(_random(n).uniform(size=(64, 64))).tobytes(),
            "sequence": list(range(1, 2 + n % 7)),
            "vector": _random(n).normal(size=9),
            "y": 0.5 * n,
        },
        {
            "caption": "text",
            "padded": "tensor [7]",
            "pixels": "bytes",
            "raw": "bytes",
            "sequence": "sequence [None]",
            "vector": "tensor [9]",
            "y": "scalar",
        },
    ),
}


def examples(schema: str) -> list[bytes]:
    """Return 21 serialized Examples of a schema."""
    record, _ = SCHEMAS[schema]
    return [example(record(number)) for number in range(NUM_RECORDS)]


def write(
    folder: Path,
    payloads: list[bytes],
    compression: str = "",
    name: str = "data_{}.tfrecord",
    files: int = NUM_FILES,
) -> Path:
    """Write payloads to files as TensorFlow does, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = folder / name.format(number)
        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for payload in payloads[number::files]:
                writer.write(payload)
    return folder


def stored(info: beam_pipeline.Dataset) -> list[bytes]:
    """Return the Examples of a dataset as TensorFlow reads them."""
    files = [f"{info.path}/{shard.file}" for shards in info.splits.values() for shard in shards]
    records = tf.data.TFRecordDataset(files, "GZIP" if info.compressed else "")
    return list(records.as_numpy_iterator())


def taken_for(info: beam_pipeline.Dataset) -> dict[str, str]:
    """Describe kind, shape and encoding of each feature briefly, by name."""
    shapes = {
        each.name: [*each.shape] if each.kind in ("tensor", "sequence") else ""
        for each in info.schema
    }
    return {
        each.name: f"{each.kind} {shapes[each.name]} {each.encoding}".strip()
        for each in info.schema
    }


def build_verified(path: Path | str, output: Path, **options: Any) -> beam_pipeline.Dataset:
    """Build and verify a dataset; check that no working files are left next to it."""
    info = build(path, output, name="made", **options)
    assert beam_pipeline.verify(info) == []
    assert [path.name for path in Path(info.path).glob(".*")] == []
    return info


@of_schemas
def test_every_example_is_written_as_it_is(tmp_path, schema):
    payloads = examples(schema)
    write(tmp_path / "in", payloads[:12])
    write(tmp_path / "in", payloads[12:], "GZIP", name="more_{}.tfrecord.gz")
    info = build_verified(tmp_path / "in", tmp_path, num_shards=2)

    assert len(info.splits["train"]) == 2
    assert Counter(stored(info)) == Counter(payloads)
    assert taken_for(info) == SCHEMAS[schema][1]
    assert all(feature.bare for feature in info.schema)


def test_equal_images_are_duplicates(tmp_path):
    payloads = [example(image=jpeg(number // 2), label=number) for number in range(4)]
    info = build_verified(write(tmp_path / "in", payloads), tmp_path, duplicates="drop")

    duplicates = info.metadata["duplicates"]
    assert (duplicates["groups"], duplicates["records"], duplicates["conflicting"]) == (2, 4, 2)
    assert duplicates["examples"][0]["labels"] in (["0", "1"], ["2", "3"])
    assert len(stored(info)) == 2


@pytest.mark.nightly
def test_a_declared_schema(tmp_path):
    raw = {"kind": "tensor", "dtype": "float32", "shape": [64, 64], "encoding": "bytes"}
    for name, declared in (
        ("values", {"raw": raw, "y": {"kind": "scalar", "dtype": "float32"}}),
        ("boxes", {"image": {"kind": "image", "key": "image_raw"}, "boxes": BOXES}),
    ):
        folder = write(tmp_path / name, examples(name))
        info = build_verified(folder, tmp_path / f"{name}-out", schema=parse_schema(declared))
        record = next(iter(trainer.open(info.path).numpy("train", image_dtype="uint8")))
        if name == "values":
            assert (record["raw"].shape, record["raw"].dtype) == ((64, 64), np.float32)
            assert 0 <= record["raw"].min() < record["raw"].max() <= 1
        else:
            assert [feature.encoding for feature in info.schema] == ["", "flat"]
            assert (record["image"].shape, record["boxes"].shape[1]) == ((12, 16, 3), 4)


@of_schemas
def test_adopt_states_what_the_trainer_infers(tmp_path, schema):
    folder = write(tmp_path / "in", examples(schema))
    info = adopt(str(folder))
    bare = trainer.open(str(folder / "*.tfrecord"))
    fields = ("name", "kind", "dtype", "shape", "key", "format", "encoding", "bare")

    assert [feature.name for feature in info.schema] == list(bare.features)
    assert [[getattr(feature, field) for field in fields] for feature in info.schema] == [
        [getattr(bare.features[feature.name], field) for field in fields] for feature in info.schema
    ]
    described = trainer.open(folder)
    for one, other in zip(described.numpy("train"), bare.numpy("train"), strict=True):
        assert one.keys() == other.keys()
        for name in (feature.name for feature in info.schema):
            np.testing.assert_array_equal(one[name], other[name])


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


@pytest.fixture(scope="module")
def tfds():
    import tensorflow_datasets

    return tensorflow_datasets


@tfds_warns
def test_a_directory_that_tfds_prepared(tfds, tmp_path, digests):
    class Pets(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("2.1.0")
        code_path = None  # TFDS would search for it with a package that it does not require

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
                image = np.random.default_rng(number).integers(0, 256, (12, 16, 3), np.uint8)
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
    assert taken_for(info) == {
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

    built = build_verified(directory, tmp_path / "built")
    assert Counter(stored(built)) == Counter(stored(info))
    assert {*built.splits} == {"train", "test"}


@tfds_warns
@pytest.mark.parametrize(
    "name", first_in_ci(["pets_train.record-{:05d}-of-00003", "train_{:05d}.tfrecord"])
)
def test_tfds_reads_what_was_adopted(tfds, tmp_path, name):
    names = [name.format(number) for number in range(3)]
    folder = tmp_path / "pets"
    folder.mkdir()
    payloads = examples("boxes")
    for number, each in enumerate(names):
        write(folder, payloads[number :: len(names)], name=each, files=1)
    adopt(str(folder))

    builder = tfds.builder_from_directory(str(folder))
    assert builder.info.splits["train"].num_examples == len(payloads)
    read = list(tfds.as_numpy(builder.as_dataset(split="train", shuffle_files=False)))
    ours = list(trainer.open(folder).numpy("train", image_dtype="uint8"))
    for one, other in zip(ours, read, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])
