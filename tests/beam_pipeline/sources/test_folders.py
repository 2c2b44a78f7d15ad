"""Class folders: their roles, path patterns, links and remote folders."""

import re
from pathlib import Path

import pytest
from eager_runner import yielded
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.folders.pattern import parse_pattern
from beam_pipeline.sources.folders.read_folders import ReadClassFolders
from beam_pipeline.sources.folders.structure import main_structure, merged, structures


def structure_of(paths):
    folders = [(folder, [name]) for folder, _, name in (path.rpartition("/") for path in paths)]
    found = structures(folders)
    assert merged(structures([each]) for each in folders) == found
    return main_structure(found)


# Files | whether their first folders are splits | class folders.
TREES = """
cat/1.jpg dog/1.jpg | False | cat dog
left/1.jpg right/1.jpg | False | left right
2019/1.jpg 2020/1.jpg | False | 2019 2020
run/v1/0.jpg walk/v2/0.jpg | False | run walk
cat/1.jpg masks/1.jpg | False | cat
train/cat/1.jpg test/dog/1.jpg | True | cat dog
train/1.jpg test/1.jpg | True |
train/cat/1.jpg test/1.jpg | True | cat
1.jpg 2.jpg | False |
"""


@pytest.mark.parametrize("row", TREES.strip().splitlines())
def test_splits_and_classes(row):
    paths, in_splits, classes = row.split("|")
    structure = structure_of(paths.split())
    assert (str(structure.in_splits), structure.classes) == (in_splits.strip(), {*classes.split()})


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("{label}_{speaker}_{index}", "7_theo_3.wav", ("7", "theo", "3")),
        ("{label}_{speaker}_{index}", "a/b/7_theo_3.wav", ("7", "theo", "3")),
        ("{label}_{speaker}_{index}", "7_theo_big_3.wav", ("7", "theo", "big_3")),
        ("{label}_{speaker}_{index}", "7_theo.wav", None),
        ("{label}_{speaker}_{index}", "7__3.wav", None),
        ("{a}", "x.y.jpg", ("x.y",)),
        ("{a}.{b}", "x.y.jpg", ("x", "y")),
        ("{label}/{_}", "cat/1.jpg", ("cat",)),
        ("{label}/{_}", "cat/in/1.jpg", None),
        ("{label}/{_}", "1.jpg", None),
        ("{_}/{label}-{_}", "x/cat-1.jpg", ("cat",)),
        ("img_{n}", "img_12.jpg", ("12",)),
        ("img_{n}", "IMG_12.jpg", None),
        ("a+({n})", "a+(5).jpg", ("5",)),
        ("{{{n}}}", "{5}.jpg", ("5",)),
        ("{größe} {n}", "klein 2.jpg", ("klein", "2")),
        ("{n}", "a\nb.jpg", ("a\nb",)),
        ("{a}{b}", "xyz.jpg", ("x", "yz")),
        ("{a}-{b}-z", "x-y-z-z.jpg", ("x", "y-z")),
        ("{a}aa{b}", "xaaaa.jpg", ("x", "aa")),
        ("{label}/**/{_}", "cat/1.jpg", ("cat",)),
        ("{label}/**/{_}", "cat/a/b/1.jpg", ("cat",)),
        ("**/{label}/{_}", "a/b/cat/1.jpg", ("cat",)),
        ("**/x/**/{n}", "a/x/b/x/1.jpg", ("1",)),
        ("**/x/**/{n}", "a/b/1.jpg", None),
    ],
)
def test_match(pattern, path, found):
    assert parse_pattern(pattern).match(path) == found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        *((text, "it has no names; write it as") for text in ("", "*.wav", "{_}")),
        ("{a}_{b}_{a}", "{a} occurs twice"),
        *((f"{{{name}}}_{{n}}", f"{{{name}}} is what the") for name in ("image", "audio", "boxes")),
        *((f"{{{name}}}", f"{{{name}}} is not a name") for name in ("", "0", "a-b", "a b", "n.x")),
        ("{n:d}", "{n} is not a name"),
        ("{n!r}", "{n} is not a name"),
        ("{n", "cannot be used: expected '}'"),
        ("n}", "cannot be used: Single '}'"),
    ],
)
def test_what_is_not_a_pattern(pattern, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse_pattern(pattern)


def test_a_pattern_never_goes_back():
    names = "".join(f"{{{letter}}}_" for letter in "abcdefghijklmnop")
    assert parse_pattern(f"{names}x").match("_" * 4000 + ".jpg") is None
    folders = "**/{a}/" + "**/{_}/" * 8 + "x"
    assert parse_pattern(folders).match("a/" * 2000 + "y.jpg") is None


PIECES = st.lists(st.sampled_from(["{}", "a", "b", "/"]), max_size=3)


@settings(deadline=None)
@given(PIECES, PIECES, PIECES, st.text("ab/", max_size=9))
def test_a_pattern_finds_what_its_regular_expression_does(one, two, three, path):
    pieces = [*one, "{}", *two, "/", *three]
    named = [piece.replace("{}", f"{{n{number}}}") for number, piece in enumerate(pieces)]
    expression = "".join("([^/]+?)" if piece == "{}" else piece for piece in pieces)
    found = re.fullmatch(expression, path)
    assert parse_pattern("".join(named)).match(f"{path}.jpg") == (found and found.groups())


def test_a_relative_root_gives_absolute_paths(make_tree, monkeypatch):
    root = make_tree({"cat/1.jpg": ""})
    monkeypatch.chdir(root)
    (record,) = yielded(ReadClassFolders(".", one_class=True))
    assert (record.key, record.features["image"].file.path) == ("cat/1.jpg", f"{root}/cat/1.jpg")


def test_links_are_followed_but_not_back_up(make_tree):
    root = Path(make_tree({"cat/1.jpg": "", "dog/2.jpg": ""}))
    (root / "cat/all").symlink_to(root)
    (root / "bird").symlink_to(root / "dog")
    elements = yielded(ReadClassFolders(str(root)))
    assert {record.key for record in elements} == {"cat/1.jpg", "dog/2.jpg", "bird/2.jpg"}


def test_a_remote_folder_is_listed_in_parts(bucket):
    url, store = bucket
    for name in ("train/cat/1.jpg", "train/dog/2.jpg", "test/cat/3.jpg", "4.jpg", "note.txt"):
        store.put(f"{url}/in/{name}", b"1")
    store.forget()
    elements = yielded(ReadClassFolders(f"{url}/in"))
    records = {element.key: element.split for element in elements if isinstance(element, Record)}
    assert records == {
        "train/cat/1.jpg": "train",
        "train/dog/2.jpg": "train",
        "test/cat/3.jpg": "test",
    }
    rejects = {
        element.source: element.reason for element in elements if isinstance(element, Rejected)
    }
    assert rejects == {"4.jpg": "no class folder"}
    # Each file is listed once: is_directory, the top level, train and test.
    assert store.calls["list"] <= 4
