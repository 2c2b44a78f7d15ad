"""Masks among images, told by the names of files."""

import pytest

from beam_pipeline.sources.folders.masks import SameNames, masks, unmarked


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("a_mask", "a"),
        ("benign (1)_mask_1", "benign (1)"),
        ("ISIC_0000000_segmentation", "ISIC_0000000"),
        ("0001TP_006690_L", "0001TP_006690"),
        ("x-GroundTruth", "x"),
        ("a", "a"),
        ("mask", "mask"),
        ("unmask", "unmask"),
        ("a_mask_of_gold", "a_mask_of_gold"),
        ("mask_1", "mask_1"),
    ],
)
def test_unmarked(name, image):
    assert unmarked(name) == image


def of(paths):
    parts = (path.rpartition("/") for path in paths)
    return SameNames.merged(SameNames.of(folder, [name]) for folder, _, name in parts)


@pytest.mark.parametrize(
    ("paths", "ignored"),
    [
        pytest.param(["a.jpg", "a_mask.png", "b.jpg"], "--ignore '*_mask.png'", id="beside"),
        pytest.param(
            ["x/a.png", "x/a_mask.png", "x/a_mask_1.png"],
            "--ignore '*_mask.png' --ignore '*_mask_*.png'",
            id="several",
        ),
        pytest.param(["in/a.jpg", "out/a_seg.png"], "--ignore out", id="a folder of their own"),
        pytest.param(
            ["test/bad/0.png", "truth/bad/0_mask.png"],
            "--ignore truth",
            id="a folder whose inner one is a class",
        ),
        pytest.param(["cat/1.jpg", "cat/2_mask.jpg", "dog/1.jpg"], "", id="of no image"),
        pytest.param(["with_mask/with_mask_1.jpg", "without_mask/1.jpg"], "", id="classes"),
        pytest.param(
            ["x_mask.jpg", *(f"{number}.jpg" for number in range(99)), "x.jpg"], "", id="by chance"
        ),
    ],
)
def test_masks(paths, ignored):
    problem = masks(of(paths), lambda path: False)
    assert problem.partition("pass ")[2].partition(" to leave")[0] == ignored


def test_classes_with_some_names_in_common_are_not_looked_into():
    paths = [f"{folder}/{number}.png" for folder in "ab" for number in range(10)]
    names = of([*paths, *(f"a/x{number}.png" for number in range(10))])
    assert not masks(names, lambda path: path[0] == "a")


def test_what_is_compared_is_the_same_in_any_order():
    paths = [
        f"{folder}/{number}{mark}.png"
        for folder in "ab"
        for number in range(200)
        for mark in ("", "_mask")
    ]
    parts = [of(part) for part in (paths[start : start + 7] for start in range(0, len(paths), 7))]
    assert SameNames.merged(parts) == SameNames.merged(reversed(parts)) == of(paths)
    assert len(of(paths).groups) == 128
