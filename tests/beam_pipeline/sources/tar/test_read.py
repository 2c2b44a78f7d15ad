"""The members of one name are one record; their extensions say what they are."""

import functools
import io
import itertools
import json
import tarfile

import pytest

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileContent,
    Image,
    Record,
    Rejected,
    file_of,
)
from beam_pipeline.schema.feature import Feature
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.tar import parts, roles
from beam_pipeline.sources.tar.parts import form_of, name_parts
from beam_pipeline.sources.tar.read import ReadTar, is_tar, read_tar
from beam_pipeline.sources.tar.records import record_of_parts
from beam_pipeline.sources.tar.roles import find_roles, merge_seen, seen_in


def write_tar(path, members):
    """Members are content by name; what is no bytes is written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            if not isinstance(content, bytes):
                content = json.dumps(content).encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def write(tmp_path):
    """Writes tars, given as members or bytes by path below the input; returns the input."""

    def run(tars):
        for name, members in tars.items():
            path = tmp_path / "in" / name
            if isinstance(members, bytes):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(members)
            else:
                write_tar(path, members)
        return str(tmp_path / "in")

    return run


@pytest.fixture
def read(write):
    """What `ReadTar` yields of such tars, without Beam: (records by key, rejects by source)."""

    def run(tars, path="", label_column="", ignore_columns=(), classes=(), schema=()):
        files, _ = find_files(f"{write(tars)}/{path}", is_tar)
        entries, elements = [], []
        for each in (each for file in files for each in read_tar(file, schema, ignore_columns)):
            (elements if isinstance(each, Rejected) else entries).append(each)
        seen = merge_seen(seen_in([part]) for _, _, (_, part), _ in entries)
        roles = find_roles(seen, list(filter(None, label_column.split(","))), schema)
        entries.sort(key=lambda entry: entry[:2])
        for key, group in itertools.groupby(entries, key=lambda entry: entry.key):
            members = [entry.value for entry in group]
            elements += record_of_parts(key, members, roles, classes, schema)
        return by_name(elements)

    return run


def by_name(elements):
    records = {each.key: each for each in elements if isinstance(each, Record)}
    rejects = {each.source: each for each in elements if isinstance(each, Rejected)}
    assert len(records) + len(rejects) == len(elements)
    return records, rejects


def content(value):
    file = file_of(value)
    with open(file.path, "rb") as handle:
        return handle.read()[file.offset : file.offset + file.length]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("0.jpg", ("0", "jpg")),
        ("a/b/0.SEG.png", ("a/b/0", "seg.png")),
        ("v1.0/0.jpg", ("v1.0/0", "jpg")),
        ("README", ("README", "")),
        ("0.", ("0", "")),
        (".0.jpg", None),
        ("a/._0.jpg", None),
        ("__meta__.json", None),
        ("__MACOSX/0.jpg", None),
        (".git/config.txt", None),
        ("a/.b/c.txt", None),
    ],
)
def test_name_parts(name, expected):
    assert name_parts(name) == expected


@pytest.mark.parametrize(
    ("extension", "form"),
    [
        ("jpg", "image"),
        ("seg.png", "image"),
        ("flac", "audio"),
        ("mp3", "audio"),
        ("npy", "array"),
        ("cls", "label"),
        ("index", "value"),
        ("id", "value"),
        ("transcript", "text"),
        ("meta.json", "json"),
        ("pyd", "pickled"),
        ("x.pth", "pickled"),
        ("mp4", "bytes"),
        ("jpg.bak", "bytes"),
    ],
)
def test_form_of(extension, form):
    assert form_of(extension) == form


def test_what_is_declared_goes_before_the_extension():
    schema = [
        Feature(name=name, kind=kind, dtype=dtype, shape=(), key=name)
        for name, kind, dtype in (
            ("age", "scalar", "int64"),
            ("jpg", "bytes", "string"),
            ("emb", "tensor", "float32"),
        )
    ]
    forms = [form_of(name, schema) for name in ("age", "age.txt", "jpg", "png", "emb.npy", "emb")]
    assert forms == ["text", "text", "bytes", "image", "array", "text"]


def test_every_kind_of_member(read):
    members = {
        "0.jpg": b"picture",
        "0.seg.png": b"mask",
        "0.cls": b" 3\n",
        "0.color.cls": b"red",
        "0.txt": "ä text".encode(),
        "0.wav": b"sound",
        "0.emb.npy": b"numbers",
        "0.mp4": b"film",
        "0.id": b"17",
        "0.json": {
            "width": 640,
            "score": 0.5,
            "tags": ["a", "b"],
            "point": [1, 2.5],
            "nothing": None,
            "label": "as a column",
            "more": {"a": [1, "b"]},
            "mixed": [[1], [2, 3]],
            "yes": True,
        },
    }
    records, rejects = read({"x.tar": members})
    assert rejects == {}
    features = records["x.tar/0"].features
    media = {
        "image": (Image, b"picture"),
        "seg": (Image, b"mask"),
        "audio": (Audio, b"sound"),
        "emb": (Array, b"numbers"),
        "mp4": (FileContent, b"film"),
    }
    for name, (kind, data) in media.items():
        assert isinstance(features[name], kind)
        assert content(features[name]) == data
    assert {name: value for name, value in features.items() if name not in media} == {
        "label": ClassLabel("3"),
        "color": ClassLabel("red"),
        "txt": "ä text",
        "id": 17,
        "width": 640,
        "score": 0.5,
        "tags": ("a", "b"),
        "point": Array(dtype="float32", shape=(2,), data=b"\0\0\x80?\0\0 @"),
        "nothing": "",
        "json.label": "as a column",
        "more": '{"a": [1, "b"]}',
        "mixed": "[[1], [2, 3]]",
        "yes": 1,
    }


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"0.PNG": b"1"}, {"image"}, id="letter case"),
        pytest.param({"0.rgb.png": b"1"}, {"image"}, id="the only picture"),
        pytest.param({"0.a.png": b"1", "0.b.png": b"2"}, {"a", "b"}, id="no main picture"),
        pytest.param({"0.jpg": b"1", "0.png": b"2"}, {"image", "png"}, id="two main pictures"),
        pytest.param({"0.x.flac": b"1"}, {"audio"}, id="the only sound"),
        pytest.param({"0.npy": b"1"}, {"array"}, id="array"),
        pytest.param({"0.x.npz": b"1"}, {"x"}, id="the only array keeps its name"),
        pytest.param({"0.cls2": b"1"}, {"label"}, id="cls2"),
        pytest.param({"0.cls": b"1", "0.cls2": b"1"}, {"label", "cls2"}, id="cls and cls2"),
        pytest.param({"0.inx": b"1"}, {"label"}, id="inx"),
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
        pytest.param([1, 2], [1, 2], id="int"),
        pytest.param([1, 2.5], [1.0, 2.5], id="float"),
        pytest.param([1, "x"], ["1", "x"], id="text"),
        pytest.param(["x", None], ["x", ""], id="missing text"),
        pytest.param(["x", [1]], ["x", "[1]"], id="list as text"),
        pytest.param([{"a": 1}, 2], ['{"a": 1}', "2"], id="object as text"),
        pytest.param([[], ["a"]], [(), ("a",)], id="lists of texts"),
    ],
)
def test_a_column_is_what_holds_all_of_its_values(read, contents, expected):
    """Over tars, too."""
    tars = {f"{n}.tar": {"0.json": {"x": value}} for n, value in enumerate(contents)}
    records, rejects = read(tars)
    assert rejects == {}
    assert [records[f"{n}.tar/0"].features["x"] for n in range(len(contents))] == expected


def test_labels_by_number_and_in_lists(read):
    members = {"0.cls": b"1", "1.cls": b"cat", "2.cls": b"7"}
    records, _ = read({"x.tar": members}, classes=["ant", "bee", "cat"])
    names = [records[f"x.tar/{n}"].features["label"].name for n in range(3)]
    assert names == ["bee", "cat", "7"]


def test_several_labels_of_a_record(read):
    members = {"0.json": {"label": ["a", "b"]}, "1.json": {"label": []}}
    records, _ = read({"x.tar": members})
    found = [records[f"x.tar/{n}"].features["label"] for n in range(2)]
    assert found == [ClassLabels(("a", "b")), ClassLabels(())]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("kind", {"cls": ClassLabel("1"), "label": ClassLabel("2"), "color": "red"}),
        ("color", {"cls": ClassLabel("1"), "label": ClassLabel("red"), "kind": 2}),
        (
            "kind,color",
            {"cls": ClassLabel("1"), "kind": ClassLabel("2"), "color": ClassLabel("red")},
        ),
    ],
)
def test_labels_that_a_user_names(read, named, expected):
    members = {"0.cls": b"1", "0.json": {"kind": 2, "color": "red"}}
    records, _ = read({"x.tar": members}, label_column=named)
    assert records["x.tar/0"].features == expected


def test_members_of_a_record_may_lie_anywhere_in_its_tar(read):
    members = {"0.jpg": b"0", "1.jpg": b"1", "0.cls": b"7", "1.cls": b"8"}
    records, rejects = read({"x.tar": members, "y.tar": {"0.cls": b"9", "0.jpg": b"2"}})
    assert rejects == {}
    found = {key: each.features["label"].name for key, each in records.items()}
    assert found == {"x.tar/0": "7", "x.tar/1": "8", "y.tar/0": "9"}
    assert content(records["x.tar/1"].features["image"]) == b"1"


@pytest.mark.parametrize(
    ("tars", "path", "expected"),
    [
        pytest.param(["train-0.tar", "val_1.tar"], "", ["train", "val"], id="names"),
        pytest.param(["train/0.tar", "test/0.tar"], "", ["train", "test"], id="folders"),
        pytest.param(["train-0.tar", "other.tar"], "", [None, None], id="not all"),
        pytest.param(["train-0.tar"], "train-0.tar", ["train"], id="one file"),
        pytest.param(["a-0.tar", "a-1.tar"], "a-[01].tar", [None, None], id="pattern"),
    ],
)
def test_splits_and_keys(read, tars, path, expected):
    records, _ = read({name: {"d/0.txt": b"x"} for name in tars}, path)
    assert {key: each.split for key, each in records.items()} == {
        f"{name}/d/0": split for name, split in zip(tars, expected, strict=True)
    }


@pytest.mark.parametrize(
    ("members", "reason", "detail"),
    [
        pytest.param(
            [("0.txt", b"1"), ("0.txt", b"2")],
            "two members of one name",
            ".txt is there 2 times",
            id="twice",
        ),
        pytest.param(
            [("0.txt", b"1"), ("0.TXT", b"2")], "two members of one name", ".txt", id="letter case"
        ),
        pytest.param([("0.txt", b"\xff")], "not UTF-8", "'0.txt'", id="not UTF-8"),
        pytest.param([("0.json", b"{")], "malformed annotation", "not JSON", id="JSON"),
        pytest.param([("0.json", b"[" * 9999)], "malformed annotation", "not JSON", id="deep JSON"),
        pytest.param([("0.json", b'{"a": "\\ud800"}')], "not UTF-8", "'0.json'", id="surrogate"),
        pytest.param([("0.cls", b" ")], "missing value", "label", id="empty class"),
        pytest.param([("0.id", b"")], "missing value", "'id'", id="empty number"),
        pytest.param([("0.pyd", b"1")], "pickled member", "'0.pyd'", id="pickle"),
        pytest.param([("0.x.pkl", b"1")], "pickled member", "run a program", id="pkl"),
        pytest.param([("0.jpg", None)], "missing value", "--ignore-columns jpg", id="no picture"),
        pytest.param([("0.cls", None)], "missing value", "no label", id="no class"),
        pytest.param([("0.json", None)], "missing value", "'n'", id="no number"),
        pytest.param([("0.json", b'{"n": null}')], "missing value", "'n'", id="null"),
    ],
)
def test_rejected_records(read, members, reason, detail):
    good = {"jpg": b"1", "cls": b"1", "id": b"1", "txt": b"1", "json": b'{"n": 1}'}
    changed = {name for name, _ in members}
    rest = [(f"0.{name}", data) for name, data in good.items() if f"0.{name}" not in changed]
    bad = rest + [(name, data) for name, data in members if data is not None]
    tar = [(f"good.{name}", data) for name, data in good.items()]
    records, rejects = read({"x.tar": tar + bad})
    assert list(records) == ["x.tar/good"]
    assert (rejects["x.tar/0"].reason, rejects["x.tar/0"].bad) == (reason, True)
    assert detail in rejects["x.tar/0"].detail


def test_a_text_that_is_too_large(read, monkeypatch):
    monkeypatch.setattr(parts, "_MAX_READ_BYTES", 10)
    records, rejects = read({"x.tar": {"0.txt": b"1" * 10, "1.txt": b"1" * 11}})
    assert list(records) == ["x.tar/0"]
    assert rejects["x.tar/1"].reason == "text too large"


def test_the_transform(write, read, run_transform):
    """Yields the same, and what lies beside the tars."""
    tars = {
        f"{n}.tar": {f"{k}.{end}": b"%d" % (n * k) for k in range(40) for end in ("jpg", "cls")}
        | {f"{k}.json": {"x": k, "label": "left"} for k in range(40)}
        for n in range(3)
    }
    expected = read(tars)
    assert len(expected[0]) == 120
    found = by_name(run_transform(ReadTar(write({"notes.txt": b""}))))
    assert found[0] == expected[0]
    assert [(each.source, each.reason, each.bad) for each in found[1].values()] == [
        ("notes.txt", "not a tar file", False)
    ]


@pytest.mark.parametrize("schema", ["", "declared"])
def test_numbers_that_are_missing_may_be_stored(write, run_transform, schema):
    declared = Feature(name="age", kind="scalar", dtype="float32", shape=(), key="age")
    tars = {"x.tar": {"0.json": {"age": 3, "n": 1}, "1.json": {"age": None, "n": 1}}}
    read = functools.partial(ReadTar, write(tars), schema=(declared,) if schema else ())

    assert by_name(run_transform(read()))[1].keys() == {"x.tar/1"}
    records, rejects = by_name(run_transform(read(missing_number=-1.0)))

    assert rejects == {}
    assert [records[key].features["age"] for key in sorted(records)] == [3, -1.0]


def test_members_without_extension(read):
    records, rejects = read(
        {"x.tar": {"0.txt": b"1", "README": b"", "__meta__.json": b"", ".0.txt": b""}}
    )
    assert list(records) == ["x.tar/0"]
    assert {(each.source, each.reason, each.bad) for each in rejects.values()} == {
        ("x.tar/README", "no extension", False)
    }


def test_a_link_costs_its_record_and_a_way_out_itself(read, tmp_path):
    path = write_tar(tmp_path / "in/x.tar", {"0.txt": b"0", "1.txt": b"1", "../2.txt": b"2"})
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("1.cls")
        info.type, info.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(info)
    records, rejects = read({})
    assert list(records) == ["x.tar/0"]
    assert {each.source: each.reason for each in rejects.values()} == {
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
    assert {each.source: (each.reason, each.bad) for each in rejects.values()} == {
        "cut.tar": ("truncated file", True),
        "no.tar": ("damaged archive", True),
        "gz.tar.gz": ("compressed archive", True),
        "empty.tar": ("empty archive", True),
    }


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tgz", "x.TAR.zst", "x.txz"])
def test_compressed_tars_alone(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=r"no byte range .* decompress it"):
        ReadTar(str(tmp_path)).expand(None)


SCHEMA = (
    Feature(name="image", kind="image", dtype="uint8", shape=(None, None, 3), key="image/encoded"),
    Feature(
        name="label", kind="class_label", dtype="int64", shape=(), key="l", classes=("ant", "bee")
    ),
    Feature(name="age", kind="scalar", dtype="float32", shape=(), key="age"),
    Feature(name="box", kind="tensor", dtype="int64", shape=(2,), key="box"),
    Feature(name="raw", kind="bytes", dtype="string", shape=(), key="raw"),
)
FITTING = {
    "jpg": b"picture",
    "cls": b"1",
    "age": b"7",
    "box": b"1 2",
    "raw.json": b"[1]",
    "json": b'{"not": "read"}',
}


def test_a_declared_schema(read):
    members = {f"0.{extension}": data for extension, data in FITTING.items()}
    members["0.raw.bin"] = b"any"
    del members["0.raw.json"]
    records, rejects = read({"x.tar": members}, schema=SCHEMA)
    assert rejects == {}
    features = records["x.tar/0"].features
    assert content(features["image"]) == b"picture"
    assert isinstance(features["raw"], FileContent)
    assert content(features["raw"]) == b"any"
    assert features["label"] == ClassLabel("bee")
    assert (features["age"], type(features["age"])) == (7.0, float)
    assert (features["box"].shape, features["box"].dtype) == ((2,), "int64")
    assert len(features) == 5


def test_a_declared_schema_finds_its_values_in_json(read):
    members = {"0.json": {"age": 3, "box": [4, 5], "label": "ant"}, "0.raw": b"1", "0.jpg": b"1"}
    records, rejects = read({"x.tar": members}, schema=SCHEMA)
    assert rejects == {}
    features = records["x.tar/0"].features
    assert (features["age"], features["label"]) == (3.0, ClassLabel("ant"))


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        pytest.param({"age": b"old"}, "'age' is 'old'", id="number"),
        pytest.param({"cls": b"2"}, "class of ant, bee", id="class"),
        pytest.param({"box": b"1 2 3"}, "list of 2", id="shape"),
        pytest.param({"age": None}, "there is no .age", id="missing"),
        pytest.param({"jpg": None}, "there is no .jpg", id="no picture"),
    ],
)
def test_what_does_not_fit_the_schema(read, changes, detail):
    good = {f"good.{name}": data for name, data in FITTING.items()}
    good["good.raw.bin"] = b""
    bad = {f"0.{name}": data for name, data in (FITTING | changes).items() if data is not None}
    bad["0.raw.bin"] = b""
    tar = {name: data for name, data in (good | bad).items() if "raw.json" not in name}
    records, rejects = read({"x.tar": tar}, schema=SCHEMA)
    assert list(records) == ["x.tar/good"]
    assert rejects["x.tar/0"].reason == "does not fit the schema"
    assert detail in rejects["x.tar/0"].detail


@pytest.mark.parametrize(
    ("members", "options", "error"),
    [
        pytest.param(
            {"0.txt": b""}, {"schema": SCHEMA}, r"declares 'image' \(image\)", id="schema"
        ),
        pytest.param({"0.txt": b""}, {"label_column": "cls"}, "--label-column 'cls'", id="label"),
        pytest.param(
            {"0.x.txt": b"", "0.x.cls": b"1"}, {}, "both make the feature 'x'", id="twice"
        ),
    ],
)
def test_what_cannot_be_told(read, members, options, error):
    with pytest.raises(ConfigError, match=error):
        read({"x.tar": members}, **options)


def test_ignored_columns(read):
    members = {"0.txt": b"1", "0.mp4": b"2", "0.json": {"a": 1, "b": 2}}
    records, _ = read({"x.tar": members}, ignore_columns=["mp4", "b"])
    assert records["x.tar/0"].features == {"txt": "1", "a": 1}


def test_names_with_dots_are_told_of_before_they_fill_the_memory(read, monkeypatch):
    monkeypatch.setattr(roles, "_MAX_SEEN", 50)
    with pytest.raises(DataError, match=r"more than 50 extensions.*first dot"):
        read({"x.tar": {f"image.{n:04d}.jpg": b"1" for n in range(60)}})
