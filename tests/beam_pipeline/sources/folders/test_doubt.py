"""Folders that may be splits, classes or neither: refused, with an option that tells."""

import re

import pytest
from eager_runner import yielded

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import detection
from beam_pipeline.sources.folders.doubt import doubt
from beam_pipeline.sources.folders.pattern import parse_pattern
from beam_pipeline.sources.folders.profile import profile_of
from beam_pipeline.sources.folders.read import ReadClassFolders


def doubt_of(folders):
    return doubt(profile_of((folder, ["1.jpg"]) for folder in folders)["image"], "/in")


@pytest.mark.parametrize(
    "folders",
    [
        pytest.param(["", "cat", "dog"], id="classes"),
        pytest.param(["train/cat", "train/dog", "test/cat"], id="splits that share a class"),
        pytest.param(["cat", "dog/wild/new"], id="some lie deeper"),
        pytest.param(["train/n01/images", "val/n01/images"], id="images in classes"),
        pytest.param(
            ["train/train", "train/bus", "test/train", "test/bus"], id="CIFAR-100's train"
        ),
        pytest.param(["bullet_train", "bus"], id="a class with a split's word"),
        pytest.param(["train/cat", "val"], id="a split without class folders is rejects"),
        pytest.param([""], id="flat"),
        pytest.param([], id="nothing"),
    ],
)
def test_what_is_clear(folders):
    assert doubt_of(folders) == ""


@pytest.mark.parametrize(
    ("folders", "problem", "pattern", "finds"),
    [
        pytest.param(
            ["train/cat", "train/dog", "test/cat", "docs"],
            r"test/, train/ are splits, but docs/ not: move the others elsewhere; ",
            "{label}/**/{_}",
            {"docs/1.jpg": ("docs",)},
            id="one stray top folder",
        ),
        pytest.param(
            ["train/cat", "test/cat", "xray/train/cat", "xray/test/cat"],
            r"test/, train/ are splits, but xray/ not: .* or give /in/xray alone",
            "{label}/**/{_}",
            {"train/cat/1.jpg": ("train",)},
            id="the splits once more, one level deeper",
        ),
        pytest.param(
            ["train/train/cat", "train/train/dog", "test/test/cat"],
            r"test/, train/ in test/, train/ has the name of a split",
            "{_}/{split}/{label}/{_}",
            {"train/train/cat/1.jpg": ("train", "cat")},
            id="one level more",
        ),
        pytest.param(
            ["train/cat", "test/cat", "test/train"],
            r"train/ in test/, train/ has the name of a split",
            "{split}/{label}/{_}",
            {"test/train/1.jpg": ("test", "train")},
            id="a split in a split",
        ),
        pytest.param(
            ["seg_train/seg_train/sea", "seg_test/seg_test/sea"],
            r"seg_test/, seg_train/ are called after splits",
            "{_}/{split}/{label}/{_}",
            {"seg_train/seg_train/sea/1.jpg": ("seg_train", "sea")},
            id="splits' names in longer ones",
        ),
        pytest.param(
            ["trainA", "trainB", "testA", "testB"],
            r"testA/, testB/, trainA/, … are called after splits, .* move the files to <split>/",
            "{split}/{_}",
            {"trainA/1.jpg": ("trainA",)},
            id="splits and domains in one name",
        ),
        pytest.param(
            ["train/n1/images", "train/n2/images", "val/images"],
            r"val/images/ is no class by its name; give /in/val/images alone",
            "{split}/{label}/**/{_}",
            {"train/n1/images/7.jpg": ("train", "n1")},
            id="a split without its classes",
        ),
        pytest.param(
            ["images", "mask"],
            r"images/ is no class by its name; give /in/images alone",
            "{label}/{_}",
            {"mask/1.jpg": ("mask",)},
            id="images and masks",
        ),
        pytest.param(
            ["train/cat", "train/dog", "test/unknown"],
            r"test/ and train/ have no class in common \(unknown/ against cat/, dog/\)",
            "{split}/{label}/{_}",
            {"test/unknown/1.jpg": ("test", "unknown")},
            id="disjoint classes",
        ),
        pytest.param(
            ["left/train/aachen", "gt/train/aachen"],
            r"gt/, left/ hold folders and no files; where they are the classes",
            "{label}/**/{_}",
            {"left/train/aachen/1.jpg": ("left",)},
            id="class folders hold only folders",
        ),
        pytest.param(
            ["训练/猫", "训练/狗", "测试/猫"],
            r"测试/, 训练/ hold folders and no files; .* where the first are splits",
            "{split}/{label}/**/{_}",
            {"训练/猫/1.jpg": ("训练", "猫")},
            id="splits in another language",
        ),
        pytest.param(
            ["train", "test"],
            r"test/, train/ are splits without class folders",
            "{split}/{_}",
            {"train/1.jpg": ("train",)},
            id="splits without class folders",
        ),
    ],
)
def test_what_is_in_doubt(folders, problem, pattern, finds):
    told = doubt_of(folders)
    assert re.match(problem, told)
    assert "--path-pattern" in told
    assert f"'{pattern}'" in told
    for path, texts in finds.items():  # the remedy works
        assert parse_pattern(pattern).match(path) == texts


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
