"""Names of splits in folders, lists, keys, files and arrays."""

import pytest

from beam_pipeline.sources.splits import lists_of_splits, splits_of_tables, without_split
from tfrecord_dataset.format.split_names import (
    is_split,
    split_of_folders,
    split_of_name,
    splits_of_files,
)

# Names that mean a split everywhere.
NAMES = (
    *("train", "training", "trainval", "val", "valid", "validation", "minival"),
    *("test", "testing", "dev", "eval", "evaluation"),
)


@pytest.mark.parametrize("name", [*NAMES, *map(str.upper, NAMES)])
def test_a_name_is_a_split_wherever_it_stands(name):
    assert is_split(name)
    assert split_of_folders(f"data/{name}/cat/1.jpg") == name
    assert split_of_name(f"data/mnist_{name}.npz") == name
    assert split_of_name(f"{name}-00000-of-00004.tar") == name
    assert without_split(f"x_{name}") == ("x", name)
    assert lists_of_splits([name, "dog"]) == [name]


def test_is_split():
    names = ["train2017", "TEST2017", "test_set", "trainset", "val-images", "train data"]
    others = ["", "cat", "trains", "latest", "train1", "train_cat", "validate"]
    assert [*filter(is_split, names + others)] == names


# Path, split in its folders, split in its name.
PATHS = """
train2017/1.jpg train2017 None
Val/train/1.jpg Val None
1.jpg None None
train.jpg None train
annotations/instances_train2017.json None train
annotations/instances_minival2014.json None minival
image_info_test-dev2017.json None test
imagenet-val-000.tar None val
train01.csv None train
trainer/latest.csv None None
"""


@pytest.mark.parametrize("row", PATHS.strip().splitlines())
def test_split_of_a_path(row):
    path, *splits = row.split()
    assert [str(split_of_folders(path)), str(split_of_name(path))] == splits


FILES = """
train-000.tar train-001.tar val_1.tar -> train train val
train/0.tar Test/0.tar -> train Test
imagenet-train-000.tar imagenet-val-000.tar -> train val
x_train.npy y_train.npy x_test.npy -> train train test
train.npz -> train
train000.tar test2017-1.tar -> train test
train-000.tar extra.tar -> None None
train/0.tar 1.tar -> None None
trainer-0.tar latest.tar -> None None
"""


@pytest.mark.parametrize("row", FILES.strip().splitlines())
def test_splits_of_files(row):
    paths, splits = row.split(" -> ")
    assert list(map(str, splits_of_files(paths.split()))) == splits.split()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train.csv", "test_set.csv.gz"], {"train.csv": "train", "test_set.csv.gz": "test_set"}),
        (["train.csv", "sample_submission.csv"], {"train.csv": "train"}),
        (["train.csv", "train_labels.csv"], {"train.csv": "train"}),
        (["m_train.csv", "m_test.csv"], {"m_train.csv": "train", "m_test.csv": "test"}),
        (["mnist_train.csv", "sizes.csv"], {}),
        (["a_train.csv", "b_train.csv"], {}),
        (["rows.csv"], {}),
        ([], {}),
    ],
)
def test_splits_of_tables(names, expected):
    assert splits_of_tables(names) == expected


def test_lists_of_splits():
    assert lists_of_splits(["train", "val", "trainval", "test"]) == ["train", "val", "test"]
    assert lists_of_splits(["trainval", "test"]) == ["trainval", "test"]
    assert lists_of_splits(["Train", "VAL", "TrainVal"]) == ["Train", "VAL"]
    assert lists_of_splits(["dog_train", "person_val"]) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x_train", ("x", "train")),
        ("train_images", ("images", "train")),
        ("X-test", ("X", "test")),
        ("trainX", ("X", "train")),
        ("val", ("", "val")),
        ("a_b_valid", ("a_b", "valid")),
        ("kmnist-train-imgs", ("kmnist-imgs", "train")),
        *((name, (name, "")) for name in ("x", "trains", "latest_x", "xtrain")),
    ],
)
def test_without_split(name, expected):
    assert without_split(name) == expected
