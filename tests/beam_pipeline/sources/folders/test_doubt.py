"""Folders that may be splits, classes or neither: refused, with an option that tells."""

import pytest
from eager_runner import yielded

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import detection
from beam_pipeline.sources.folders.read import ReadClassFolders


def test_it_is_told_before_anything_is_read(make_tree):
    root = make_tree({"train/cat/1.jpg": "", "test/cat/1.jpg": "", "docs/1.jpg": ""})
    for find in (detection.detect, lambda path: detection.resolve(path, "folders")):
        with pytest.raises(ConfigError, match=r"input cannot be read as it lies: .* docs/ not"):
            find(root)


def test_it_is_told_of_folders_that_a_first_look_does_not_reach(make_tree):
    names = [f"{number:03}" for number in range(60)]
    root = make_tree({f"train/{name}/1.jpg": "" for name in names} | {"val/images/1.jpg": ""})
    assert detection.detect(root).layout.name == "folders"
    with pytest.raises(ConfigError, match="val/images/ is no class by its name"):
        yielded(ReadClassFolders(root))
