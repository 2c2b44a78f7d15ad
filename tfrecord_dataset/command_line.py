"""Command lines: argparse, whose mistakes are ConfigErrors that name all that is wrong at once."""

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from tfrecord_dataset.errors import ConfigError, UnknownNameError, did_you_mean, nearest

DISTRIBUTION = "beam-tfrecords"


def version() -> str:
    """The installed version; "unknown" where the packages lie in a folder that none installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser without abbreviations, whose mistakes are ConfigErrors.

    argparse stops at the first mistake: `--outptu` was told as a missing `--output`. So names are
    looked at before it parses, and told with what it finds.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._unknown: list[str] = []

    def parse_command(
        self, words: Sequence[str], others: Collection[str] = ()
    ) -> tuple[argparse.Namespace, list[str]]:
        """The arguments of the command that the first word names, and words that are none of it.

        Args:
            words: Of the command line.
            others: Options that somebody else reads, to suggest them.

        Raises:
            UnknownNameError: There is no such command.
            ConfigError: An option does not exist, is missing, or has a wrong value.
        """
        commands = _commands_of(self)
        command = commands.get(words[0]) if words else None
        if command is not None:
            words = [words[0], *command._known(words[1:], others)]
        elif words and not words[0].startswith("-"):
            raise UnknownNameError("command", words[0], commands)
        found = self.parse_known_args(list(words))
        if command is not None and command._unknown:
            command.error("")
        return found

    def _known(self, words: Sequence[str], others: Collection[str]) -> Iterator[str]:
        """The words without those of unknown options, which are noted."""
        options = [*self._option_string_actions, *others]
        without_name = [f"--{each.dest}" for each in self._actions if not each.option_strings]
        is_value = False
        for word in words:
            name, has_value, _ = word.partition("=")
            if name in without_name:
                self._unknown.append(f"the {name[2:]} is given without {name!r}")
                is_value = False
                continue
            if name.startswith("--") and name not in options:
                self._unknown.append(f"there is no option {name}{did_you_mean(name, options)}")
                meant = self._option_string_actions.get(nearest(name, options))
                is_value = bool(meant and meant.nargs is None and not has_value)
                continue
            if not is_value or word.startswith("--"):
                yield word
            is_value = False

    def error(self, message: str) -> NoReturn:
        told = "; ".join(filter(None, (*self._unknown, message)))
        raise ConfigError(f"{told} (see `{self.prog} --help`)")


def program(module: str, script: str) -> str:
    """What the user has typed: the name of the installed command, or `python -m` the module."""
    typed = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return script if typed == script else f"python -m {module}"


def add_program_options(parser: Parser) -> None:
    """Adds `--version` and `--print-completion`, which end the program."""
    parser.add_argument(
        "--version",
        action=_PrintVersion,
        nargs=0,
        dest=argparse.SUPPRESS,
        help="show program's version number and exit",
    )
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        dest=argparse.SUPPRESS,
        choices=("bash", "zsh", "tcsh"),
        help="print a script that completes commands and options in this shell",
    )


class _PrintVersion(argparse.Action):
    """argparse's own takes a text, for which every command would look among all packages."""

    def __call__(self, parser: Any, namespace: Any, values: Any, flag: Any = None) -> None:
        sys.stdout.write(f"{DISTRIBUTION} {version()}\n")
        parser.exit()


class _PrintCompletion(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, shell: Any, flag: Any = None) -> None:
        import shtab  # for this alone

        for each in (parser, *_commands_of(parser).values()):
            for action in each._actions:
                is_positional = not action.option_strings and action.choices is None
                if action.metavar in ("DIR", "DATA_DIR", "RUN", "FOLDER"):
                    action.complete = shtab.DIRECTORY
                elif action.metavar == "FILE" or is_positional:
                    action.complete = shtab.FILE
        sys.stdout.write(shtab.complete(parser, shell=shell))
        parser.exit()


def _commands_of(parser: argparse.ArgumentParser) -> Mapping[str, Parser]:
    """The parsers of its commands, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}
