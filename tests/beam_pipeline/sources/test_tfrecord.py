"""TFRecord files of other programs: found by their first bytes, read whole, with their schema."""

import gzip
import pickle
import re
import zlib
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest
import yaml
from apache_beam.options.pipeline_options import PipelineOptions
from eager_runner import yielded

import beam_pipeline
from beam_pipeline import tfrecord
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.files import storage
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.records import Record, Rejected
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.layout import Rank
from beam_pipeline.sources.tables import parts
from beam_pipeline.sources.tfrecord.read_tfrecords import (
    ReadTFRecords,
    claim_tfrecords,
    first_records,
    list_records,
    parts_of,
    refuse_conversions,
    with_key_of,
)
from beam_pipeline.sources.tfrecord.record_files import (
    RecordFile,
    find_record_files,
    find_shards,
    has_record_name,
    kind_of_file,
    tfds_name,
)
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed, payload_of

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


GZIP = gzip.compress(FILE)


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({"a.tfrecord": zlib.compress(FILE)}, ConfigError, r"a\.tfrecord: it is comp.*as GZIP"),
        ({"a.txt": b"text"}, ConfigError, "no TFRecord file"),
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


PAYLOADS = [encode({"x": [number]}) for number in range(5)]
WHOLE = b"".join(map(framed, PAYLOADS))


@pytest.fixture
def listed(tmp_path):
    """List the records of a file with given bytes: payloads and rejects."""

    def listing(data, compressed=False):
        path = tmp_path / "a.tfrecord"
        path.write_bytes(gzip.compress(data, mtime=0) if compressed is True else data)
        file = RecordFile(
            path=str(path), relative="in/a.tfrecord", split="train", compressed=bool(compressed)
        )
        found = list(list_records(file, str(tmp_path / "scratch"), {}))
        records = [each for each in found if isinstance(each, Record)]
        assert [record.key for record in records] == [
            f"in/a.tfrecord:{n}" for n in range(len(records))
        ]
        read = [payload_of(storage.read_bytes(record.example)) for record in records]
        return read, [each for each in found if isinstance(each, Rejected)]

    return listing


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("data", "whole", "reason", "detail"),
    [
        (WHOLE[:-3], 4, "truncated file", "record 4, at byte"),
        (WHOLE + b"garbage, many bytes", 5, "damaged file", "record 5, at byte"),
        (b"", 0, "no records", "the file is empty"),
    ],
)
def test_whole_records_are_used(listed, data, whole, reason, detail, compressed):
    assert listed(WHOLE, compressed) == (PAYLOADS, [])
    payloads, (rejected,) = listed(data, compressed)
    assert payloads == PAYLOADS[:whole]
    assert (rejected.source, rejected.reason, rejected.bad) == ("in/a.tfrecord", reason, whole > 0)
    assert detail in rejected.detail


_PACKED = gzip.compress(WHOLE, mtime=0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(_PACKED[:-20], "truncated file", id="cut in the last record"),
        pytest.param(_PACKED[:-4], "truncated file", id="cut in the trailer"),
        pytest.param(_PACKED[:-8] + bytes(8), "damaged file", id="wrong checksum"),
        pytest.param(_PACKED + _PACKED[:-20], "truncated file", id="cut in a second member"),
    ],
)
def test_a_damaged_gzip_stream_is_one_reject(listed, data, reason):
    payloads, (rejected,) = listed(data, compressed="already")
    assert payloads == []
    assert (rejected.source, rejected.reason, rejected.bad) == ("in/a.tfrecord", reason, True)


