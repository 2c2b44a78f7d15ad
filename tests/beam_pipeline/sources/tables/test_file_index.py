import pytest

from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tree import Ignored

KEYS = (
    *("images/cat/1.jpg", "images/dog/1.jpg", "images/dog/2.png", "images/é.jpg"),
    *("train/x.jpg", "val/y.jpg", "train/z.jpg", "val/z.jpg", "scans/a.b.png", "scans/a.b.jpg"),
)


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        pytest.param("images/cat/1.jpg", "", "images/cat/1.jpg", id="as written"),
        pytest.param("cat/1.jpg", "", "images/cat/1.jpg", id="by its last folder"),
        pytest.param(r"C:\data\dog\1.jpg", "", "images/dog/1.jpg", id="Windows"),
        pytest.param("../../media/cat/1.jpg", "", "images/cat/1.jpg", id="relative elsewhere"),
        pytest.param("/kaggle/input/pets/2.png", "", "images/dog/2.png", id="another machine"),
        pytest.param("2", "", "images/dog/2.png", id="a stem"),
        pytest.param("dog/2.jpeg", "", "images/dog/2.png", id="another suffix"),
        pytest.param("2.jpeg", "", None, id="another suffix and no folder"),
        pytest.param("e\u0301.jpg", "", "images/é.jpg", id="another Unicode form"),
        pytest.param("a.b.png", "", "scans/a.b.png", id="a suffix decides"),
        pytest.param("a.b", "", None, id="two suffixes"),
        pytest.param("1.jpg", "", None, id="two folders"),
        pytest.param("z", "val", "val/z.jpg", id="the split's folder decides"),
        pytest.param("val/x.jpg", "", None, id="the folder is there and lacks it"),
        pytest.param("test/x.jpg", "", None, id="another split's"),
        pytest.param("3.jpg", "", None, id="no such file"),
        pytest.param("", "", None, id="nothing"),
    ],
)
def test_find(name, split, expected):
    assert FileIndex(KEYS).find(name, split) == expected


def test_files_of_a_folder_without_what_is_ignored(make_tree):
    root = make_tree({"a/1.jpg": "", "b/1.jpg": "", "notes.txt": ""})
    assert sorted(FileIndex.of(root).matches("1")) == ["a/1.jpg", "b/1.jpg"]
    assert FileIndex.of(root, Ignored(("b",))).find("1") == "a/1.jpg"
    assert FileIndex.of(root).find("notes.txt") is None


def test_a_name_that_thousands_of_folders_have_is_looked_up_by_its_folder():
    index = FileIndex(f"scene_{number}/rgb.png" for number in range(20_000))
    for number in range(20_000):  # takes minutes if every pair is compared
        assert index.find(f"/data/scene_{number}/rgb.png") == f"scene_{number}/rgb.png"
