"""Arguments: the package's own are read or refused with a hint, Beam's are passed on."""

import pytest
from apache_beam.options.pipeline_options import DirectOptions, StandardOptions

from beam_pipeline.cli.beam_arguments import beam_options, split_arguments
from beam_pipeline.cli.options import add_command_options
from tfrecord_dataset.command_line import Parser


@pytest.fixture
def parser():
    parser = Parser(prog="build")
    add_command_options(parser, "plan")
    return parser


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
