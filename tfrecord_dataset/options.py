"""Options of commands and functions, declared once as annotated fields of a dataclass.

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class TrainConfig(Options):
        epochs: Annotated[int, Option("passes over the data", least=1)] = 10

The annotation defines the command line, its help and the table in the documentation
(command_line.py), the checks of values from any source (`Options`), and the signature and help of
a function that takes the options (`takes_options`).
"""

import dataclasses
import functools
import inspect
import itertools
import math
import numbers
import os
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tfrecord_dataset.errors import (
    ConfigError,
    UnknownNameError,
    did_you_mean,
    raise_together,
)
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import short_repr

_MOST_WHOLE = (1 << 63) - 1  # int64
_WIDTH = 88  # characters of a line of `help()`
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ValueType:
    """How to parse and check the values of a type.

    `parse` takes a text of the command line and `make` a Python value; both raise a ValueError.
    `metavar` is the value's name in the help; None for the option's.
    """

    parse: Callable[[str], Any]
    make: Callable[[Any], Any]
    metavar: str | None = None


def _numbers(kind: Callable[[Any], Any], others: type, problem: str) -> ValueType:
    """Make the type of numbers of Python and of other libraries, such as NumPy."""

    def make(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, others):
            raise ValueError(problem)
        return kind(value)

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            return make(text)

    return ValueType(parse=parse, make=make, metavar="N")


WHOLE = _numbers(int, numbers.Integral, "is not a whole number; give one, such as 10")


def make_truth(value: Any) -> bool:
    """Check a bool."""
    if not isinstance(value, bool):
        raise ValueError("is neither True nor False; give one of them")
    return value


def make_text(value: Any) -> str:
    """Check a text or a path."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError("is not a text; give one")
    return os.fspath(value)


def parse_names(text: str) -> tuple[str, ...]:
    """Parse the names in `a,b`."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ValueError("has an empty name; separate names with commas: a,b")
    return names


def make_names(value: Any) -> tuple[str, ...]:
    """Check a list of names."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(name, str | os.PathLike) for name in value):
        raise ValueError("is not a list of names; give one, such as ['a', 'b']")
    return tuple(map(os.fspath, value))


def parse_lengths(text: str) -> dict[str, int]:
    """Parse the lengths by name in `sequence=128,caption=32`."""
    pairs = [re.fullmatch(r"\s*(.+?)\s*=\s*(\d+)\s*", part) for part in text.split(",")]
    lengths = {pair[1]: int(pair[2]) for pair in pairs if pair}
    if len(lengths) < len(pairs):
        raise ValueError("cannot be read; give each input once: sequence=128,caption=32")
    return lengths


def make_lengths(value: Any) -> dict[str, int]:
    """Check whole numbers by name."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("does not give whole numbers by name; give some, such as {'a': 32}")
    return {name: WHOLE.make(length) for name, length in value.items()}


