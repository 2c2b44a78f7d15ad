"""`--path-pattern`: what the paths of files say, such as "{label}_{speaker}_{index}"."""

import dataclasses
import re
import string

from beam_pipeline.errors import ConfigError

# The features that a file itself is, or that no name can state.
_TAKEN = ("image", "audio", "array", "boxes")
_DROPPED = "_"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """A pattern that paths are held against.

    Attributes:
        text: As the user wrote it.
        names: What it finds, in its order, dropped parts excepted.
        expression: Matches the whole of a path; its groups are `names`.
        by_name: Whether the file's name alone is matched, in whatever folder it lies.
    """

    text: str
    names: tuple[str, ...]
    expression: re.Pattern[str]
    by_name: bool

    def match(self, relative: str) -> tuple[str, ...] | None:
        """The text of each name in the path of a file."""
        found = self.expression.fullmatch(self.matched_part(relative))
        return found.groups() if found else None

    def matched_part(self, relative: str) -> str:
        """What of a file's path is matched: never its suffix."""
        path = relative.rpartition("/")[2] if self.by_name else relative
        return path.rpartition(".")[0]


def parse_pattern(text: str) -> PathPattern:
    """The pattern that a user wrote: literal text and `{name}`s.

    A name stands for one character or more but "/", as few as fit; `{_}` for what is dropped,
    "**/" for any number of folders, "{{" and "}}" for braces. Without a "/" the file's name
    alone is matched.

    Raises:
        ConfigError: It names nothing, something twice, or what cannot be a name.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise _error(text, f"{error}; write a brace itself as {{{{ or }}}}") from error
    names: list[str] = []
    expression = ""
    for literal, name, form, conversion in parts:
        expression += re.escape(literal).replace(re.escape("**/"), "(?:[^/]+/)*")
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise _error(text, f"{{{name}}} is not a name; use letters, digits and underscores")
        if name in names or name in _TAKEN:
            why = "occurs twice" if name in names else "is what the file holds"
            raise _error(text, f"{{{name}}} {why}; choose another name")
        if name == _DROPPED:
            expression += "[^/]+?"
        else:
            expression += "([^/]+?)"
            names.append(name)
    if not names:
        raise _error(text, "it has no names; write it as '{label}_{speaker}_{index}'")
    return PathPattern(
        text=text,
        names=tuple(names),
        expression=re.compile(expression),
        by_name="/" not in text,
    )


def _error(text: str, why: str) -> ConfigError:
    return ConfigError(f"--path-pattern {text!r} cannot be used: {why}")
