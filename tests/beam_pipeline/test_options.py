"""The command line's options: read, refused with a hint, or passed on to Beam."""

import argparse
import dataclasses

import pytest
import tokenizers
from apache_beam.options.pipeline_options import DirectOptions, StandardOptions

from beam_pipeline import options
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4096", 4096),
        ("128MiB", 128 << 20),
        ("128 mib", 128 << 20),
        ("1GB", 10**9),
        ("1.5gb", 1_500_000_000),
        ("64M", 64 << 20),
        ("2TiB", 2 << 40),
        ("10b", 10),
    ],
)
def test_parse_bytes(text, expected):
    assert options.parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "big", "1.2.3MB", "-5MB", "5 apples", ".", "MiB"])
def test_what_is_no_size(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is no size; write it as 128MiB"):
        options.parse_bytes(text)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (options.parse_fractions, "train=0.8, test=0.2", {"train": 0.8, "test": 0.2}),
        (options.parse_fractions, "all=1", {"all": 1.0}),
        (options.parse_shards, "8", 8),
        (options.parse_shards, "train=8,test=1", {"train": 8, "test": 1}),
        (options.parse_size, "224", (224, 224)),
        (options.parse_size, "640x480", (640, 480)),
        (options.parse_names, "a, b,", ("a", "b")),
        (options.parse_classes, "cat,dog", ("cat", "dog")),
    ],
)
def test_parse(parse, text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (options.parse_fractions, "train", "write it as train=0.8"),
        (options.parse_classes, "nosuch/names", "there is no file 'nosuch/names'"),
        (options.parse_classes, "names.txt", "there is no file 'names.txt'"),
        (options.parse_fractions, "train=most", "write it as"),
        (options.parse_fractions, "train=0.8.1", "write it as"),
        (options.parse_fractions, "train=0.8,", "write it as"),
        (options.parse_fractions, "a=0.5,a=0.5", "names a split twice"),
        (options.parse_shards, "train=1.5", "write it as 8 or train=8,test=1"),
        (options.parse_shards, "few", "write it as 8 or train=8,test=1"),
        (options.parse_size, "640*480", "is no size"),
    ],
)
def test_what_cannot_be_parsed(parse, text, message):
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        parse(text)


def test_classes_from_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("red cell\n\nweiße Zelle\n", encoding="utf-8")
    assert options.parse_classes(str(path)) == ("red cell", "weiße Zelle")
    path.write_text("red cell", encoding="utf-8-sig")
    assert options.parse_classes(str(path)) == ("red cell",)
    path.write_bytes(b"wei\xdfe Zelle")
    with pytest.raises(argparse.ArgumentTypeError, match="is not UTF-8"):
        options.parse_classes(str(path))


@pytest.fixture
def parser():
    parser = options.Parser(prog="build")
    options.add_build_options(parser)
    return parser


def test_nothing_said_is_the_default_configuration(parser):
    assert options.build_config(parser.parse_args(["photos"])) == BuildConfig(input="photos")


