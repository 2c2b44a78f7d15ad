"""Class folders: their roles, path patterns, links and remote folders."""

import re
import tempfile
from pathlib import Path

import pytest
from cases.inputs import make
from cases.reading import options_of_case, source_at
from eager_runner import yielded
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import BeamTFRecordsError, ConfigError
from beam_pipeline.files import storage
from beam_pipeline.problems import ProblemError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.folders import structure
from beam_pipeline.sources.folders.classes_in_names import proposed
from beam_pipeline.sources.folders.pattern import parse_pattern
from beam_pipeline.sources.folders.read_folders import ReadClassFolders
from beam_pipeline.sources.folders.structure import NOUNS
from beam_pipeline.sources.inputs import detect
from tfrecord_dataset.shown_text import counted

CASES = Path(__file__).parents[2] / "cases"


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
        ("{split}{label}/{_}", "trainA/1.jpg", ("train", "A")),
        ("{split}{label}/{_}", "TrainvalA/1.jpg", ("Trainval", "A")),
        ("{split}{label}/{_}", "extraA/1.jpg", None),
        ("{split}_{n}", "extra_1.jpg", ("extra", "1")),
        ("{label+}_{_}", "great_dane_1.jpg", ("great_dane",)),
        ("{label+}_{_}", "cat_1.jpg", ("cat",)),
        ("{_+}-{label}", "a-b-cat.jpg", ("cat",)),
        ("{split}/{label?}/**/{_}", "train/cat/1.jpg", ("train", "cat")),
        ("{split}/{label?}/**/{_}", "train/cat/a/1.jpg", ("train", "cat")),
        ("{split}/{label?}/**/{_}", "test/1.jpg", ("test", None)),
    ],
)
def test_match(pattern, path, found):
    assert parse_pattern(pattern).match(path) == found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        *((text, "it has no names; write it as") for text in ("", "*.wav")),
        ("{a}_{b}_{a}", "{a} occurs twice"),
        ("{label}/{label?}/{_}", "{label?} occurs twice"),
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


def test_lists_of_splits_are_splits(make_tree):
    images = dict.fromkeys(("cat/1.jpg", "dog/1.jpg", "dog/2.jpg"), "")
    root = make_tree({"train.txt": "cat/1.jpg\ndog/1.jpg\n", "test.txt": "dog/2.jpg\n"} | images)
    assert ("splits", "test, train") in detect(BuildConfig(input=root)).understood


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


IN_DOUBT = [
    case
    for error in sorted(CASES.glob("*/*/error"))
    if " to read " in error.read_text("utf-8")
    and " class" in error.read_text("utf-8")
    and (case := error.parent)
]


def shown(records):
    """Classes, counts and splits that a reading promises."""
    labels = sorted({each.features["label"].name for each in records if "label" in each.features})
    splits = sorted({each.split for each in records} - {None})
    names = ", ".join(labels[:5]) + (", …" if labels[5:] else "")
    noun = NOUNS[next(iter({*records[0].features} - {"label"}))]
    classes = f"of {counted(len(labels), 'class')} ({names})" if labels else "without classes"
    without = sum("label" not in each.features for each in records)
    if labels and without:
        classes += f", {without} of them without a class,"
    place = "splits" if splits[1:] else "the split"
    what = f"read {counted(len(records), noun)} {classes}"
    return what + (f" in {place} {', '.join(splits)}" if splits else "")


def check_readings(root, options="INPUT", *, has_strays=False):
    """Check that typing each reading of a question reads what it promises; count the readings."""
    try:
        yielded(source_at(root, options)[1])
    except ProblemError as error:
        readings = error.problem.readings
    except BeamTFRecordsError:
        return 0
    else:
        return 0
    for reading in readings:
        elements = yielded(source_at(root, f"{options} {reading.typed}")[1])
        assert shown([each for each in elements if isinstance(each, Record)]) == reading.effect
        assert has_strays or not any(isinstance(each, Rejected) and each.bad for each in elements)
    return len(readings)


