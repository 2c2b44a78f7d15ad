"""Command lines report all errors together, and support completion."""

import dataclasses
import subprocess
import sys
from typing import Annotated

import pytest

from tfrecord_dataset import command_line
from tfrecord_dataset.command_line import Parser, add_options, add_program_options, program
from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.options import Option, Options


@dataclasses.dataclass(frozen=True, kw_only=True)
class Build(Options):
    input: Annotated[str, Option("what", is_positional=True)]
    output: Annotated[str, Option("where to", metavar="DIR")]
    split: Annotated[str, Option("which", choices=("train", "test"))] = "train"


OWNERS = {"build": Build, "verify": Options}


@pytest.fixture
def parser():
    parser = Parser(prog="it")
    add_program_options(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="build")
    add_options(build, Build)
    build.add_argument("--json", action="store_true")
    commands.add_parser("verify", help="verify")
    return parser


def test_a_right_command(parser):
    words = ["build", "--json", "x", "--output", "y", "--split=test"]
    assert parser.read_command(words, OWNERS) == (
        "build",
        {"input": "x", "output": "y", "split": "test"},
        {"json": True},
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "build x --outptu y",
            "unknown option --outptu (did you mean '--output'?); and output",
        ),
        ("build x --outptu=y --nix", "'--output'?); and unknown option --nix; and output (--"),
        ("build x --output y --splti train", "unknown option --splti (did you mean '--split'?)"),
        ("build x --output y --flink_mastr z", "(did you mean '--flink_master'?)"),
        ("build x y --output z", "unknown argument y; put a pattern of several files in quotes"),
        ("build x", "output (--output) is required"),
        ("build", "required: input (see `it build --help`)"),
        ("", "required: COMMAND (see `it --help`)"),
        (
            "biuld x",
            "unknown command 'biuld' (did you mean 'build'?); choose from: build, verify",
        ),
    ],
)
def test_all_mistakes_are_named_at_once(parser, words, message):
    with pytest.raises(ConfigError) as refused:
        parser.read_command(words.split(), OWNERS, others={"--flink_master"})
    assert message in str(refused.value)


@pytest.mark.parametrize(("flag", "shows"), [("--help", False), ("--help-all", True)])
def test_rare_options_are_in_the_whole_help(capsys, flag, shows):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Train(Options):
        epochs: Annotated[int, Option("passes")] = 1
        ema: Annotated[float, Option("an average of weights", is_rare=True)] = 0.5

    parser = Parser(prog="it")
    add_options(parser, Train)
    with pytest.raises(SystemExit):
        parser.parse_args([flag])
    out = capsys.readouterr().out
    assert "--epochs" in out
    assert ("an average of weights (default: 0.5)" in out) == shows
    assert vars(parser.parse_args(["--ema", "0.1"])) == {"ema": "0.1"}


def test_the_version(parser, capsys):
    with pytest.raises(SystemExit) as ended:
        parser.read_command(["--version"], OWNERS)
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"beam-tfrecords {command_line.version()}\n"


@pytest.mark.parametrize(
    ("typed", "name"),
    [("/usr/bin/beam-tfrecords", "beam-tfrecords"), ("/x/__main__.py", "python -m beam_pipeline")],
)
def test_the_program_is_called_as_it_was_typed(monkeypatch, typed, name):
    monkeypatch.setattr(sys, "argv", [typed, "build"])
    assert program("beam_pipeline", "beam-tfrecords") == name


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["it", "bu"], {"build"}), (["it", "build", "--ou"], {"--output"})],
)
def test_bash_completes(parser, capsys, words, expected):
    with pytest.raises(SystemExit):
        parser.read_command(["--print-completion", "bash"], OWNERS)
    script = capsys.readouterr().out
    ask = (
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_it; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "-c", f"{script}\n{ask}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {line.strip() for line in done.stdout.splitlines()} >= expected
