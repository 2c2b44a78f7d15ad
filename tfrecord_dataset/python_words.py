"""Errors and notes in Python's words: messages name the command's options, `--num-shards 4`, which
a caller in Python is told as `num_shards=4`; `errors.BeamTFRecordsError.as_command` keeps the
command's, and notes have these in `of_command`.

    @in_python(BuildConfig)
    def build(config): ...

    @speaks_python
    def adopt(path, *, overwrite=False): ...
"""

import contextlib
import contextvars
import functools
import inspect
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from tfrecord_dataset import users_code
from tfrecord_dataset.errors import BeamTFRecordsError, ConfigError
from tfrecord_dataset.options import Field, checked, fields_of, parts_of

# The name of an argument, and its option, or else the type of its default.
_Argument = tuple[str, Field | type]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Owner = TypeVar("_Owner")

# What is meant for a terminal stays, as in `python -m beam_pipeline verify`.
_SPOKEN = re.compile(
    r"(`[^`]*`)|(?<![\w-])(--[a-z][a-z\d]*(?:-[a-z\d]+)*)(?![\w-])"
    r"(?:[ =]('[^']*'|\"[^\"]*\"|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|\S+))?"
)
_REPEATED = re.compile(r"(\b\w+=)\[([^\[\]]*)\] \1\[")  # an option given twice is one list
_OF_NO_WORD = re.compile(r"[=,*/:._\d]")
_METAVAR = re.compile(r"[A-Z][A-Z_]+")
_NUMBER = re.compile(r"-?\d[\d_]*(\.\d+)?(e-?\d+)?")
# As Python shows a value: a text, several values, a truth.
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|[({\[].*[)}\]]|True|False|None")

# Of whoever has called; None for a command.
_CALLER: contextvars.ContextVar[Mapping[str, _Argument] | None] = contextvars.ContextVar(
    "_CALLER", default=MappingProxyType({})
)


@contextlib.contextmanager
def in_python(*owners: Any, renamed: Mapping[str, str] | None = None) -> Iterator[None]:
    """Has errors and notes name the arguments of functions and the options of classes; decorates.

    Args:
        owners: The functions, and the classes with options or arguments; names of the first are
            preferred, and all to those of what calls.
        renamed: Other names of arguments, by those of options.
    """
    outer = _CALLER.get()
    words = {**(outer or {}), **_words(owners)}
    for option, argument in (renamed or {}).items():
        words["--" + option.replace("_", "-")] = (argument, object)
    token = _CALLER.set(None if outer is None else words)
    try:
        yield
    except BeamTFRecordsError as error:
        error.told = error.told or _told(error.as_command, words)
        raise
    finally:
        _CALLER.reset(token)


@contextlib.contextmanager
def of_command() -> Iterator[None]:
    """Has notes name the options of the command, whatever functions it calls."""
    token = _CALLER.set(None)
    try:
        yield
    finally:
        _CALLER.reset(token)


def note(text: str) -> str:
    """What a caller is told besides errors, in the caller's words."""
    return _told(text, _CALLER.get() or {})


def speaks_python(function: _Function) -> _Function:
    """Decorates a function whose arguments are called as the command's options are."""

    @functools.wraps(function)
    def speaking(*args: Any, **kwargs: Any) -> Any:
        with in_python(function):
            return function(*args, **kwargs)

    return speaking  # type: ignore[return-value]


class _TheirFrames:
    """Has errors of the user's code leave with the frames of that code; not a generator's manager,
    whose frames they would get."""

    def __init__(self, packages: Callable[[], Collection[str]]) -> None:
        self._packages = packages

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            users_code.keep_theirs(error, self._packages())


