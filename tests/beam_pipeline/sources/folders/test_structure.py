"""Roles of folders: splits, classes or neither."""

import pytest

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
    ("path", "folder", "expected"),
    [
        ("cat/1.jpg", "cat/more", (None, "cat")),
        (" cat /1.jpg", " cat ", (None, "cat")),
        ("cat/1.jpg", "masks", (None, "")),
        ("cat/1.jpg", "", None),
        ("train/cat/1.jpg", "train/cat", ("train", "cat")),
        ("train/cat/1.jpg", "train", None),
        ("train/1.jpg", "train", ("train", None)),
        ("1.jpg", "", (None, None)),
    ],
)
def test_place(path, folder, expected):
    assert structure_of([path]).place(folder) == expected
