"""The command line, ours and Beam's: which argument is whose, and what is neither."""

import argparse
import difflib
from collections.abc import Callable, Sequence
from typing import NoReturn

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.errors import ConfigError

_ONE_INPUT = "; there is one input: put a pattern of several files in quotes"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose mistakes are ConfigErrors and whose options are not abbreviated."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see `{self.prog} --help`)")


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """(ours, Beam's): an option of Beam's goes with its value, wherever it stands.

    Our own parser, which does not know that `--direct_num_workers` takes a value, would
    take the value for the input.
    """
    _, ours = _beam_parser().parse_known_args(list(arguments))
    rest = iter(ours)
    awaited = next(rest, None)
    theirs = []
    for argument in arguments:
        if argument == awaited:
            awaited = next(rest, None)
        else:
            theirs.append(argument)
    return ours, theirs


def beam_options(unknown: Sequence[str], parser: argparse.ArgumentParser) -> PipelineOptions:
    """Beam's options in what our own parser did not know.

    Raises:
        ConfigError: An argument is neither ours nor Beam's; the nearest of both is named.
    """
    theirs = _beam_parser()
    _, stray = theirs.parse_known_args(list(unknown))
    if stray:
        option = stray[0].partition("=")[0]
        known = [*parser._option_string_actions, *theirs._option_string_actions]
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f" (see `{parser.prog} --help`)"
        raise ConfigError(f"unknown argument {option}{hint if option[:1] == '-' else _ONE_INPUT}")
    return PipelineOptions(list(unknown))


def _beam_parser() -> Parser:
    """A parser of all options of Beam's."""
    parser = Parser(add_help=False)
    for group in PipelineOptions.__subclasses__():
        _add_group(parser, group._add_argparse_args)
    parser._option_string_actions.pop("--labels", None)  # ours; Dataflow's are --label too
    return parser


def _add_group(
    parser: argparse.ArgumentParser, add: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Adds a group of Beam's options; some of them stand in two groups."""
    group = Parser(add_help=False)
    add(group)
    for action in group._actions:
        if not set(action.option_strings) & set(parser._option_string_actions):
            parser._add_action(action)