def shows_theirs(
    packages: Callable[[], Collection[str]] = tuple,
) -> Callable[[_Function], _Function]:
    """Decorates a function that takes `debug`, which shows all frames, and runs the user's code.

    Args:
        packages: Returns those that the user brings (`users_code.told`).
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def shown(*args: Any, debug: bool = False, **kwargs: Any) -> Any:
            if debug or _CALLER.get() is None:
                return function(*args, debug=debug, **kwargs)
            with _TheirFrames(packages):
                return function(*args, debug=debug, **kwargs)

        return shown  # type: ignore[return-value]

    return decorate


def tells_in_python(owner: type[_Owner]) -> type[_Owner]:
    """Decorates a class of options: names and values that it does not take are told in Python's
    words, all of them together."""
    kind: Any = owner
    make: Callable[..., None] = kind.__init__

    @functools.wraps(make)
    def __init__(self: _Owner, *args: Any, **given: Any) -> None:
        with in_python(owner):
            options = {name: each for name, each in given.items() if name not in parts_of(kind)}
            if not options.keys() <= fields_of(kind).keys():
                checked(kind, options)
            make(self, *args, **given)

    kind.__init__ = __init__
    return owner


def _words(owners: tuple[Any, ...]) -> dict[str, _Argument]:
    """Arguments, and what is known of them, by the command's options."""
    words: dict[str, _Argument] = {}
    for owner in reversed(owners):
        of_class = _of_class(owner) if isinstance(owner, type) else {}
        words |= of_class or _of_function(owner)
    return words


@functools.cache
def _of_class(owner: type) -> Mapping[str, _Argument]:
    words: dict[str, _Argument] = {}
    for part, kind in parts_of(owner).items():
        for field in fields_of(kind).values():
            words[field.flag] = (f"{part}={kind.__name__}({field.name}", field)
    for field in fields_of(owner).values():
        words |= dict.fromkeys((field.flag, field.option.other_flag), (field.name, field))
    return words


@functools.cache
def _of_function(function: Any) -> Mapping[str, _Argument]:
    parameters = inspect.signature(function).parameters
    return {
        "--" + name.replace("_", "-"): (name, type(parameter.default))
        for name, parameter in parameters.items()
    }


def _told(text: str, words: Mapping[str, _Argument]) -> str:
    """A message in the words of Python."""

    def argument(found: re.Match[str]) -> str:
        code, flag, value = found[1], found[2], found[3] or ""
        if code or flag not in words:
            return found[0]
        name, known = words[flag]
        close = ")" if "(" in name else ""
        given = value if _LITERAL.fullmatch(value) else value.rstrip(";:,.)")
        if known is object and _METAVAR.fullmatch(given):
            return f"{name}={value[len(given) :]}"
        shown = _value(given, known)
        if shown is not None:
            return f"{name}={shown}{close}{value[len(given) :]}"
        is_truth = (known.kind if isinstance(known, Field) else known) is bool
        stands_for = "True" if is_truth else "…" if close else ""
        return f"{name}={stands_for}{close}{found[0][len(flag) :]}"

    told = _SPOKEN.sub(argument, text)
    while told != (joined := _REPEATED.sub(r"\1[\2, ", told)):
        told = joined
    return told


def _value(text: str, known: Field | type) -> str | None:
    """The value of an option as Python writes it; None for a word that only follows it."""
    if not text or _METAVAR.fullmatch(text) or _NUMBER.fullmatch(text):
        return text or None
    option = known if isinstance(known, Field) else None
    is_literal = _LITERAL.fullmatch(text)
    if is_literal and not (option and isinstance(option.default, tuple) and text[0] in "'\""):
        return text
    choices = (*option.choices, *option.option.metavar.split("|")) if option else ()
    if not is_literal and text not in choices and not _OF_NO_WORD.search(text):
        return None
    value: Any = text
    if option is not None:
        value = shlex.split(text)[0]
        if option.metavar != "FILE":  # not what it holds
            with contextlib.suppress(ConfigError, ValueError):
                value = option.parse(value)
    return repr(list(value) if isinstance(value, tuple) else value)