def parse_bytes(text: str) -> int:
    """Parse bytes in "50GB" (powers of 1000), "128MiB" or "128M" (of 1024), or "4096"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)(b?)|b?)", text.strip().lower())
    if not match:
        raise ValueError("is not a size; write it as 128MiB or 50GB")
    base = 1000 if match[4] and not match[3] else 1024
    power: int = base ** " kmgt".index(match[2] or " ")
    return round(float(match[1]) * power)


TYPES: Mapping[Any, ValueType] = {
    int: WHOLE,
    float: _numbers(float, numbers.Real, "is not a number; give one, such as 0.1"),
    Any: ValueType(parse=str, make=lambda value: value),
    bool: ValueType(parse=bool, make=make_truth),
    str: ValueType(parse=str, make=make_text),
    ImageSize: ValueType(parse=ImageSize.parse, make=ImageSize.of, metavar="SIDE|WxH"),
    tuple[str, ...]: ValueType(parse=parse_names, make=make_names),
    Mapping[str, int]: ValueType(parse=parse_lengths, make=make_lengths),
}


def check_bounds(value: Any, least: float, most: float, above: float, below: float) -> None:
    """Raise ValueError if a number, or one of a mapping's, is out of bounds.

    `least` and `most` are inclusive, `above` and `below` exclusive. A whole number must be an
    int64, which files of options can hold.
    """
    for number in value.values() if isinstance(value, Mapping) else [value]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if isinstance(number, int) and number > _MOST_WHOLE:
            most = min(most, _MOST_WHOLE)
        if least <= number <= most and above < number < below:
            continue
        bounds = {"from": least, "above": above, "to": most, "below": below}
        stated = [
            f"{word} {bound:{',' if isinstance(bound, int) else ',.12g'}}"
            for word, bound in bounds.items()
            if abs(bound) < math.inf
        ]
        raise ValueError(f"is out of bounds; give a number {' '.join(stated) or 'that is finite'}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Option:
    """Properties of an option in addition to its name, type and default.

    Attributes:
        help: Purpose; the default is added, unless the text contains it.
        flag: Flag on the command line; empty for `--name-of-the-field`.
        other_flag: Alternative flag; or empty.
        metavar: Value name in the help; empty for that of the type.
        choices: Allowed values, or a function that returns them; empty for any.
        parse: Parses the command line's text, or raises a ValueError that continues the sentence
            `--name 'text' …`; None for the type's own.
        make: Converts a value of the type, or raises such a ValueError; None keeps the value. Both
            may raise a ConfigError with a complete message.
        least, most: Inclusive bounds of numbers.
        above, below: Exclusive bounds.
        is_positional: Whether it has no flag.
        may_repeat: Whether it may be given several times, with one text each.
        is_rare: Whether `--help` omits it; `--help-all` shows it.
        recipe_only: Whether the command line does not accept it; a recipe and Python do.
    """

    help: str = dataclasses.field(kw_only=False)
    flag: str = ""
    other_flag: str = ""
    metavar: str = ""
    choices: Sequence[str] | Callable[[], Sequence[str]] = ()
    parse: Callable[[str], Any] | None = None
    make: Callable[[Any], Any] | None = None
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    is_positional: bool = False
    may_repeat: bool = False
    is_rare: bool = False
    recipe_only: bool = False


@dataclasses.dataclass(frozen=True)
class Group:
    """A heading of the help, in the annotation of the first of its options."""

    title: str


class Options:
    """Base of frozen dataclasses with options as annotated fields; checks their values."""

    __slots__ = ()

    def __post_init__(self) -> None:
        owner: type = type(self)
        given = {name: getattr(self, name) for name in fields_of(owner)}
        for name, value in checked(owner, given).items():
            object.__setattr__(self, name, value)
        raise_together([ConfigError(sentence) for sentence in self._conflicts()])

    def _conflicts(self) -> Iterable[str]:
        """Yield contradictions between values that are valid on their own, one sentence each."""
        return ()

    __repr__ = short_repr


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """An option of a class.

    Attributes:
        name: Name of the field.
        option: Annotation of the field.
        kind: Type of the values, without None; `Any` if `option` parses them.
        default: Default value, `dataclasses.MISSING` for none.
        group: Heading that starts at the option, or "".
    """

    name: str
    option: Option
    kind: Any
    default: Any
    group: str = ""

    @property
    def flag(self) -> str:
        """Flag: `--batch-size` for `batch_size`."""
        return self.option.flag or "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> Sequence[str]:
        """Allowed values; empty for any."""
        choices = self.option.choices
        return choices() if callable(choices) else choices

    @property
    def help(self) -> str:
        """Help text with the default."""
        text, default = self.option.help, self.default
        if self.option.metavar and self.choices:
            text = f"{text}: {', '.join(self.choices)}"
        is_told = default is False or default == "" or "(default" in text
        if is_told or not isinstance(default, str | int | float):
            return text
        shown = f"{default:g}" if isinstance(default, float) else default
        return f"{text} (default: {shown})"

    @property
    def metavar(self) -> str | None:
        """Name of the value in the help."""
        choices = ",".join(self.choices)
        return self.option.metavar or (f"{{{choices}}}" if choices else TYPES[self.kind].metavar)

    @property
    def label(self) -> str:
        """Name in messages, for Python and the command line: `num_shards (--num-shards)`."""
        has_flag = not (self.option.is_positional or self.option.recipe_only)
        return f"{self.name} ({self.flag})" if has_flag else self.name

    def parse(self, text: str) -> Any:
        """Parse a text of the command line.

        Raises:
            ConfigError: The text is invalid or not allowed.
        """
        try:
            value = (self.option.parse or TYPES[self.kind].parse)(text)
        except ValueError as error:
            raise self._error(repr(text), error) from error
        return self._checked(value, text if isinstance(value, int | float) else repr(text))

    def check(self, value: Any) -> Any:
        """Convert a value to the option's type: a list of names to a tuple, a side to a size.

        Raises:
            ConfigError: The value has another type, or is out of bounds.
            UnknownNameError: The value is not one of the choices.
        """
        return self._checked(value, repr(value))

    def _checked(self, value: Any, shown: str) -> Any:
        if value is None and self.default is None:
            return None
        option = self.option
        if option.choices:
            if value != self.default and value not in self.choices:
                raise UnknownNameError(self.label, value, self.choices)
            return value
        try:
            value = TYPES[self.kind].make(value)
            if self.kind is not Any:
                check_bounds(value, option.least, option.most, option.above, option.below)
            return option.make(value) if option.make else value
        except ValueError as error:
            raise self._error(shown, error) from error

    def _error(self, shown: str, problem: ValueError) -> ConfigError:
        """Return the error for a value; the problem continues its sentence."""
        return ConfigError(f"{self.label}: {shown} {problem}")


@functools.cache
def fields_of(owner: type) -> Mapping[str, Field]:
    """Return the options of a class by name, in field order; other fields are not included."""
    hints = typing.get_type_hints(owner, include_extras=True)
    options = {}
    for field in dataclasses.fields(owner):
        kind, *notes = typing.get_args(hints[field.name]) or (Any,)
        option = next((note for note in notes if isinstance(note, Option)), None)
        if option is None:
            continue
        kinds = [kind]
        if typing.get_origin(kind) in (types.UnionType, typing.Union):
            kinds = [arg for arg in typing.get_args(kind) if arg is not type(None)]
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        options[field.name] = Field(
            name=field.name,
            option=option,
            kind=kinds[0] if len(kinds) == 1 and kinds[0] in TYPES else Any,
            default=default,
            group=next((note.title for note in notes if isinstance(note, Group)), ""),
        )
    return options


_hints_of = functools.cache(typing.get_type_hints)


def parts_of(owner: type) -> Mapping[str, type]:
    """Return the fields of a class that are dataclasses with options of their own."""
    hints = _hints_of(owner)
    named = {field.name: hints[field.name] for field in dataclasses.fields(owner)}
    return {
        name: kind
        for name, kind in named.items()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and fields_of(kind)
    }


@functools.cache
def all_options(owner: type) -> Mapping[str, Field]:
    """Return all options of a class and its parts by name, such as "seed" and "image.size"."""
    options = dict(fields_of(owner))
    for part, kind in parts_of(owner).items():
        options |= {f"{part}.{name}": field for name, field in fields_of(kind).items()}
    return options


def arguments_of(owner: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return constructor arguments, with parts as objects, from values by `all_options` name."""
    arguments = {name: values[name] for name in fields_of(owner) if name in values}
    for part, kind in parts_of(owner).items():
        own = {name: f"{part}.{name}" for name in fields_of(kind) if f"{part}.{name}" in values}
        if own:
            arguments[part] = kind(**{name: values[dotted] for name, dotted in own.items()})
    return arguments