def test_every_option_arrives(parser, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('[{"name": "n", "kind": "scalar", "dtype": "int64"}]')
    words = tmp_path / "words.json"
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a")).save(str(words))
    args = parser.parse_args(
        [
            *("photos", "--layout", "coco", "--image-root", "/r", "--image-column", "i"),
            *("--label-column", "l", "--split-column", "s", "--column-names", "a,b"),
            *("--ignore-columns", "c", "--box-format", "xywh", "--classes", "x,y"),
            *("--max-bad-fraction", "0.1", "--duplicates", "drop", "--box-policy", "error"),
            *("--max-image-pixels", "99", "--image-max-side", "7", "--image-format", "png"),
            *("--jpeg-quality", "80", "--split", "a=0.5,b=0.5", "--group-by", "1", "--seed", "3"),
            *("--num-shards", "a=2", "--target-shard-bytes", "1KiB", "--compression", "gzip"),
            *("--name", "n", "--version", "2.0.0", "--overwrite", "--threads", "2"),
            *("--audio-sample-rate", "8000", "--audio-mono", "--audio-column", "a"),
            *("--tokenizer", str(words), "--schema", str(schema), "--path-pattern", "{label}"),
        ]
    )
    config = options.build_config(args)

    default = BuildConfig()
    unset = {
        each.name
        for each in dataclasses.fields(default)
        if getattr(config, each.name) == getattr(default, each.name)
    }
    assert unset == {"output"}
    assert (config.image.max_pixels, config.image.max_side, config.image.jpeg_quality) == (
        99,
        7,
        80,
    )
    assert config.num_shards == {"a": 2}
    assert (config.audio.sample_rate, config.audio.mono) == (8000, True)
    assert [feature.name for feature in config.schema] == ["n"]


def test_beams_own_options_pass_through(parser):
    _, unknown = parser.parse_known_args(
        ["photos", "--direct_num_workers", "2", "--runner=FlinkRunner", "--streaming"]
    )
    found = options.beam_options(unknown, parser)
    assert found.view_as(DirectOptions).direct_num_workers == 2
    assert found.view_as(StandardOptions).runner == "FlinkRunner"
    assert found.view_as(StandardOptions).streaming


@pytest.mark.parametrize(
    ("unknown", "near"),
    [
        ("--num-shard", "--num-shards"),
        ("--dupliactes=drop", "--duplicates"),
        ("--direct_num_worker", "--direct_num_workers"),
        ("--max-bad", "--max-bad-fraction"),
    ],
)
def test_an_unknown_option_suggests_the_near_one(parser, unknown, near):
    with pytest.raises(
        ConfigError, match=rf"unknown argument {unknown.split('=')[0]}; did you mean {near}\?"
    ):
        options.beam_options([unknown], parser)


def test_an_option_like_no_other_points_to_the_help(parser):
    with pytest.raises(ConfigError, match=r"unknown argument --zzqq \(see `build --help`\)"):
        options.beam_options(["--zzqq"], parser)


def test_a_pattern_that_the_shell_has_spread(parser):
    with pytest.raises(ConfigError, match=r"unknown argument b\.tar; .* pattern .* in quotes"):
        options.beam_options(["b.tar", "c.tar"], parser)


@pytest.mark.parametrize("short", ["--over", "--thread", "--num-s"])
def test_options_are_not_abbreviated(parser, short):
    """An abbreviation would change its meaning with the next option that is added."""
    _, unknown = parser.parse_known_args(["photos", short])
    assert unknown == [short]


def test_a_bad_value_is_a_configuration_error(parser):
    with pytest.raises(ConfigError, match=r"argument --seed: invalid int value: 'x' \(see `build"):
        parser.parse_args(["photos", "--seed", "x"])


@pytest.mark.parametrize(
    ("arguments", "ours", "theirs"),
    [
        pytest.param(["build", "IN"], ["build", "IN"], [], id="none of Beam's"),
        pytest.param(
            ["build", "--direct_num_workers", "2", "IN", "--seed", "2"],
            ["build", "IN", "--seed", "2"],
            ["--direct_num_workers", "2"],
            id="before the input",
        ),
        pytest.param(
            ["build", "IN", "--output", "X", "--runner=FlinkRunner", "--streaming"],
            ["build", "IN", "--output", "X"],
            ["--runner=FlinkRunner", "--streaming"],
            id="behind it",
        ),
        pytest.param(["build", "--zzqq", "3"], ["build", "--zzqq", "3"], [], id="nobody's"),
        pytest.param(
            ["build", "--labels", "a,b", "--label", "team=a"],
            ["build", "--labels", "a,b"],
            ["--label", "team=a"],
            id="ours and Dataflow's",
        ),
    ],
)
def test_options_of_beams_go_with_their_values(arguments, ours, theirs):
    assert options.split_arguments(arguments) == (ours, theirs)
