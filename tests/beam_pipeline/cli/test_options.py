"""The options of a build set its configuration; Beam's are passed on, all others refused."""

import dataclasses

import pytest
import tokenizers
from apache_beam.options.pipeline_options import DirectOptions, StandardOptions

from beam_pipeline.cli.beam_arguments import beam_options, split_arguments
from beam_pipeline.cli.options import add_command_options, options_of
from beam_pipeline.config import BuildConfig
from tfrecord_dataset.command_line import Parser


@pytest.fixture
def parser():
    parser = Parser(prog="build")
    add_command_options(parser, "plan")
    return parser


def test_no_options_give_the_default_configuration(parser):
    assert options_of("plan", vars(parser.parse_args(["photos"]))) == BuildConfig(input="photos")


def test_every_option_sets_its_field(parser, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('[{"name": "n", "kind": "scalar", "dtype": "int64"}]')
    words = tmp_path / "words.json"
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a")).save(str(words))
    listed = tmp_path / "val.txt"
    listed.write_text("a.jpg\n")
    args = parser.parse_args(
        [
            *("photos", "--layout", "coco", "--image-root", "/r", "--image-column", "i"),
            *("--label-column", "l", "--split-column", "s", "--column-names", "a,b"),
            *("--ignore-columns", "c", "--box-format", "xywh", "--classes", "x,y"),
            *("--missing-numbers", "nan", "--missing-values", "NA,?"),
            *("--label-separator", "|"),
            *("--image-template", "{id}.png", "--allow-outside", "gs://b,/c"),
            *("--max-bad-fraction", "0.1", "--duplicates", "drop", "--leaks", "warn"),
            *("--box-policy", "error", "--license", "mit", "--near-duplicates", "group"),
            *("--max-image-pixels", "99", "--image-max-side", "7", "--image-format", "png"),
            *("--jpeg-quality", "80", "--split", "a=0.5,b=0.5", "--group-by", "1", "--seed", "3"),
            *("--num-shards", "a=2", "--target-shard-bytes", "1KiB", "--compression", "gzip"),
            *("--output", "/o", "--name", "n", "--version", "2.0.0", "--overwrite"),
            *("--threads", "2"),
            "--trust-receipts",
            "--no-report",
            *("--max-record-seconds", "7.5"),
            *("--audio-sample-rate", "8000", "--audio-mono", "--audio-column", "a"),
            *("--tokenizer", str(words), "--schema", str(schema), "--path-pattern", "{label}"),
            *("--ignore", "*_mask.png", "--ignore", "a, b.csv", "--one-class", "--masks"),
            *("--points", "landmarks", "--split-list", str(listed), "--no-header"),
            *("--decimal-comma", "--table", "a"),
        ]
    )
    config = options_of("plan", vars(args))

    default = BuildConfig()
    unset = {
        each.name
        for each in dataclasses.fields(default)
        if getattr(config, each.name) == getattr(default, each.name)
    }
    assert unset == set()
    image = config.image
    assert (image.max_pixels, image.max_side, image.jpeg_quality) == (99, 7, 80)
    assert config.num_shards == {"a": 2}
    assert (config.audio.sample_rate, config.audio.mono) == (8000, True)
    assert [feature.name for feature in config.schema] == ["n"]


def test_beams_own_options_pass_through(parser):
    _, unknown = parser.parse_known_args(
        ["photos", "--direct_num_workers", "2", "--runner=FlinkRunner", "--streaming"]
    )
    options = beam_options(unknown)
    assert options.view_as(DirectOptions).direct_num_workers == 2
    assert options.view_as(StandardOptions).runner == "FlinkRunner"
    assert options.view_as(StandardOptions).streaming


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
        ("build --labels a,b --label team=a", "build --labels a,b", "--label team=a"),
    ],
)
def test_options_of_beams_go_with_their_values(arguments, own, beams):
    assert split_arguments(arguments.split()) == (own.split(), beams.split())
