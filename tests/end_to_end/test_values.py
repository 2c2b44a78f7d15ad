"""Records of every kind of value are written, read with TFDS and the trainer, and verified."""

import apache_beam as beam
import numpy as np
import pytest
from file_bytes import array_bytes, sound_bytes

import beam_pipeline
import tfrecord_dataset
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

COUNT = 6
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


def test_every_reader_gets_every_kind(info, readers_agree):
    readers_agree(info)
    seen = list(tfrecord_dataset.open(info.path)["train"])
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