@pytest.mark.parametrize("case", IN_DOUBT, ids=lambda case: case.name)
def test_each_reading_keeps_its_promise(tmp_path, case):
    make(case / "input", tmp_path / "input")
    assert 1 <= check_readings(tmp_path / "input", options_of_case(case)) <= 3


FOLDERS = st.sampled_from(
    [
        "a",
        "b",
        "P",
        "[q]",
        "{z}",
        "**",
        "train",
        "test",
        "trainA",
        "x_test",
        "test_x",
        "masks",
        "Data",
    ]
)


@given(st.sets(st.lists(FOLDERS, max_size=5).map("/".join), min_size=2, max_size=6))
@example({"train/a/a/a/a/a", "b", "train/train"})
@example({"train/a/a/a/a/a", "b", "train/P"})
@example({"test", "train", "masks"})
@example({"**/a", "**/b/a"})
@example({"a", "b/b", "b/train"})
@example({"a", "masks/masks/train"})
@example({"a/masks", "a/a/train"})
@example({"a/b/masks", "a/b/train/train"})
def test_each_reading_of_any_tree_keeps_its_promise(folders):
    with tempfile.TemporaryDirectory() as root:
        for folder in folders:
            Path(root, folder).mkdir(parents=True, exist_ok=True)
            Path(root, folder, "1.jpg").touch()
        assert check_readings(root, has_strays=True) <= 3


NAMES = st.tuples(
    st.sampled_from(["", "train/", "test/", "images/"]),
    st.sampled_from(["cat", "dog", "{z}", "train", "7", "a b", " "]),
    st.sampled_from("_-. "),
    st.sampled_from(["cat", "dog", "1", "2", "x_y", "[q]"]),
    st.integers(0, 9),
)


@given(st.sets(NAMES, min_size=1, max_size=40))
@example({("", word, "_", end, n) for word in ("cat", "dog") for end in "12" for n in range(4)})
def test_each_reading_of_names_keeps_its_promise(names):
    with tempfile.TemporaryDirectory() as root:
        for folder, one, between, other, number in names:
            Path(root, folder).mkdir(exist_ok=True)
            Path(root, f"{folder}{one}{between}{other}{between}{number}.jpg").touch()
        assert check_readings(root, has_strays=True) <= 3


def test_of_many_folders_the_whole_listing_decides(make_tree):
    root = make_tree({f"Data/{n}/1.jpg": "" for n in range(100)} | {"Shown/1.jpg": ""})
    assert detect(BuildConfig(input=root)).problem is None
    with pytest.raises(ProblemError, match=r"--ignore Shown .*to read 100 images of 100 classes"):
        yielded(ReadClassFolders(root))


def test_the_roles_of_folders_are_found_once(make_tree, monkeypatch):
    calls = []
    monkeypatch.setattr(structure, "is_split", lambda name: calls.append(name) or False)
    monkeypatch.setattr(storage, "NAMES_AT_ONCE", 1)  # a batch for each folder
    yielded(ReadClassFolders(make_tree({f"{n}/1.jpg": "" for n in range(200)})))
    assert len(calls) <= 400


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        pytest.param(["cat_1", "cat_2", "cat_3", "cat_4", "dog_1", "cat_5"], "cat, dog", id="rare"),
        pytest.param(["cat_1", "dog_2", "owl_3"], "", id="a name each"),
        pytest.param(["1_a", "1_b", "1_c", "2_a", "1_d", "1_e"], "", id="numbers"),
        pytest.param(["holiday", "beach", "me"], "", id="no form"),
    ],
)
def test_a_pattern_is_proposed_for_names_of_one_form(names, classes):
    text = proposed([f"{name}.jpg" for name in names])
    pattern = "share a form; --path-pattern '{label}_{_}' reads 2 classes"
    assert text == (f"{pattern} ({classes})" if classes else "")
