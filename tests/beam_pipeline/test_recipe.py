"""Recipes: the input and options of a build, as a file."""

import csv
import json
import shlex
import shutil

import hypothesis
import hypothesis.strategies as st
import pytest
from tiers import first_in_ci

import beam_pipeline
from beam_pipeline import recipe
from beam_pipeline.cli.commands import main
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.media.images import ImageOptions
from tfrecord_dataset.options import all_options

PNG = ImageOptions(format="png")


@pytest.fixture
def write(tmp_path):
    """write(text) -> path of a recipe with this text."""

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


@pytest.mark.parametrize(
    "text", ["image: 3", "image: photo", "audio: 16000", "audio: [mono]", 'image: "?"']
)
def test_a_value_in_place_of_options_is_refused_by_its_line(write, text):
    name = text.partition(":")[0]
    with pytest.raises(ConfigError, match=rf"line 2: {name} has a value .* `{name}: {{.*_column"):
        recipe.load(write(f"seed: 1\n{text}\n"))


NAMES = st.one_of(
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1),
    st.sampled_from(
        ["?", r"\?", r"\\?", "INPUT/a", "~", "no", "1.0", "null", "a: b", "# a", "none"]
    ),
)


@hypothesis.given(NAMES)
def test_any_name_of_a_column_is_read_as_it_was_saved(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("saved") / "recipe.yaml"
    config = BuildConfig(
        **dict.fromkeys(("label_column", "image_column", "split_column", "group_by"), name),
        ignore_columns=(name, "b"),
    )
    recipe.save(str(path), config)
    assert BuildConfig(**recipe.load(str(path))) == config
    path.write_text(recipe.of_dataset(config))
    assert BuildConfig(**recipe.load(str(path), {"input": ""})) == config


@pytest.mark.parametrize("name", first_in_ci(["?", "a, b", "no", "né: # 'q'"], 2))
def test_a_column_of_any_name_is_planned_saved_and_built(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    rows = [[name, "x"], *([label, number] for number, label in enumerate("abba" * 3))]
    with open("table.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)

    assert main(["plan", "table.csv", f"--label-column={name}", "--save", "saved.yaml"]) == 0
    assert main(["build", "saved.yaml", "--output", "data", "--name", "t"]) == 0
    again = ["build", "data/t/1.0.0/recipe.yaml", "--input", "table.csv", "--output", "again"]
    assert main(again) == 0

    found = [beam_pipeline.open(f"{folder}/t") for folder in ("data", "again")]
    assert found[0].metadata["classes"] == found[1].metadata["classes"] == ["a", "b"]


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
        ('points: "?"', "line 1: points is open; replace . with its value$"),
        (
            'seed: 1\nlabel_column: "?"',
            "line 2: label_column is open; .* or pass --label-column$",
        ),
        ("lable_column: x", r"line 1: unknown option lable_column .*mean 'label_column'"),
        ("image:\n  max_sid: 3", r"line 2: unknown option image.max_sid .*'image.max_side'"),
        ("seed: 1\nseed: 2", "line 2: seed is stated twice"),
        ("seed: x\nthreads: -1", "line 1: .*is not a whole number.*; and .*line 2: "),
        ("input: [a, b]", "line 1: input: .* is not a text"),
        ("- seed", "is not a mapping"),
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


@pytest.fixture
def pets(tmp_path, write_image, monkeypatch):
    """Images in two class folders, and a table of others; tmp_path is the working directory."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("cat/1", "cat/2", "dog/1", "dog/2")):
        write_image(tmp_path / f"pets/{name}.jpg", seed=seed)
    return tmp_path


def content(folder):
    """Return the bytes of a dataset's files by name, except build.json, which has the time."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "build.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def shards(folder):
    """Return the bytes of a dataset's shards by name."""
    return {name: data for name, data in content(folder).items() if ".tfrecord" in name}


OPTIONS = [
    *("--seed", "3", "--num-shards", "train=1,test=1", "--split", "train=0.5,test=0.5"),
    *("--image-max-side", "8", "--ignore", "dog/2.jpg", "--version", "1.0.1"),
]


def test_a_recipe_builds_what_its_command_builds(pets):
    assert main(["plan", "pets", *OPTIONS, "--save", "recipe.yaml"]) == 0
    assert main(["build", "recipe.yaml", "--output", "by_recipe"]) == 0
    assert main(["build", "pets", *OPTIONS, "--output", "by_options"]) == 0

    text = (pets / "recipe.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=recipe.schema.json\n")
    for line in (
        "#   layout: folders",
        "input: pets  # folder or file to read",
        "layout: folders  # how the input is laid out",
        "seed: 3  # random seed of the splits and the order",
        "  max_side: 8  # shrink images",
        "# compression: none  # compression of the shards",
    ):
        assert f"\n{line}" in text
    built = content(pets / "by_recipe")
    assert built == content(pets / "by_options")
    own = built["pets/1.0.1/recipe.yaml"].decode()
    assert str(pets) not in own

    dataset = "by_recipe/pets/1.0.1/recipe.yaml"
    assert main(["build", dataset, "--output", "again"]) == 2
    assert main(["build", dataset, "--input", "pets", "--output", "again"]) == 0
    assert content(pets / "again") == built


def test_an_open_question_is_a_line_to_complete(pets, capsys):
    rows = "cat/1.jpg,a,f\ncat/2.jpg,a,m\ndog/1.jpg,b,f\ndog/2.jpg,b,m\n"
    (pets / "pets/labels.csv").write_text(f"file,type,sex\n{rows}")
    assert main(["plan", "pets", "--save", "r.yaml"]) == 2
    printed = capsys.readouterr().err
    assert "set label_column (--label-column) to type, sex or none" in printed
    assert "complete the line label_column" in printed

    text = (pets / "r.yaml").read_text()
    assert '\nlabel_column: "?"  # one of: type, sex, none\n' in text
    assert f"# Open: {pets}/pets/labels.csv: several columns may be the label" in text
    schema = json.loads((pets / "r.schema.json").read_text())
    assert schema["properties"]["label_column"]["enum"] == ["type", "sex", "none"]
    assert main(["plan", "r.yaml"]) == 2
    assert "label_column is open" in capsys.readouterr().err

    (pets / "r.yaml").write_text(text.replace('label_column: "?"', "label_column: type"))
    assert main(["build", "r.yaml", "--output", "built"]) == 0
    assert beam_pipeline.open("built").classes == ("a", "b")


def test_each_reading_is_typed_or_written_in_the_recipe(pets, capsys):
    (pets / "in").mkdir()
    for place in ("in", "in/pets"):
        shutil.copytree(pets / "pets", pets / place, dirs_exist_ok=True)
    assert main(["build", "in", "--output", "out"]) == 2
    assert not (pets / "out").exists()
    assert main(["plan", "in", "--save", "r.yaml"]) == 2
    *_, sentence, ignoring, last, first = capsys.readouterr().err.splitlines()
    assert sentence.endswith("differ in depth (cat, pets/cat); pass one of")
    assert [ignoring, last, first] == [
        "  --ignore pets to read 4 images of 2 classes (cat, dog)",
        "  --path-pattern '**/{label}/{_}' to read 8 images of 2 classes (cat, dog)",
        "  --path-pattern '{label}/**/{_}' to read 8 images of 3 classes (cat, dog, pets)",
    ]
    for number, way in enumerate((ignoring, last, first)):
        words = shlex.split(way.partition(" to read ")[0])
        built = ["--name", "x", "--output", f"out{number}"]
        assert main(["build", "in", *words, *built]) == 0
        found = beam_pipeline.open(f"out{number}")
        count = sum(map(found.num_records, found.splits))
        names = f"{len(found.classes)} classes ({', '.join(found.classes)})"
        assert f"{count} images of {names}" == way.partition(" to read ")[2]

    text = (pets / "r.yaml").read_text()
    for number, line in enumerate(("ignore: [pets]", "path_pattern: '**/{label}/{_}'")):
        assert f"#     {line}\n" in text
        (pets / "r.yaml").write_text(text.replace(f"#     {line}", line))
        built = ["--name", "x", "--output", f"by_recipe{number}"]
        assert main(["build", "r.yaml", *built]) == 0
        assert shards(pets / f"by_recipe{number}") == shards(pets / f"out{number}") != {}


def test_an_input_that_is_refused_has_a_recipe(pets, capsys):
    (pets / "odd").mkdir()
    (pets / "odd/notes.xyz").write_text("?")

    assert main(["plan", "odd", "--seed", "3", "--save", "recipe.yaml"]) == 2
    assert "recipe: recipe.yaml; complete the line layout" in capsys.readouterr().err
    text = (pets / "recipe.yaml").read_text()
    assert "\nseed: 3  #" in text
    assert '\nlayout: "?"  #' in text


def test_a_recipe_is_not_the_input_of_a_build(pets, capsys):
    (pets / "recipe.yaml").write_text("input: recipe.yaml\n")
    assert main(["plan", "recipe.yaml"]) == 2
    assert "recipe.yaml is a recipe, not data" in capsys.readouterr().err


def test_a_recipe_is_not_overwritten(pets):
    (pets / "recipe.yaml").write_text("input: pets\n")
    assert main(["plan", "pets", "--save", "recipe.yaml"]) == 2
    assert (pets / "recipe.yaml").read_text() == "input: pets\n"


def test_a_recipe_of_a_dataset_has_only_paths_of_the_input(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("in/val.txt", "test.txt"):
        (tmp_path / name).write_text("a.jpg\n")
    root, lists = str(tmp_path / "in"), (f"val={tmp_path}/in/val.txt",)
    config = BuildConfig(input=root, split_list=lists, classes=("a,b", "no"), image_root="/other")
    text = recipe.of_dataset(config)
    assert str(tmp_path) not in text
    assert "\nsplit_list: [val=INPUT/val.txt]" in text
    (tmp_path / "recipe.yaml").write_text(text)
    given = {"input": root, "image_root": "/other"}
    assert BuildConfig(**recipe.load(str(tmp_path / "recipe.yaml"), given)) == config


def test_the_schema_has_every_option():
    schema = recipe.json_schema()["properties"]
    assert schema["compression"]["enum"] == ["none", "gzip"]
    assert schema["max_bad_fraction"]["maximum"] == 1
    assert schema["image"]["properties"]["max_side"]["type"] == ["integer", "null"]
    assert {name.partition(".")[0] for name in all_options(BuildConfig)} == schema.keys()
