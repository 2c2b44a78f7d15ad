"""Splits the command line into this package's arguments and Beam's."""

import functools
from collections.abc import Sequence

from apache_beam.options.pipeline_options import PipelineOptions

from tfrecord_dataset.command_line import Parser


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return this package's arguments and Beam's, in any order on the command line.

    The commands' parser does not know that `--direct_num_workers` takes a value: it would
    take the value for the input.
    """
    # Beam's own --dry_run needs a value, and any means yes.
    arguments = ["--dry_run=yes" if each == "--dry_run" else each for each in arguments]
    _, own = _beam_parser().parse_known_args(arguments)
    rest = iter(own)
    next_own = next(rest, None)
    beams = []
    for argument in arguments:
        if argument == next_own:
            next_own = next(rest, None)
        else:
            beams.append(argument)
    return own, beams


def names_of_beam() -> frozenset[str]:
    """Return the names of Beam's options."""
    return frozenset(_beam_parser()._option_string_actions)


@functools.cache
def _beam_parser() -> Parser:
    """Return a parser of Beam's options."""
    parser = Parser(add_help=False, conflict_handler="resolve")  # some options are in two groups
    for group in PipelineOptions.__subclasses__():
        group._add_argparse_args(parser)
    # An option of build; Dataflow also has --label.
    parser._option_string_actions.pop("--labels", None)
    return parser
