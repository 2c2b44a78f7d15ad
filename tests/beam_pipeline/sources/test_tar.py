"""Members of a tar with one name are one record; bad members lose only their record or the rest."""

import io
import json
import pickle
import tarfile

import pytest
from eager_runner import yielded
from file_bytes import tar_bytes

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.records import Deferred, FileRef
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.tables.usual_columns import ValueOptions
from beam_pipeline.sources.tar import member_records, member_values
from beam_pipeline.sources.tar.member_values import name_parts
from beam_pipeline.sources.tar.read_tar import ReadTar, read_tar
from beam_pipeline.sources.tree import InputFile


def write_tar(path, members):
    """Write a tar of (name, content); content other than bytes is written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = [
        (name, data if isinstance(data, bytes) else json.dumps(data).encode())
        for name, data in members.items()
    ]
    path.write_bytes(tar_bytes(pairs))
    return path


@pytest.fixture
def read(by_name, tmp_path):
    """Run `ReadTar` on tars, as members or bytes by path; return (records by key, rejects)."""

    def run(tars, **options):
        for name, members in tars.items():
            path = tmp_path / "in" / name
            if isinstance(members, bytes):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(members)
            else:
                write_tar(path, members)
        return by_name(yielded(ReadTar(str(tmp_path / "in"), **options)))

    return run


NAMES = """
0.jpg -> 0 jpg
a/b/0.SEG.png -> a/b/0 seg.png
v1.0/0.jpg -> v1.0/0 jpg
README -> README
0. -> 0
"""


@pytest.mark.parametrize("row", NAMES.strip().splitlines())
def test_name_parts(row):
    name, parts = row.split(" -> ")
    assert name_parts(name) == tuple((*parts.split(), "")[:2])


def test_names_that_are_not_data():
    names = ".0.jpg a/._0.jpg __meta__.json __MACOSX/0.jpg .git/config.txt a/.b/c.t"
    assert [*filter(name_parts, names.split())] == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"0.PNG": b"1"}, {"image"}, id="letter case"),
        pytest.param({"0.rgb.png": b"1"}, {"image"}, id="the only image"),
        pytest.param({"0.a.png": b"1", "0.b.png": b"2"}, {"a", "b"}, id="no main image"),
        pytest.param({"0.jpg": b"1", "0.png": b"2"}, {"image", "png"}, id="two main images"),
        pytest.param({"0.x.flac": b"1"}, {"audio"}, id="the only sound"),
        pytest.param({"0.npy": b"1"}, {"array"}, id="array"),
        pytest.param({"0.x.npz": b"1"}, {"x"}, id="the only array keeps its name"),
        pytest.param({"0.cls2": b"1"}, {"label"}, id="cls2"),
        pytest.param({"0.cls": b"1", "0.cls2": b"1"}, {"label", "cls2"}, id="cls and cls2"),
        pytest.param({"0.inx": b"1"}, {"label"}, id="inx"),
        pytest.param({"0.x.mp3": b"1", "0.transcript": b"1"}, {"audio", "transcript"}, id="speech"),
        pytest.param({"0.jpg.bak": b"1"}, {"jpg"}, id="bytes"),
        pytest.param({"0.index": b"1", "0.cls": b"1"}, {"label", "index"}, id="index beside cls"),
        pytest.param({"0.json": {"Category": 1}}, {"label"}, id="a class in JSON"),
        pytest.param({"0.json": {"label": 0.5}}, {"label"}, id="a target in JSON"),
        pytest.param({"0.json": [1, 2]}, {"json"}, id="JSON that is no object"),
        pytest.param(
            {"0.a.json": {"x": 1}, "0.b.json": {"x": 2}}, {"a.x", "b.x"}, id="two JSON files"
        ),
        pytest.param({"0.meta.json": {"x": 1}}, {"x"}, id="the only JSON file"),
        pytest.param({"0.txt": b"1", "0.json": {"txt": 1}}, {"txt", "json.txt"}, id="a name twice"),
    ],
)
def test_features(read, members, expected):
    records, rejects = read({"x.tar": members})
    assert rejects == {}
    assert records["x.tar/0"].features.keys() == expected


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param([1, 2.5], [1.0, 2.5], id="float"),
        pytest.param(["x", None], ["x", ""], id="missing text"),
        pytest.param(["x", [1]], ["x", "[1]"], id="list as text"),
        pytest.param([{"a": 1}, 2], ['{"a": 1}', "2"], id="object as text"),
        pytest.param([[], ["a"]], [(), ("a",)], id="lists of texts"),
    ],
)
def test_a_column_is_what_holds_all_of_its_values(read, contents, expected):
    """This also holds across tars."""
    tars = {f"{n}.tar": {"0.json": {"x": value}} for n, value in enumerate(contents)}
    records, rejects = read(tars)
    assert rejects == {}
    assert [records[f"{n}.tar/0"].features["x"] for n in range(len(contents))] == expected


def test_bounds(read, monkeypatch):
    monkeypatch.setattr(member_values, "_MAX_READ_BYTES", 99_999)
    members = {"0.json": b"[" * 99_999, "1.json": {"n": 1}, "2.json": b" " * 100_000}
    records, rejects = read({"x.tar": members})
    assert list(records) == ["x.tar/1"]
    assert rejects["x.tar/0"].reason == "malformed annotation"
    assert rejects["x.tar/2"].reason == "text too large"


def test_members_are_listed_without_their_content(tmp_path, monkeypatch):
    """One worker lists a tar, so it reads headers; all workers read what these refer to."""
    path = write_tar(tmp_path / "a.tar", {f"{n}.jpg": bytes(1 << 18) for n in range(20)})
    numbers = []

    class Reader(io.FileIO):
        def readinto(self, buffer):
            number = super().readinto(buffer)
            numbers.append(number)
            return number

    monkeypatch.setattr(LOCAL, "open_reader", Reader)
    entries = [*read_tar(InputFile(path=str(path), relative="a.tar", split=None), ValueOptions())]
    assert len(entries) == 20
    assert sum(numbers) < 20 * 2048 + (64 << 10) < path.stat().st_size / 20
    for file, part in (entry.value for entry in entries):
        reference = FileRef(path=file.path, offset=part.offset, length=part.length)
        assert storage.read_bytes(reference) == bytes(1 << 18)


def test_a_link_costs_its_record_and_a_way_out_itself(read, tmp_path):
    path = write_tar(tmp_path / "in/x.tar", {"0.txt": b"0", "1.txt": b"1", "../2.txt": b"2"})
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("1.cls")
        info.type, info.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(info)
    records, rejects = read({})
    assert list(records) == ["x.tar/0"]
    assert {reject.source: reject.reason for reject in rejects.values()} == {
        "x.tar/1": "unsupported member",
        "x.tar/../2.txt": "unsafe path",
    }


def test_damaged_tars_give_what_is_before_the_damage(read, tmp_path):
    whole = write_tar(tmp_path / "whole.tar", {f"{n}.txt": b"x" * 600 for n in range(4)})
    data = whole.read_bytes()
    records, rejects = read(
        {"cut.tar": data[:4000], "no.tar": b"no tar" * 200, "gz.tar.gz": b"\x1f\x8b123"}
        | {"empty.tar": b"", "good.tar": {"0.txt": b"1"}}
    )
    assert records.keys() == {"good.tar/0", "cut.tar/0", "cut.tar/1"}
    assert {reject.source: (reject.reason, reject.bad) for reject in rejects.values()} == {
        "cut.tar": ("truncated file", True),
        "no.tar": ("damaged archive", True),
        "gz.tar.gz": ("compressed archive", True),
        "empty.tar": ("empty archive", True),
    }


def test_names_with_dots_are_reported_before_they_fill_the_memory(read, monkeypatch):
    monkeypatch.setattr(member_records, "_MAX_NAMES", 50)
    with pytest.raises(DataError, match=r"more than 50 extensions.*first dot"):
        read({"x.tar": {f"image.{n:04d}.jpg": b"1" for n in range(60)}})


TEXT = "wörds and words\n" * 900
MEMBERS = {
    f"{number}.{extension}": content
    for number in range(2)
    for extension, content in {
        "txt": b"\xef\xbb\xbf" + TEXT.encode() * (number + 1),
        "cls": b"1",
        "json": {
            "age": number,
            "caption": TEXT,
            "vector": [each / 7 for each in range(199)],
            "tags": ["ä", TEXT],
            "deep": [{"a": [TEXT]}],
        },
        "list.json": [*range(900)],
    }.items()
}
LONG = {"caption", "vector", "tags", "deep", "list."}
SCHEMA = {
    "txt": "text",
    "caption": "text",
    "vector": {"kind": "sequence", "dtype": "float32", "shape": [None]},
    "tags": {"kind": "class_label", "shape": [None]},
}


@pytest.mark.parametrize("schema", [{}, SCHEMA])
@pytest.mark.parametrize("label_column", ["", "txt"])
def test_long_values_are_read_from_the_tar(read, monkeypatch, schema, label_column):
    options = {"schema": parse_schema(schema) if schema else (), "label_column": label_column}
    monkeypatch.setattr(member_values, "LONG_VALUE_BYTES", 1 << 40)
    inline, _ = read({"a.tar": MEMBERS}, **options)
    monkeypatch.setattr(member_values, "LONG_VALUE_BYTES", 1 << 10)
    small, _ = read({"a.tar": MEMBERS}, **options)

    assert inline.keys() == small.keys() == {"a.tar/0", "a.tar/1"}
    for key, record in inline.items():
        features = pickle.loads(pickle.dumps(small[key])).features
        deferred = {name for name, feature in features.items() if isinstance(feature, Deferred)}
        assert deferred == ({*SCHEMA} if schema else LONG | {"label" if label_column else "txt"})
        assert not any(isinstance(feature, Deferred) for feature in record.features.values())
        assert record.features == {
            name: feature.read(storage.read_bytes(feature.file)) if name in deferred else feature
            for name, feature in features.items()
        }
        assert len(pickle.dumps(small[key])) < len(pickle.dumps(record)) / 5


def test_a_member_that_is_another_than_before(read, monkeypatch):
    monkeypatch.setattr(member_values, "LONG_VALUE_BYTES", 1 << 10)
    records, _ = read({"a.tar": MEMBERS})
    features = records["a.tar/0"].features
    for name, data in (("txt", b"\xff"), ("caption", b"{}"), ("caption", b"{")):
        with pytest.raises(RecordError, match="malformed annotation"):
            features[name].read(data)
