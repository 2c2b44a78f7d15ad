"""Recipes: what a build reads and how, as a file."""

import pytest

from beam_pipeline import recipe
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.media.image_options import ImageOptions

PNG = ImageOptions(format="png")


@pytest.fixture
def write(tmp_path):
    """write(text) -> the path of a recipe with it."""

    def write(text):
        path = tmp_path / "recipe.yaml"
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("seed: 3\nlayout:\n", {"seed": 3}),
        ("version: 1.0.1\nlabel_column: no\n", {"version": "1.0.1", "label_column": "no"}),
        ("missing_values: [NA, no, 1.0]", {"missing_values": ("NA", "no", "1.0")}),
        ("missing_values: NA,no", {"missing_values": ("NA", "no")}),
        ("split: {train: 0.9, test: 0.1}", {"split": {"train": 0.9, "test": 0.1}}),
        ("split: train=0.9,test=0.1", {"split": {"train": 0.9, "test": 0.1}}),
        ("num_shards: 8\ntarget_shard_bytes: 1KiB", {"num_shards": 8, "target_shard_bytes": 1024}),
        ("image: {size: 40x30}", {"image": ImageOptions(size=(30, 40))}),
        ("image:\n  format: png\nno_header: true", {"image": PNG, "no_header": True}),
        ("classes: [cat, dog]", {"classes": ("cat", "dog")}),
        ("classes: cat,dog", {"classes": ("cat", "dog")}),
    ],
)
def test_values(write, text, expected):
    assert recipe.load(write(text)) == expected


def test_paths_are_relative_to_the_recipe(write, tmp_path):
    (tmp_path / "val.txt").write_text("a.jpg\n")
    (tmp_path / "names.txt").write_text("cat\n")
    text = (
        "input: ../cells\nimage_root: gs://bucket/images\nallow_outside: [a, /b]\n"
        "split_list: [val.txt, test=val.txt]\nclasses: names.txt\n"
    )
    assert BuildConfig(**recipe.load(write(text))) == BuildConfig(
        input=str(tmp_path.parent / "cells"),
        image_root="gs://bucket/images",
        allow_outside=(str(tmp_path / "a"), "/b"),
        split_list=(f"val={tmp_path}/val.txt", f"test={tmp_path}/val.txt"),
        classes=("cat",),
    )


def test_a_schema_is_a_file_or_written_out(write, tmp_path):
    (tmp_path / "schema.yaml").write_text("caption: text\n")
    by_file = recipe.load(write("schema: schema.yaml"))
    assert by_file == recipe.load(write("schema: [{name: caption, kind: text}]"))
    assert by_file == recipe.load(write("schema: {caption: text}"))


def test_values_that_are_given_win(write):
    path = write('seed: 3\nlabel_column: "?"\nimage: {format: png, max_side: 9}\n')
    given = {"seed": 4, "label_column": "breed", "image.max_side": 7}
    assert recipe.load(path, given) == {
        "seed": 4,
        "label_column": "breed",
        "image": ImageOptions(format="png", max_side=7),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('seed: 1\nlabel_column: "?"', "line 2: label_column is open; replace"),
        ("lable_column: x", r"line 1: there is no option lable_column .*mean 'label_column'"),
        ("image:\n  max_sid: 3", r"line 2: there is no option image.max_sid .*'image.max_side'"),
        ("seed: 1\nseed: 2", "line 2: seed is there twice"),
        ("seed: x\nthreads: -1", "line 1: .*is not a whole number.*; and .*line 2: "),
        ("- seed", "is no mapping"),
        ("a: b: c", "cannot be read: mapping values"),
        ("a: &a 1\nb: *a", "is an alias"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(write, text, message):
    with pytest.raises(ConfigError, match=message):
        recipe.load(write(text))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("recipe.yaml", "input: cells", True),
        ("mine.yml", "", True),
        ("data.yaml", "train: images\nnames: [a]", False),
        ("data.yaml", "path: .\nnames:\n  0: a", False),
        ("labels.csv", "a,b", False),
    ],
)
def test_a_recipe_is_a_yaml_file_that_is_not_yolos(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    assert recipe.is_recipe(str(tmp_path / name)) == expected
