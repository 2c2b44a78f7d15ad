"""Captions next to images in folders: whether the folders are classes, too."""

import pytest

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.inputs import find_input


@pytest.mark.parametrize(
    ("folders", "classes"),
    [
        pytest.param(["cat", "dog"], "2 class folders (cat, dog)", id="classes"),
        pytest.param(
            ["train/cat", "train/dog", "val/cat"], "2 class folders (cat, dog)", id="split"
        ),
        pytest.param(["train", "val"], "", id="splits"),
        pytest.param(["cat", "dog", "val"], "", id="a split among classes"),
        pytest.param(["cat"], "", id="one folder"),
        pytest.param(["0001", "0002", "more"], "", id="parts"),
        pytest.param(["images", "more"], "", id="a folder of images"),
        pytest.param(["cat", "dog", "."], "", id="images outside of class folders"),
    ],
)
def test_class_folders_of_captions_are_named(make_tree, folders, classes):
    texts = {f"{folder}/{name}": "a pet" for folder in folders for name in ("1.jpg", "1.txt")}
    found = find_input(BuildConfig(input=make_tree(texts), layout="captions"))
    assert dict(found.understood).get("classes", "") == classes
