import tracemalloc
from pathlib import Path

import pytest
from cases.reading import records_of

from beam_pipeline.sources import file_index
from beam_pipeline.sources.file_index import FileIndex
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


def test_of_many_files_no_name_is_in_memory():
    """With 10^8 files an index has 1.6 GB of numbers and the text of the paths on disk."""
    tracemalloc.start()
    index = FileIndex(f"images/{number % 100}/{number:07}.jpg" for number in range(100_000))
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert index.find("0012345") == "images/45/0012345.jpg"
    assert held < 300_000
    assert peak < 5 << 20  # what waits to be written


def test_files_of_a_folder_without_what_is_ignored(make_tree):
    root = make_tree({"a/1.jpg": "", "b/1.jpg": "", "notes.txt": ""})
    assert sorted(FileIndex.of(root).matches("1")) == ["a/1.jpg", "b/1.jpg"]
    assert FileIndex.of(root, Ignored(("b",))).find("1") == "a/1.jpg"
    assert FileIndex.of(root).find("notes.txt") is None


def test_a_name_that_thousands_of_folders_have_is_looked_up_by_its_folder():
    index = FileIndex(f"scene_{number}/rgb.png" for number in range(20_000))
    for number in range(20_000):  # takes minutes if every pair is compared
        assert index.find(f"/data/scene_{number}/rgb.png") == f"scene_{number}/rgb.png"


@pytest.fixture
def listed(bucket):
    """Read a table next to many images on a store; return its records and the requests to list."""
    url, store = bucket
    for number in range(2500):  # three answers of the store
        store.put(f"{url}/images/{number % 40}/{number}.jpg", b"x")

    def read(rows, **options):
        store.put(f"{url}/rows.csv", rows.encode())
        store.forget()
        records = records_of(f"{url}/rows.csv", **options)
        return records, store.calls["list"]

    return read


IDS = "id,label\n" + "".join(f"{number},cat\n" for number in range(50))


def test_only_a_table_whose_column_may_name_files_lists_its_folder(listed):
    measures = "".join(f"{number}.25,{number % 7},cat\n" for number in range(50))
    _, of_measures = listed(f"height,room,label\n{measures}")
    _, of_given = listed(IDS, ignore_columns=("id",))
    records, of_ids = listed(IDS)
    assert records[0].key == "images/0/0.jpg"
    assert of_given == of_measures
    assert of_ids - of_measures in (3, 4)  # the listing once, and whether the folder is there


def test_a_folder_of_too_many_files_is_not_indexed_and_named(listed, monkeypatch, caplog):
    monkeypatch.setattr(file_index, "_MOST_FILES", 1500)
    records, _ = listed(IDS)
    assert records[0].features.keys() == {"id", "label"}
    [message] = [each for each in caplog.messages if "looked up" in each]
    assert "has over 1,500 files" in message
    assert "pass --image-root FOLDER" in message


def test_the_remedy_for_too_many_files_can_be_typed(bucket, listed, monkeypatch):
    monkeypatch.setattr(file_index, "_MOST_FILES", 1500)
    rows = "id,label\n" + "".join(f"{number},cat\n" for number in range(0, 2500, 40))
    records, _ = listed(rows, image_root=f"{bucket[0]}/images/0")
    assert records[0].key == "0.jpg"
    assert len(records) == 63


def test_another_build_of_the_process_sees_new_files(make_tree):
    rows = "id,label\n" + "".join(f"{number},cat\n" for number in range(20))
    root = make_tree({"rows.csv": rows} | {f"images/{number}.jpg": "x" for number in range(19)})
    path = Path(root, "images", "19.jpg")
    assert "19" in {record.key for record in records_of(root)}
    path.touch()
    assert "images/19.jpg" in {record.key for record in records_of(root)}


@pytest.mark.parametrize(
    ("files", "name", "found"),
    [
        pytest.param(["x/a.jpg"], "fb7ad4ef-a.jpg", "x/a.jpg", id="an upload"),
        pytest.param(
            ["x/a.jpg", "y/fb7ad4ef-a.jpg"], "fb7ad4ef-a.jpg", "y/fb7ad4ef-a.jpg", id="as is"
        ),
        pytest.param(["x/a.jpg", "y/a.jpg"], "fb7ad4ef-a.jpg", None, id="two"),
        pytest.param(["x/a.jpg"], "FB7AD4EF-a.jpg", None, id="no prefix"),
        pytest.param(["x/1.jpg"], "fb7ad4ef-1", None, id="an id"),
    ],
)
def test_the_name_of_an_upload(files, name, found):
    assert FileIndex(files).find(name) == found
