"""Command lines name all that is wrong at once, and complete themselves."""

import subprocess
import sys

import pytest

from tfrecord_dataset import command_line
from tfrecord_dataset.command_line import Parser, add_program_options, program
from tfrecord_dataset.errors import ConfigError, UnknownNameError


@pytest.fixture
def parser():
    parser = Parser(prog="it")
    add_program_options(parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="build")
    build.add_argument("input")
    build.add_argument("--output", metavar="DIR", required=True)
    build.add_argument("--split", choices=("train", "test"))
    commands.add_parser("verify", help="verify")
    return parser


def test_a_right_command(parser):
    found, stray = parser.parse_command(["build", "x", "--output", "y", "z"])
    assert (found.input, found.output, stray) == ("x", "y", ["z"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("build x --outptu y", "there is no option --outptu (did you mean '--output'?); and the "),
        (
            "build x --outptu=y --nix",
            "'--output'?); and there is no option --nix; and the following",
        ),
        ("build --input x --output y", "the input is given without '--input' (see"),
        ("build --input=x --output y", "the input is given without '--input'; and the following"),
        ("build x --output y --splti train", "no option --splti (did you mean '--split'?) (see"),
        ("build x --output y --flink_mastr z", "(did you mean '--flink_master'?)"),
        ("build", "required: input, --output (see `it build --help`)"),
        ("", "required: COMMAND (see `it --help`)"),
    ],
)
def test_all_mistakes_are_told_at_once(parser, words, message):
    with pytest.raises(ConfigError) as told:
        parser.parse_command(words.split(), {"--flink_master"})
    assert message in str(told.value)


def test_an_unknown_command(parser):
    with pytest.raises(UnknownNameError, match=r"'biuld' \(did you mean 'build'\?\); there are"):
        parser.parse_command(["biuld", "x"])


def test_the_version(parser, capsys):
    with pytest.raises(SystemExit) as ended:
        parser.parse_command(["--version"])
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
        parser.parse_command(["--print-completion", "bash"])
    script = capsys.readouterr().out
    ask = (
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_it; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "-c", f"{script}\n{ask}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {line.strip() for line in done.stdout.splitlines()} >= expected
