"""TFRecord files are recognised by their first bytes, and their splits by their names."""

import gzip
import zlib

import pytest

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.sources.tfrecord.record_files import (
    find_record_files,
    find_shards,
    has_record_name,
    kind_of_file,
    tfds_name,
)
from tfrecord_dataset.format.frames import framed

FILE = framed(b"one") + framed(b"two")
# The first length is 35,615, whose bytes are the magic of gzip.
LIKE_GZIP = framed(bytes(0x8B1F))


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        pytest.param("a", FILE, "plain", id="without a suffix"),
        pytest.param("a", LIKE_GZIP, "plain", id="a length like gzip's magic"),
        pytest.param("a.gz", gzip.compress(FILE), "gzip", id="gzip"),
        pytest.param("a", gzip.compress(FILE), "gzip", id="gzip without a suffix"),
        pytest.param("a.tfrecord", zlib.compress(FILE), "zlib", id="TensorFlow's third way"),
        pytest.param("a", zlib.compress(b"text"), None, id="zlib of something else"),
        pytest.param("a.tfrecord", b"", "plain", id="empty"),
        pytest.param("a.tfrecord.gz", gzip.compress(b""), "gzip", id="gzip of nothing"),
        pytest.param("a.txt", b"", None, id="another empty file"),
        pytest.param("a.gz", gzip.compress(b"text"), None, id="gzip of something else"),
        pytest.param("a.gz", gzip.compress(b""), None, id="gzip of nothing at all"),
        pytest.param("a.tfrecord", b"\x1f\x8b\x08 no gzip", None, id="only gzip's magic"),
        pytest.param("a.tfrecord", b"some text, no TFRecord", None, id="text"),
        pytest.param("a.tfrecord", FILE[:11], None, id="cut off in the header"),
        pytest.param("a.tfrecord", FILE[:15], "plain", id="cut off in the payload"),
    ],
)
def test_content_decides(tmp_path, name, data, expected):
    path = tmp_path / name
    path.write_bytes(data)
    assert kind_of_file(str(path)) == expected


def test_names():
    names = ["a.tfrecord", "a.tfrecords", "a-train.tfrecord-00000-of-00001", "00-224x224.tfrec"]
    names += ["coco_train.record-00000-of-00100", "A.TFRECORD.GZ"]
    others = ["train-00000-of-00010", "recording.wav", "a.tfrecord-00000-of-00001.parquet"]
    others += ["a.tfrecord.idx", "records.txt"]
    assert [name for name in names + others if has_record_name(f"x.tfrecord/{name}")] == names


def test_the_name_that_tfds_gave():
    first, other = "a-train.tfrecord-00000-of-00002", "-test.tfrecord-00000-of-00001"
    assert tfds_name([first, f"a{other}"]) == "a"
    assert tfds_name([first, f"b{other}"]) == tfds_name(["train-00000-of-00002"]) == ""


@pytest.fixture
def folder(tmp_path):
    """Write files by name; return their folder."""

    def write(files):
        for name, data in files.items():
            path = tmp_path / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return str(tmp_path / "in")

    return write


def test_what_a_folder_holds(folder):
    root = folder(
        {
            "train/b.tfrecord": FILE,
            "train/a": gzip.compress(FILE),
            "index/a.parquet": b"PAR1 and so on",
            "broken.tfrecord": b"no TFRecord file",
            ".hidden.tfrecord": FILE,
        }
    )
    files, others = find_record_files(root)

    assert [(file.relative, file.split, file.compressed) for file in files] == [
        ("train/a", "train", True),
        ("train/b.tfrecord", "train", False),
    ]
    assert [(other.source, other.reason, other.bad) for other in others] == [
        ("broken.tfrecord", "not a TFRecord file", True),
        ("index/a.parquet", "not a TFRecord file", False),
    ]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tfrecord", zlib.compress(FILE), r"a\.tfrecord: it is compressed as ZLIB.*as GZIP"),
        ("a.txt", b"text", "no TFRecord file"),
    ],
)
def test_nothing_to_read(folder, name, data, message):
    with pytest.raises(ConfigError, match=message):
        find_record_files(folder({name: data}))


GZIP = gzip.compress(FILE)


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({"a.tfrecord": FILE, "b.tfrecord": b"none"}, DataError, "b.tfrecord: not a TF"),
        ({"a.tfrecord": FILE, "b.tfrecord": GZIP}, ConfigError, "b.tfrecord is gzip, but not a.tf"),
        (
            {"train.tfrecord": FILE, "more.tfrecord": FILE},
            ConfigError,
            "train.tfrecord is named after a split, but not more.tfrecord",
        ),
        (
            {"a/1/a.tfrecord": FILE, "a/1/dataset_info.json": b"{}"},
            ConfigError,
            "a dataset below it, a/1",
        ),
    ],
)
def test_what_cannot_be_one_data_set(folder, files, error, message):
    with pytest.raises(error, match=message):
        find_shards(folder(files))
