"""The members of one name are one record; their extensions say what they are."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, Image, RawFile
from beam_pipeline.sources.tar.parts import form_of, name_parts
from beam_pipeline.sources.tar.read import ReadTar
from tfrecord_dataset.feature import Feature


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


def test_every_kind_of_member(read, content):
    members = {
        "0.jpg": b"image",
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
        "image": (Image, b"image"),
        "seg": (Image, b"mask"),
        "audio": (Audio, b"sound"),
        "emb": (Array, b"numbers"),
        "mp4": (RawFile, b"film"),
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
        pytest.param({"0.rgb.png": b"1"}, {"image"}, id="the only image"),
        pytest.param({"0.a.png": b"1", "0.b.png": b"2"}, {"a", "b"}, id="no main image"),
        pytest.param({"0.jpg": b"1", "0.png": b"2"}, {"image", "png"}, id="two main images"),
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


def test_members_of_a_record_may_lie_anywhere_in_its_tar(read, content):
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


def test_the_transform(write, read, run_transform, by_name):
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


def test_ignored_columns(read):
    members = {"0.txt": b"1", "0.mp4": b"2", "0.json": {"a": 1, "b": 2}}
    records, _ = read({"x.tar": members}, ignore_columns=["mp4", "b"])
    assert records["x.tar/0"].features == {"txt": "1", "a": 1}


def test_a_name_of_ignored_members_alone_is_no_record(read):
    tars = {"x.tar": {"0.txt": b"1", "0.mp4": b"2", "1.mp4": b"3"}, "y.tar": {"2.mp4": b"4"}}
    records, rejects = read(tars, ignore_columns=["mp4"])
    assert (list(records), rejects) == (["x.tar/0"], {})


def test_ignoring_what_is_not_there(read):
    members = {"0.txt": b"1", "0.mp4": b"2", "0.json": {"score": 1}}
    with pytest.raises(ConfigError, match=r"--ignore-columns 'scores' is not .* mean 'score'"):
        read({"x.tar": members}, ignore_columns=["mp4", "scores"])
