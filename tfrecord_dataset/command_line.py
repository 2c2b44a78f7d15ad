"""Command lines: argparse over option classes; mistakes are ConfigErrors."""

import argparse
import dataclasses
import functools
import importlib.metadata
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from tfrecord_dataset.errors import (
    ConfigError,
    UnknownNameError,
    did_you_mean,
    raise_together,
)
from tfrecord_dataset.options import Field, all_options

DISTRIBUTION = "beam-tfrecords"
_help_on_long_lines = functools.partial(argparse.HelpFormatter, max_help_position=32, width=100)
# Attribute of an action with its text when `help` omits it.
_TEXT = "text_of_help"


def version() -> str:
    """The installed version; "unknown" if the packages are not installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class Command(NamedTuple):
    """A parsed command line: options of the command by `all_options` name, and other arguments."""

    name: str
    values: dict[str, Any]
    others: dict[str, Any]


class Parser(argparse.ArgumentParser):
    """An ArgumentParser without abbreviations, with ConfigErrors for mistakes.

    Option values stay texts: `read_command` reports all wrong ones together.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        usual = {"allow_abbrev": False, "formatter_class": _help_on_long_lines}
        super().__init__(*args, **{**usual, **kwargs})

    def read_command(
        self,
        words: Sequence[str],
        owners: Mapping[str, type],
        *,
        others: Iterable[str] = (),
        may_be_missing: Collection[str] = (),
    ) -> Command:
        """Parse a command and its options.

        Raises:
            UnknownNameError: The command does not exist.
            ConfigError: An option does not exist, is missing, or has a wrong value.
        """
        arguments, stray = self.parse_known_args(list(words))
        given = vars(arguments)
        command: str = given.pop("command")
        options = all_options(owners[command])
        parser = _commands_of(self)[command]
        wrong = list(_unknown(stray, {*parser._option_string_actions, *others}, options))
        values: dict[str, Any] = {}
        for name, field in options.items():
            try:
                if name in given:
                    value = given.pop(name)
                    is_text = isinstance(value, str)
                    values[name] = field.parse(value) if is_text else field.check(value)
                elif field.default is dataclasses.MISSING and name not in may_be_missing:
                    raise ConfigError(f"{field.label} is required")
            except ConfigError as error:
                wrong.append(error)
        raise_together(wrong)
        return Command(command, values, given)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            raise UnknownNameError("command", value, action.choices)

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see `{self.prog} --help`)")


def _unknown(
    stray: Sequence[str], flags: Collection[str], options: Mapping[str, Field]
) -> Iterator[ConfigError]:
    """Yield an error for each word that is not an option or an option's value."""
    recipe_only = {field.flag: name for name, field in options.items() if field.option.recipe_only}
    for before, word in zip(("", *stray), stray, strict=False):
        flag = word.partition("=")[0]
        if flag in recipe_only:
            yield ConfigError(
                f"{flag} is not a command-line option; write {recipe_only[flag]} in a recipe"
            )
        elif word.startswith("--"):
            yield ConfigError(f"unknown option {flag}{did_you_mean(flag, flags)}")
        elif not before.startswith("--") or "=" in before:
            yield ConfigError(f"unknown argument {word}; put a pattern of several files in quotes")


def program(module: str, script: str) -> str:
    """Return what the user typed: the installed command's name, or `python -m` the module."""
    typed = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return script if typed == script else f"python -m {module}"


def add_program_options(parser: Parser) -> None:
    """Add `--version` and `--print-completion`, which exit the program."""
    parser.add_argument("--version", action="version", version=f"{DISTRIBUTION} {version()}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        dest=argparse.SUPPRESS,
        choices=("bash", "zsh", "tcsh"),
        help="print a script that completes commands and options in this shell",
    )


class _PrintAllHelp(argparse.Action):
    """Print the help with the options that `--help` omits."""

    def __call__(self, parser: Any, namespace: Any, values: Any, flag: Any = None) -> None:
        _show_all(parser)
        parser.print_help()
        parser.exit()


def _show_all(parser: argparse.ArgumentParser) -> None:
    """Show the rarer options in a command's help, too."""
    for action in parser._actions:
        action.help = getattr(action, _TEXT, action.help)


class _PrintCompletion(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, shell: Any, flag: Any = None) -> None:
        import shtab  # only for this option

        for command in (parser, *_commands_of(parser).values()):
            _show_all(command)
            for action in command._actions:
                is_positional = not action.option_strings and action.choices is None
                if action.metavar in ("DIR", "DATA_DIR", "RUN", "FOLDER"):
                    action.complete = shtab.DIRECTORY
                elif action.metavar == "FILE" or is_positional:
                    action.complete = shtab.FILE
        sys.stdout.write(shtab.complete(parser, shell=shell))
        parser.exit()


def _commands_of(parser: argparse.ArgumentParser) -> Mapping[str, Parser]:
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
) -> None:
    """Add the options of a class and its parts to a command's parser.

    Args:
        headings: Group headings in the order of the help; others follow.
        hidden: Options to omit from the help.
    """
    groups: dict[str, argparse._ActionsContainer] = {
        title: parser.add_argument_group(title) for title in headings
    }
    group: argparse._ActionsContainer = parser
    fields = all_options(owner)
    for name, field in fields.items():
        if field.group:
            if field.group not in groups:
                groups[field.group] = parser.add_argument_group(field.group)
            group = groups[field.group]
        if not field.option.recipe_only:
            _add_option(group, name, field, is_hidden=name in hidden)
    if any(field.option.is_rare for field in fields.values()):
        positional = [name for name, field in fields.items() if field.option.is_positional]
        parser.usage = " ".join(["%(prog)s [options]", *positional])
        parser.add_argument(
            "--help-all",
            action=_PrintAllHelp,
            nargs=0,
            dest=argparse.SUPPRESS,
            help="show the rarer options, too, and exit",
        )


def _add_option(
    group: argparse._ActionsContainer, name: str, field: Field, *, is_hidden: bool
) -> None:
    text = argparse.SUPPRESS if is_hidden else field.help.replace("%", "%%")
    kwargs: dict[str, Any] = {"help": argparse.SUPPRESS if field.option.is_rare else text}
    if field.kind is bool:
        kwargs["action"] = "store_true"
    else:
        kwargs |= {"metavar": field.metavar, "choices": field.choices or None}
        kwargs |= {"action": "append"} if field.option.may_repeat else {}
    if field.option.is_positional:
        if field.kind == tuple[str, ...]:
            kwargs["nargs"] = "+" if field.default is dataclasses.MISSING else "*"
        group.add_argument(name, **kwargs)
        return
    flags = filter(None, (field.flag, field.option.other_flag))
    action = group.add_argument(*flags, dest=name, default=argparse.SUPPRESS, **kwargs)
    setattr(action, _TEXT, text)
