"""Arguments: the package's own are read or refused with a hint, Beam's are passed on."""

import pytest
from apache_beam.options.pipeline_options import DirectOptions, StandardOptions

from beam_pipeline.cli.beam_arguments import Parser, beam_options, split_arguments
from beam_pipeline.cli.options import add_command_options
from beam_pipeline.errors import ConfigError


@pytest.fixture
def parser():
    parser = Parser(prog="build")
    add_command_options(parser, "plan")
    return parser


def test_beams_own_options_pass_through(parser):
    _, unknown = parser.parse_known_args(
        ["photos", "--direct_num_workers", "2", "--runner=FlinkRunner", "--streaming"]
    )
    options = beam_options(unknown, parser)
    assert options.view_as(DirectOptions).direct_num_workers == 2
    assert options.view_as(StandardOptions).runner == "FlinkRunner"
    assert options.view_as(StandardOptions).streaming


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
        beam_options([unknown], parser)


def test_an_option_unlike_any_other_points_to_the_help(parser):
    with pytest.raises(ConfigError, match=r"unknown argument --zzqq \(see `build --help`\)"):
        beam_options(["--zzqq"], parser)


def test_a_pattern_that_the_shell_expanded(parser):
    with pytest.raises(ConfigError, match=r"unknown argument b\.tar; .* pattern .* in quotes"):
        beam_options(["b.tar", "c.tar"], parser)


@pytest.mark.parametrize("short", ["--over", "--thread", "--num-s"])
def test_options_are_not_abbreviated(parser, short):
    """An abbreviation would change its meaning with the next option that is added."""
    _, unknown = parser.parse_known_args(["photos", short])
    assert unknown == [short]


def test_a_bad_value_is_a_configuration_error(parser):
    with pytest.raises(ConfigError, match="--seed 'x' is not a whole number"):
        parser.parse_args(["photos", "--seed", "x"])


@pytest.mark.parametrize(
    ("arguments", "own", "beams"),
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
            id="after it",
        ),
        pytest.param(["build", "--zzqq", "3"], ["build", "--zzqq", "3"], [], id="unknown to both"),
        pytest.param(
            ["build", "--labels", "a,b", "--label", "team=a"],
            ["build", "--labels", "a,b"],
            ["--label", "team=a"],
            id="an option of both",
        ),
    ],
)
def test_options_of_beams_go_with_their_values(arguments, own, beams):
    assert split_arguments(arguments) == (own, beams)
