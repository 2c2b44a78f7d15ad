"""Build options set the configuration; Beam's are passed on; others are refused."""

import argparse

import pytest

from beam_pipeline.cli.options import add_command_options, options_of, read_command, split_arguments
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from tfrecord_dataset.command_line import Parser
from tfrecord_dataset.options import fields_of


def parsed(*words):
    return options_of(read_command(["plan", *words]))


def test_no_options_give_the_default_configuration():
    assert parsed("photos") == BuildConfig(input="photos")


def test_every_option_sets_its_field(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('[{"name": "n", "kind": "scalar", "dtype": "int64"}]')
    (tmp_path / "val.txt").write_text("a.jpg\n")
    words = [
        *("photos", "--layout", "coco", "--image-root", "/r", "--image-column", "i"),
        *("--label-column", "l", "--split-column", "s", "--classes", "x,y"),
        *("--allow-outside", "gs://b,/c", "--encoding", "cp1252", "--no-header"),
        *("--table", "t", "--ignore-columns", "c", "--missing-numbers", "-1"),
        *("--max-bad-fraction", "0.1", "--duplicates", "drop", "--leaks", "warn"),
        *("--near-duplicates", "group", "--split", "a=0.5,b=0.5", "--group-by", "1"),
        *("--image-max-side", "7", "--image-format", "png", "--jpeg-quality", "80"),
        *("--seed", "3", "--num-shards", "a=2", "--target-shard-bytes", "1KiB"),
        *("--compression", "gzip", "--output", "/o", "--name", "n", "--version", "2.0.0"),
        *("--overwrite", "--threads", "2"),
        *("--audio-sample-rate", "8000", "--audio-mono", "--schema", str(schema)),
        *("--path-pattern", "{label}", "--ignore", "*_mask.png", "--ignore", "a, b.csv"),
        *(
            "--one-class",
            "--allow-missing-shards",
            "--masks",
            "--split-list",
            str(tmp_path / "val.txt"),
        ),
    ]
    config = parsed(*words)

    fields = fields_of(BuildConfig).values()
    unset = {field.name for field in fields if getattr(config, field.name) == field.default}
    assert unset == {field.name for field in fields if field.option.recipe_only}
    image = config.image
    assert (image.max_side, image.format, image.jpeg_quality) == (7, "png", 80)
    assert config.num_shards == {"a": 2}
    assert config.ignore == ("*_mask.png", "a, b.csv")
    assert (config.audio.sample_rate, config.audio.mono) == (8000, True)
    assert [feature.name for feature in config.schema] == ["n"]


def test_the_help_of_build_fits_forty_options():
    parser = Parser(prog="build", add_help=False)
    add_command_options(parser, "build")
    own = {action.dest for action in parser._option_string_actions.values()}
    assert len(own - {argparse.SUPPRESS, "debug", "input", "other_input"}) <= 40


def test_options_win_over_a_recipe(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("input: photos\nseed: 3\nimage: {format: png}\n")
    config = parsed(str(path), "--seed", "4", "--image-max-side", "7")

    assert config.input == str(tmp_path / "photos")
    assert (config.seed, config.image.format, config.image.max_side) == (4, "png", 7)
    assert parsed(str(path), "--input", "/other").input == "/other"
    with pytest.raises(ConfigError, match="--input is for a recipe"):
        parsed("photos", "--input", "/other")


@pytest.mark.parametrize(
    ("arguments", "own", "beams"),
    [
        ("build IN", "build IN", ""),
        (
            *("build --direct_num_workers 2 IN --seed 2", "build IN --seed 2"),
            "--direct_num_workers 2",
        ),
        (
            *("build IN --output X --runner=FlinkRunner --streaming", "build IN --output X"),
            "--runner=FlinkRunner --streaming",
        ),
        ("build --zzqq 3", "build --zzqq 3", ""),  # unknown to both
        (
            *("build --labels a,b --label team=a --runner Dataflow", "build --labels a,b"),
            "--label team=a --runner Dataflow",
        ),
        ("build --label price", "build --label price", ""),  # only jobs on Dataflow have labels
    ],
)
def test_options_of_beams_go_with_their_values(arguments, own, beams):
    assert split_arguments(arguments.split()) == (own.split(), beams.split())