@hypothesis.settings(max_examples=200, deadline=None)
@hypothesis.given(
    lengths=st.lists(st.integers(0, 60), max_size=12),
    end=st.integers(-40, 0),
    damaged=st.none() | st.integers(0, 400),
    compressed=st.booleans(),
    least=st.integers(1, 100),
)
def test_parts_are_together_the_file(tmp_path_factory, lengths, end, damaged, compressed, least):
    """The same keys, references and rejects, also of truncated and damaged files."""
    folder = tmp_path_factory.mktemp("parts")
    data = bytearray(b"".join(framed(bytes(length)) for length in lengths))[: end or None]
    if damaged is not None and damaged < len(data):
        data[damaged] ^= 1
    (folder / "a").write_bytes(gzip.compress(data, mtime=0) if compressed else data)
    file = RecordFile(path=str(folder / "a"), relative="a", split=None, compressed=compressed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "LEAST_BYTES", least)
        divided = pickle.loads(pickle.dumps(parts_of(file, str(folder))))
    [*whole] = list_records(file, str(folder), {})
    assert [each for part in divided for each in list_records(part, str(folder), {})] == whole
    sizes = [part.part.num_bytes for part in divided[1:]]
    assert all(least <= size for size in sizes), "large enough"
    are_whole = all(isinstance(each, Record) for each in whole)
    assert len(divided) > 1 or not are_whole or len(data) < 2 * (least + 76)


def test_a_job_of_another_runner_reads_parts(tmp_path, monkeypatch, digests):
    monkeypatch.setattr(parts, "LEAST_BYTES", 40)
    (tmp_path / "a.tfrecord").write_bytes(WHOLE)
    spans, starts = tfrecord.spans, []

    def noted(handle, start=0, *others):
        starts.append(start)
        return spans(handle, start, *others)

    monkeypatch.setattr(tfrecord, "spans", noted)
    built = [
        beam_pipeline.build(
            options=PipelineOptions(options),
            input=str(tmp_path / "a.tfrecord"),
            output=f"{tmp_path}/{n}",
        )
        for n, options in enumerate([[], ["--runner=PortableRunner", "--job_endpoint=embed"]])
    ]
    assert digests(built[0].path) == digests(built[1].path)
    assert len({*starts}) > 1


def test_a_folder(tmp_path):
    for number in range(3):
        data = gzip.compress(WHOLE) if number == 2 else WHOLE
        (tmp_path / f"data_{number}.tfrecord").write_bytes(data)
    (tmp_path / "README").write_text("what this is")
    found = yielded(ReadTFRecords(str(tmp_path), str(tmp_path / "scratch")))
    records = [each for each in found if isinstance(each, Record)]

    keys = {f"data_{number}.tfrecord:{record}" for number in range(3) for record in range(5)}
    assert {each.key for each in records} == keys
    assert {each.expected["x"].kind for each in records} == {"int64"}
    assert [each.source for each in found if isinstance(each, Rejected)] == ["README"]


def test_the_first_records_are_of_several_files(tmp_path):
    for number in range(8):
        (tmp_path / f"{number}.tfrecord").write_bytes(framed(b"payload") * 100)
    broken = bytearray(framed(b"payload") * 100)
    broken[13] ^= 1
    (tmp_path / "0.tfrecord").write_bytes(broken)
    sources = [source for source, _ in first_records(find_record_files(str(tmp_path))[0])]

    assert len(sources) == 256
    assert sources[0] == "0.tfrecord:1", "a damaged one is left out"
    assert sources[-1] == "4.tfrecord:0"


def only(entry):
    (feature,) = parse_schema([entry])
    return feature


SIDES = "image/object/bbox/xmin"
# `declared; keys of the first records -> the key to read`, bare unless it has all further keys of
# this project's images.
KEYS = """
{name: image, kind: image}; image -> bare image
{name: image, kind: image, key: image_raw}; image_raw image -> bare image_raw
{name: image, kind: image}; image/encoded image/format -> bare image/encoded
{name: image, kind: image}; OURS -> image/encoded
{name: label, kind: class_label}; image/class/label -> bare image/class/label
{name: label, kind: class_label}; label label/label -> bare label/label
{name: x, kind: scalar, dtype: int64}; x -> bare x
{name: tags, kind: sequence, dtype: string}; x -> bare tags
{name: boxes, kind: boxes}; boxes -> bare boxes flat
{name: boxes, kind: boxes}; SIDES image/object/bbox/ymax -> image/object
{name: boxes, kind: boxes}; SIDES image/object/class/label -> bare image/object
{name: boxes, kind: boxes}; SIDES image/object/class/text -> image/object
{name: boxes, kind: boxes}; SIDES image/object/class/label image/object/class/text -> image/object
"""
OURS = ("encoded", "format", "filename", "source_id", "key/sha256", "height", "width")


