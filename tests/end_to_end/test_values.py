"""Records of every kind of value are written, read with TFDS and the trainer, and verified."""

from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow.parquet
import pytest
from file_bytes import array_bytes, sound_bytes

import beam_pipeline
import trainer
from beam_pipeline.cli import commands
from beam_pipeline.pipeline import build
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    RawFile,
    Record,
)

# TFDS 4.9 calls what protobuf 6 warns of.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

COUNT = 12
RAW_DTYPES = (
    "bool",
    "uint8",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


def sound(number):
    """16-bit mono WAV of 8 kHz, another length for each."""
    return sound_bytes((np.arange(100 + number) * 10).astype(np.int16), "WAV")


def raw(dtype, number):
    """More values than are stored as a list."""
    return (np.arange(300).reshape(20, 15) % (number + 2)).astype(dtype)


def inline(values):
    values = np.asarray(values)
    return Array(dtype=values.dtype.name, shape=values.shape, data=values.tobytes())


def rows(number):
    return np.arange(4.0 * (number % 3), dtype=np.float32).reshape(-1, 4)


def features(folder, write_image, number):
    def file(name, data):
        path = folder / f"{number}.{name}"
        path.write_bytes(data)
        return FileRef(path=str(path))

    def npy(name, values):
        return Array(file=file(name, array_bytes(values)))

    image = write_image(folder / f"{number}.png", seed=number)
    return {
        "image": Image(file=FileRef(path=str(image))),
        "audio": Audio(file=file("wav", sound(number))),
        "label": ClassLabel("ab"[number % 2]),
        "topics": ClassLabels(tuple("xyz"[: number % 4])),
        "age": number,
        "weight": number / 4,
        "caption": f"caption {number}",
        "words": tuple(f"caption {number}".split()[: number % 3]),
        "blob": RawFile(file=file("bin", bytes([number, 255]))),
        "vector": inline(np.arange(5, dtype=np.float32) + number),
        "grid": inline(np.arange(6).reshape(2, 3) * number),
        "tokens": inline(np.arange(number)),
        "rows": inline(rows(number)),
        **{f"raw_{dtype}": npy(f"{dtype}.npy", raw(dtype, number)) for dtype in RAW_DTYPES},
    }


@pytest.fixture(scope="module")
def records(tmp_path_factory, write_image):
    folder = tmp_path_factory.mktemp("input")
    return [
        Record(key=f"{number:02d}", features=features(folder, write_image, number))
        for number in range(COUNT)
    ]


def built(records, folder):
    config = beam_pipeline.BuildConfig(output=str(folder), name="values", num_shards=2)
    return build(config, source=beam.Create(records))


@pytest.fixture(scope="module")
def info(tmp_path_factory, records):
    return built(records, tmp_path_factory.mktemp("values"))


def test_the_schema(info):
    found = {each.name: (each.kind, each.dtype, each.shape, each.encoding) for each in info.schema}
    assert found == {
        "image": ("image", "uint8", (9, 12, 3), ""),
        "audio": ("audio", "float32", (None, 1), ""),
        "label": ("class_label", "int64", (), ""),
        "topics": ("class_label", "int64", (None,), ""),
        "age": ("scalar", "int64", (), ""),
        "weight": ("scalar", "float32", (), ""),
        "caption": ("text", "string", (), ""),
        "words": ("sequence", "string", (None,), ""),
        "blob": ("bytes", "string", (), ""),
        "vector": ("tensor", "float32", (5,), ""),
        "grid": ("tensor", "int64", (2, 3), ""),
        "tokens": ("sequence", "int64", (None,), ""),
        "rows": ("sequence", "float32", (None, 4), ""),
        **{f"raw_{dtype}": ("tensor", dtype, (20, 15), "bytes") for dtype in RAW_DTYPES},
    }


def test_tfds_reads_every_kind(info):
    import tensorflow_datasets

    builder = tensorflow_datasets.builder_from_directory(info.path)
    seen = list(tensorflow_datasets.as_numpy(builder.as_dataset(split="train")))
    assert builder.info.features["topics/label"].feature.names == ["x", "y", "z"]
    assert len(seen) == COUNT
    for each in seen:
        number = int(each["image/filename"])
        assert each["audio/encoded"] == sound(number)
        assert each["audio/num_samples"] == 100 + number
        assert each["topics/label"].tolist() == list(range(number % 4))
        assert each["topics/text"].tolist() == [name.encode() for name in "xyz"[: number % 4]]
        assert each["blob"] == bytes([number, 255])
        assert each["words"].shape == (number % 3,) if number % 3 < 2 else (2,)
        assert each["vector"].tolist() == [number + i for i in range(5)]
        assert (each["grid"] == np.arange(6).reshape(2, 3) * number).all()
        assert each["tokens"].tolist() == list(range(number))
        assert (each["rows"] == rows(number)).all()
        for dtype in set(RAW_DTYPES) - {"uint32"}:
            assert each[f"raw_{dtype}"].dtype == dtype
            assert (each[f"raw_{dtype}"] == raw(dtype, number)).all()
        assert each["raw_uint32"] == raw("uint32", number).tobytes()  # decode_raw has no uint32


def test_the_trainer_reads_every_kind(info):
    seen = list(trainer.open(info.path).numpy("train"))
    assert sorted(int(each["age"]) for each in seen) == list(range(COUNT))
    for each in seen:
        number = int(each["age"])
        expected = np.frombuffer(sound(number)[44:], "<i2")[:, None] / np.float32(2**15)
        assert (each["audio"] == expected).all()
        assert each["label"] == number % 2
        assert list(each["topics"]) == list(range(number % 4))
        assert each["caption"] == f"caption {number}".encode()
        assert list(each["words"]) == [
            w.encode() for w in f"caption {number}".split()[: number % 3]
        ]
        assert each["blob"] == bytes([number, 255])
        assert (each["vector"] == number + np.arange(5)).all()
        assert (each["grid"] == np.arange(6).reshape(2, 3) * number).all()
        assert (each["tokens"] == np.arange(number)).all()
        assert each["rows"].shape == rows(number).shape
        assert (each["rows"] == rows(number)).all()
        for dtype in RAW_DTYPES:
            assert each[f"raw_{dtype}"].dtype == dtype
            assert (each[f"raw_{dtype}"] == raw(dtype, number)).all()


def test_the_index_has_facts_of_every_kind(info):
    tables = [
        pyarrow.parquet.read_table(path).to_pylist()
        for path in sorted(Path(info.path, "index").glob("*.parquet"))
    ]
    found = {int(row["key"]): row for table in tables for row in table}
    assert len(found) == COUNT
    row = found[7]
    assert (row["audio_num_samples"], row["audio_sample_rate"], row["audio_channels"]) == (
        107,
        8000,
        1,
    )
    assert (row["tokens_length"], row["rows_length"], row["words_length"]) == (7, 1, 1)
    assert row["labels"] == ["b", "x", "y", "z"]
    assert (row["age"], row["weight"], row["caption"]) == (7, 1.75, "caption 7")
    assert {"blob", "vector", "tokens", "raw_uint8"}.isdisjoint(row)
    for name in ("audio", "blob", "raw_uint8", "tokens", "vector"):
        assert len({each[f"{name}_sha256"] for each in found.values()}) > 5, name


def test_all_is_well(info):
    assert beam_pipeline.verify(info) == []


def test_show(info, capsys):
    assert commands.main(["show", info.path, "--limit", "1"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:])
    number = int(lines["image/filename"])
    assert lines["audio/encoded"] == (
        f"<{244 + 2 * number} bytes> ({(100 + number) / 8000:.2f} s, 8,000 Hz, 1 channel)"
    )
    assert lines["raw_float64"].endswith(" bytes> (float64 20×15)")
    assert lines["grid"].endswith("] (int64 2×3)")
    assert lines["rows"].endswith(f"] (float32 {number % 3}×4)") or number % 3 == 1
    assert lines["blob"] == "<2 bytes>"


def test_two_builds_are_equal(info, records, tmp_path, digests):
    other = built(records[::-1], tmp_path)
    assert digests(Path(other.path)) == digests(Path(info.path))
