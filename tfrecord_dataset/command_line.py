"""Command lines: argparse, whose mistakes are ConfigErrors that name all that is wrong at once.

What it takes, its help and the table of the documentation come from classes of options.
"""

import argparse
import dataclasses
import importlib.metadata
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from tfrecord_dataset.errors import (
    ConfigError,
    UnknownNameError,
    did_you_mean,
    nearest,
    raise_together,
)
from tfrecord_dataset.options import Field, fields_of, parts_of

_Owner = TypeVar("_Owner")

DISTRIBUTION = "beam-tfrecords"
# Of what stands for a value in the table; names of layouts are more.
_WIDEST = 80
# In place of a value that is wrong, while the others are read.
_WRONG: tuple[()] = ()


def version() -> str:
    """The installed version; "unknown" where the packages lie in a folder that none installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser without abbreviations, whose mistakes are ConfigErrors.

    argparse stops at the first mistake: `--outptu` was told as a missing `--output`. So names are
    looked at before it parses, wrong values are left out, and both are told with what it finds.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._unknown: list[str] = []
        self._wrong: list[ConfigError] = []

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
        return self.parse_known_args(list(words))

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found: tuple[argparse.Namespace, list[str]] = super().parse_known_args(args, namespace)
        if self._unknown:
            self.error("")
        wrong, self._wrong = self._wrong, []
        raise_together(wrong)
        return found

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except ConfigError as error:
            self._wrong.append(error)
            return _WRONG

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if value is not _WRONG:
            super()._check_value(action, value)

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
        wrong = [each.as_command for each in self._wrong]
        told = "; and ".join(filter(None, (*self._unknown, *wrong, message)))
        self._unknown, self._wrong = [], []
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


def add_options(
    parser: argparse.ArgumentParser,
    owner: type,
    *,
    headings: Sequence[str] = (),
    hidden: Collection[str] = (),
    needed: Sequence[str] = (),
    may_be_missing: Sequence[str] = (),
) -> None:
    """Adds the options of a class to a parser; parsed, only those that were given have a value.

    Args:
        parser: Of a command.
        owner: The class; the options of its parts are added, too.
        headings: In the order of the help; others follow as they come.
        hidden: Options that the help leaves out.
        needed: Options with a default that the command must name.
        may_be_missing: Options without a default that the command need not name.
    """
    groups: dict[str, argparse._ActionsContainer] = {
        title: parser.add_argument_group(title) for title in headings
    }
    group: argparse._ActionsContainer = parser
    for dest, field in _all_fields(owner):
        if field.group:
            if field.group not in groups:
                groups[field.group] = parser.add_argument_group(field.group)
            group = groups[field.group]
        told: dict[str, Any] = {"help": field.help.replace("%", "%%")}
        if field.name in hidden:
            told["help"] = argparse.SUPPRESS
        if field.kind is bool:
            told["action"] = "store_true"
        else:
            told |= {"action": "extend"} if field.option.may_repeat else {}
            told |= {"type": field.parse, "metavar": field.metavar}
            told["choices"] = field.choices or None
        if field.option.is_positional:
            if field.kind == tuple[str, ...]:
                told |= {"nargs": "+" if field.default is dataclasses.MISSING else "*", "type": str}
            group.add_argument(dest, **told)
            continue
        has_default = field.default is not dataclasses.MISSING and field.name not in needed
        told["required"] = not has_default and field.name not in may_be_missing
        flags = filter(None, (field.flag, field.option.other_flag))
        group.add_argument(*flags, dest=dest, default=argparse.SUPPRESS, **told)


def _all_fields(owner: type) -> Iterator[tuple[str, Field]]:
    """The options of a class and of its parts, with the names that parsed arguments have."""
    yield from fields_of(owner).items()
    for kind in parts_of(owner).values():
        for field in fields_of(kind).values():
            yield _dest_of_part(field), field


def _dest_of_part(field: Field) -> str:
    return field.flag.strip("-").replace("-", "_")


def from_arguments(owner: type[_Owner], given: Mapping[str, Any]) -> _Owner:
    """An object of a class from parsed arguments by name; what is no option of it is left out."""
    kind: type = owner
    values = {name: given[name] for name in fields_of(kind) if name in given}
    for name, kind in parts_of(owner).items():
        fields = fields_of(kind).values()
        by_name = {field.name: _dest_of_part(field) for field in fields}
        own = {inner: given[dest] for inner, dest in by_name.items() if dest in given}
        values[name] = kind(**own)
    return owner(**values)


def as_table(owner: type) -> str:
    """The options of a class as a table in Markdown."""
    rows = ["| option | meaning |", "|---|---|"]
    for _, field in _all_fields(owner):
        words = [] if field.option.is_positional else [field.flag]
        if field.kind is not bool:
            metavar = field.metavar or field.name.upper()
            words.append(metavar if len(metavar) <= _WIDEST else field.name.upper())
        name = " ".join(words).replace("|", "\\|")
        meaning = field.help.replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| `{name}` | {meaning} |")
    return "\n".join(rows) + "\n"
