"""What folders of files stand for: splits, classes or neither."""

import pytest

from beam_pipeline.sources.folders.structure import (
    Structure,
    main_kind,
    merged,
    structures,
)


def named(path):
    folder, _, name = path.rpartition("/")
    return folder, [name]


def structure_of(paths):
    found = structures(map(named, paths))
    assert merged(structures([named(path)]) for path in paths) == found
    return found.get(main_kind(found), Structure())


@pytest.mark.parametrize(
    ("paths", "splits", "classes"),
    [
        pytest.param(["cat/1.jpg", "dog/1.jpg"], False, {"cat", "dog"}, id="files share names"),
        pytest.param(["left/1.jpg", "right/1.jpg"], False, {"left", "right"}, id="sides"),
        pytest.param(["2019/1.jpg", "2020/1.jpg"], False, {"2019", "2020"}, id="years"),
        pytest.param(["run/v1/0.jpg", "walk/v2/0.jpg"], False, {"run", "walk"}, id="frames"),
        pytest.param(["good/1.jpg", "bad/1.jpg"], False, {"good", "bad"}, id="quality"),
        pytest.param(["cat/1.jpg", "masks/1.jpg"], False, {"cat"}, id="masks are no class"),
        pytest.param(["train/cat/1.jpg", "test/dog/1.jpg"], True, {"cat", "dog"}, id="splits"),
        pytest.param(["train/1.jpg", "test/1.jpg"], True, set(), id="splits without classes"),
        pytest.param(["train/cat/1.jpg", "test/1.jpg"], True, {"cat"}, id="one split has none"),
        pytest.param(["1.jpg", "2.jpg"], False, set(), id="flat"),
    ],
)
def test_splits_and_classes(paths, splits, classes):
    structure = structure_of(paths)
    assert (structure.in_splits, structure.classes) == (splits, classes)


@pytest.mark.parametrize(
    ("paths", "folder", "expected"),
    [
        (["cat/1.jpg"], "cat/more", (None, "cat")),
        ([" cat /1.jpg"], " cat ", (None, "cat")),
        (["cat/1.jpg"], "masks", (None, "")),
        (["cat/1.jpg"], "", None),
        (["train/cat/1.jpg"], "train/cat", ("train", "cat")),
        (["train/cat/1.jpg"], "train", None),
        (["train/1.jpg"], "train", ("train", None)),
        (["1.jpg"], "", (None, None)),
    ],
)
def test_place(paths, folder, expected):
    assert structure_of(paths).place(folder) == expected