def checked(owner: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check values of a class's options by name, and convert them to their types.

    Raises:
        ConfigError: An option is unknown or its value invalid; one error reports all of them.
    """
    fields = fields_of(owner)
    values: dict[str, Any] = {}
    wrong: list[ConfigError] = []
    for name, value in given.items():
        if name not in fields:
            wrong.append(ConfigError(f"unknown option {name}{did_you_mean(name, fields)}"))
            continue
        try:
            values[name] = fields[name].check(value)
        except ConfigError as error:
            wrong.append(error)
    raise_together(wrong)
    return values


class _Signature(inspect.Signature):
    """A signature that `help()` prints without types and in short lines."""

    def __str__(self) -> str:
        plain = [
            parameter.replace(annotation=parameter.empty) for parameter in self.parameters.values()
        ]
        text = str(inspect.Signature(plain))
        lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n    ".join(lines)

    def format(self, **_: Any) -> str:
        """Return the same as `str`; Python 3.13 prints this."""
        return str(self)


def takes_options(owner: type) -> Callable[[_Function], _Function]:
    """Decorate a function with a class's options as `**options`, and name them in its help."""

    def decorate(function: _Function) -> _Function:
        given = inspect.signature(function).parameters
        own = [each for each in given.values() if each.kind is not each.VAR_KEYWORD]
        of_class = inspect.signature(owner).parameters
        more = [each for name, each in of_class.items() if name not in given]
        function.__signature__ = _Signature([*own, *more])  # type: ignore[attr-defined]
        function.__doc__ = _with_options(function.__doc__, owner, given)
        return function

    return decorate


def names_options(owner: _Class) -> _Class:
    """Decorate a class of options with a short signature, and name them in its help."""
    of_class = inspect.signature(owner)
    owner.__signature__ = _Signature([*of_class.parameters.values()])  # type: ignore[attr-defined]
    of_init = [*inspect.signature(owner.__init__).parameters.values()]  # type: ignore[misc]
    owner.__init__.__signature__ = _Signature(of_init)  # type: ignore[misc]
    owner.__doc__ = _with_options(owner.__doc__, owner, ())
    return owner


def _with_options(doc: str | None, owner: type, left_out: Iterable[str]) -> str:
    """Return a docstring with the options of a class by group, one line each."""
    groups: dict[str, list[str]] = {}
    group = ""
    for name, field in all_options(owner).items():
        group = field.group or group
        if name not in left_out:
            line = textwrap.shorten(f"{name}: {field.help}", _WIDTH, placeholder=" …")
            groups.setdefault(group, []).append(f"    {line}")
    lines = itertools.chain(*(["", f"{title or 'options'}:", *groups[title]] for title in groups))
    return "\n".join([inspect.cleandoc(doc or ""), *lines, ""])