@pytest.mark.parametrize("row", KEYS.strip().splitlines())
def test_keys(row):
    entry, keys, expected = re.split("; | -> ", row)
    keys = keys.replace("OURS", " ".join(f"image/{part}" for part in OURS))
    found = with_key_of(only(yaml.safe_load(entry)), keys.replace("SIDES", SIDES).split())
    is_flat = found.encoding == "flat"
    assert f"{'bare ' * found.bare}{found.key}{' flat' * is_flat}" == expected


def test_a_key_that_is_not_there():
    with pytest.raises(ConfigError, match="did you mean 'labels'"):
        with_key_of(only({"name": "label", "kind": "class_label"}), ["image", "labels"])


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ("--image-size", {"image": ImageOptions(size=(8, 8))}),
        ("--image-max-side", {"image": ImageOptions(max_side=8)}),
        ("--image-format", {"image": ImageOptions(format="png")}),
        ("--audio-sample-rate", {"audio": AudioOptions(sample_rate=8000)}),
        ("--audio-mono", {"audio": AudioOptions(mono=True)}),
    ],
)
def test_conversions_are_refused(option, asked):
    with pytest.raises(ConfigError, match=f"{option} converts"):
        refuse_conversions(BuildConfig(input="in", **asked))


@pytest.fixture
def pets(tmp_path):
    """A dataset built from a table."""
    (tmp_path / "pets.csv").write_text("size,label,split\n1,cat,train\n2,dog,train\n3,cat,test\n")
    return beam_pipeline.build(input=str(tmp_path / "pets.csv"), output=str(tmp_path / "data"))


def names_and_classes(info):
    return [(each.name, each.classes) for each in info.schema]


def test_a_dataset_is_read_with_the_features_that_its_build_described(pets, tmp_path):
    beam_pipeline.write_report(pets.path)  # its report.json has "images", as COCO's files

    again = beam_pipeline.build(input=str(tmp_path / "data"), output=str(tmp_path / "again"))

    assert names_and_classes(again) == names_and_classes(pets)
    assert (again.num_records("train"), again.num_records("test")) == (2, 1)
    assert again.metadata["rejected"] == {}
    beam_pipeline.build(input=pets.path, output=str(tmp_path / "data"), version="1.0.1")
    with pytest.raises(ConfigError, match=r"several datasets \(pets/1.0.0, pets/1.0.1\); name one"):
        beam_pipeline.plan(input=str(tmp_path / "data"))


def test_a_damaged_file_of_a_dataset_is_rejected(pets, tmp_path):
    (Path(pets.path) / "damaged.tfrecord").write_bytes(b"no TFRecord file")
    again = beam_pipeline.build(
        input=pets.path, output=str(tmp_path / "again"), max_bad_fraction=0.5
    )
    assert again.metadata["rejected"]["not a TFRecord file"] >= 1


def test_a_dataset_below_other_data_is_not_what_is_read(pets, tmp_path):
    (tmp_path / "data/cats.csv").write_text("size,label\n1,cat\n2,dog\n")
    tree = Tree.of(str(tmp_path / "data"))
    claim = claim_tfrecords(tree, BuildConfig(input=str(tmp_path / "data")))
    assert claim.rank < Rank.DATASET


def test_adopted_files_are_read_with_their_features(tmp_path):
    (tmp_path / "in").mkdir()
    for split in ("test", "train"):  # not usual names of TFRecord files
        data = b"".join(framed(encode({"label": [number % 2]})) for number in range(4))
        (tmp_path / f"in/{split}-00000-of-00001").write_bytes(data)
    adopted = beam_pipeline.adopt(tmp_path / "in", classes=("cat", "dog"))
    again = beam_pipeline.build(
        input=str(tmp_path / "in"), output=str(tmp_path / "out"), leaks="warn"
    )
    assert names_and_classes(again) == names_and_classes(adopted)
    assert sum(map(again.num_records, again.splits)) == 8
