"""The commands and their options; those of `build` and `plan` are the fields of BuildConfig."""

import argparse
import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline import recipe
from beam_pipeline.build_options import HEADINGS, AllowMissingShards, Classes, Schema
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from tfrecord_dataset.command_line import Command, Parser, add_options, add_program_options, program
from tfrecord_dataset.options import Option, Options, arguments_of

# The argument that replaces a recipe's input.
OTHER_INPUT = "other_input"
_OTHER_INPUT_HELP = "what to read, where INPUT is a recipe (default: the recipe's own)"

_Dataset = Annotated[str, Option("the dataset's directory", is_positional=True)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdoptOptions(Options):
    """The options of `adopt`."""

    dataset: Annotated[str, Option("the directory of the files", is_positional=True)]
    schema: Schema = ()
    classes: Classes = ()
    name: Annotated[str, Option("the dataset's name (default: from the files or directory)")] = ""
    version: Annotated[
        str, Option("the dataset's version (default: from the directory, or 1.0.0)")
    ] = ""
    allow_missing_shards: AllowMissingShards = False
    overwrite: Annotated[bool, Option("replace an existing description")] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """The options of `verify`."""

    dataset: _Dataset


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowOptions(Options):
    """The options of `show`."""

    dataset: _Dataset
    split: Annotated[str | None, Option("only this split (default: every split)")] = None
    limit: Annotated[int, Option("records to print per split", least=0)] = 3
    images: Annotated[
        str | None, Option("also write the images there, with boxes and maps drawn", metavar="DIR")
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DiffOptions(Options):
    """The options of `diff`."""

    old: _Dataset
    new: Annotated[str, Option("dataset to compare with OLD", is_positional=True)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """The options of `report`."""

    dataset: Annotated[
        str, Option("a dataset's directory, or a file or pattern of files", is_positional=True)
    ]
    output: Annotated[
        str | None, Option("the folder of the page (default: the dataset's)", metavar="DIR")
    ] = None
    seed: Annotated[int, Option("decides which records are shown", metavar="SEED")] = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoctorOptions(Options):
    """The options of `doctor`."""

    urls: Annotated[
        tuple[str, ...],
        Option("further folders, datasets or buckets to check", metavar="URL", is_positional=True),
    ] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Described:
    """Properties of a command.

    Attributes:
        has_json: Whether it prints JSON on request.
        unused: Options of `build` that it accepts without effect.
    """

    options: type[Options]
    summary: str
    description: str
    has_json: bool = False
    unused: tuple[str, ...] = ()


COMMANDS = {
    "build": Described(
        options=BuildConfig,
        summary="build a dataset",
        description="Builds a dataset. The last line on stdout is its directory. Apache Beam's own "
        "options, such as --runner, are passed on to Beam.",
    ),
    "plan": Described(
        options=BuildConfig,
        summary="show what build would do; write nothing",
        description="Reads and checks everything, prints what build would do, and writes nothing. "
        "Also accepts build's options for writing, not listed here.",
        has_json=True,
        unused=(
            *("output", "name", "version", "license", "overwrite"),
            *("compression", "jpeg_quality"),
        ),
    ),
    "adopt": Described(
        options=AdoptOptions,
        summary="describe existing TFRecord files where they are",
        description="Reads and checks the TFRecord files in a directory, and writes the files that "
        "describe them next to them. The last line on stdout is the directory. Apache Beam's own "
        "options, such as --runner, are passed on to Beam.",
    ),
    "verify": Described(
        options=VerifyOptions,
        summary="read a dataset back and check it",
        description="Checks the counts, checksums, hashes and every Example of a dataset. Apache "
        "Beam's own options, such as --runner, are passed on to Beam.",
        has_json=True,
    ),
    "show": Described(
        options=ShowOptions,
        summary="print records",
        description="Prints the first records of a dataset.",
        has_json=True,
    ),
    "diff": Described(
        options=DiffOptions,
        summary="compare two datasets",
        description="Prints which records of two datasets were added, removed, changed or moved to "
        "another split, and which features, classes and options differ. The exit code is 0 if "
        "nothing does, 1 if something does, 2 for errors.",
        has_json=True,
    ),
    "report": Described(
        options=ReportOptions,
        summary="write a page to look at a dataset",
        description="Writes report.html, one file with pictures, counts and checks that needs no "
        "server, and report.json with the same figures. The last line on stdout is the page.",
    ),
    "doctor": Described(
        options=DoctorOptions,
        summary="check this machine",
        description="Prints the versions, CPUs, memory, disks and GPUs of this machine, and a "
        "remedy for each problem. The exit code is 1 if there are any.",
    ),
}


def command_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog=program("beam_pipeline", "beam-tfrecords"),
        description="Raw files to sharded TFRecords that describe themselves.",
    )
    add_program_options(parser)
    commands = parser.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND"
    )
    for name, each in COMMANDS.items():
        command = commands.add_parser(name, help=each.summary, description=each.description)
        add_command_options(command, name)
    return parser


def add_command_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Add every argument of a command."""
    known = COMMANDS[command]
    add_options(parser, known.options, headings=HEADINGS, hidden=known.unused)
    if known.options is BuildConfig:
        parser.add_argument("--input", metavar="PATH", dest=OTHER_INPUT, help=_OTHER_INPUT_HELP)
    if command == "plan":
        parser.add_argument("--save", metavar="FILE", help="write the recipe of the build there")
    if known.has_json:
        parser.add_argument("--json", action="store_true", help="print JSON on stdout")
    parser.add_argument("--debug", action="store_true", help="print the full traceback of an error")


def read_command(words: Sequence[str], others: Iterable[str] = ()) -> Command:
    """Read a command line; Beam's options, the `others`, are only suggested."""
    owners = {name: command.options for name, command in COMMANDS.items()}
    return command_parser().read_command(words, owners, others=others)


def options_of(command: Command) -> Any:
    """Return the options of a command as an object of its options class."""
    owner, values = COMMANDS[command.name].options, command.values
    if owner is not BuildConfig:
        return owner(**arguments_of(owner, values))
    path, other_input = values["input"], command.others.get(OTHER_INPUT)
    if recipe.is_recipe(path):
        given = {name: value for name, value in values.items() if name != "input"}
        given |= {"input": other_input} if other_input else {}
        return BuildConfig(**recipe.load(path, given))
    if other_input:
        raise ConfigError(f"--input is for a recipe, which {path} is not; leave one of them out")
    return BuildConfig(**arguments_of(BuildConfig, values))


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return this package's arguments and Beam's, in any order on the command line.

    The commands' parser does not know that `--direct_num_workers` takes a value: it would
    take the value for the input.
    """
    # Beam's own --dry_run needs a value, and any means yes.
    arguments = ["--dry_run=yes" if each == "--dry_run" else each for each in arguments]
    is_dataflow = any("dataflow" in argument.lower() for argument in arguments)
    _, own = _beam_parser(is_dataflow).parse_known_args(arguments)
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
    return frozenset(_beam_parser(False)._option_string_actions)


@functools.cache
def _beam_parser(is_dataflow: bool) -> Parser:
    """Return a parser of Beam's options; only Dataflow's jobs have a --label."""
    parser = Parser(add_help=False, conflict_handler="resolve")  # some options are in two groups
    for group in PipelineOptions.__subclasses__():
        group._add_argparse_args(parser)
    parser._option_string_actions.pop("--labels", None)  # an option of build
    if not is_dataflow:  # it would have no effect
        parser._option_string_actions.pop("--label", None)
    return parser
