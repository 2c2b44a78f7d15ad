"""The members of one name are one record; their extensions say what they are."""

import pytest

from beam_pipeline.sources.tar.parts import name_parts

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
    names = [
        ".0.jpg",
        "a/._0.jpg",
        "__meta__.json",
        "__MACOSX/0.jpg",
        ".git/config.txt",
        "a/.b/c.t",
    ]
    assert [*filter(name_parts, names)] == []


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
