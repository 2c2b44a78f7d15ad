"""`--path-pattern`: parse values from paths, such as "{label}_{speaker}_{index}"."""

import dataclasses
import re
import string

from beam_pipeline.errors import ConfigError
from tfrecord_dataset.format.split_names import SPLIT_WORDS

# Features that come from a file's content, not its path.
_TAKEN = ("image", "audio", "array", "text", "boxes")
_DROPPED = "_"
# The folder "{label?}/" may be missing, as it is of files without a class.
_OPTIONAL = "label?"
# "{label+}" takes as many characters as possible.
_LONG = "+"
# "**/" matches any number of folders, as few as possible.
_FOLDERS = "**"
_ANY_FOLDERS = "(?:[^/]*/)*?"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """A parsed path pattern.

    Attributes:
        text: The pattern as the user wrote it.
        names: Names of the groups, in order.
        regex: Expression with a group for each of `names`.
        by_name: Whether the pattern matches only the file's name, in any folder.
    """

    text: str
    names: tuple[str, ...]
    regex: re.Pattern[str]
    by_name: bool

    def match(self, relative: str) -> tuple[str | None, ...] | None:
        """Return the text of each name in a file's path, None for a missing `{label?}/`.

        None if the path does not match.
        """
        found = self.regex.fullmatch(self.matched_part(relative))
        return found and found.groups()

    def matched_part(self, relative: str) -> str:
        """Return the part of a file's path to match, without suffix."""
        path = relative.rpartition("/")[2] if self.by_name else relative
        return path.rpartition(".")[0]


def parse_pattern(text: str) -> PathPattern:
    """Parse a pattern of literal text and `{name}`s.

    A name matches one or more characters except "/", as few as possible, or as many with "+", as
    "{label+}_{_}" of "great_dane_1"; `{_}` matches text to drop, `{split}` directly before another
    name the longest name of a split, "**/" any number of folders, "{label?}/" a folder that may be
    missing, "{{" and "}}" braces. A pattern without "/" matches only the file's name.

    Raises:
        ConfigError: It has no names, a name twice, or an invalid name.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise _error(text, f"{error}; write a brace itself as {{{{ or }}}}") from error
    names: list[str] = []
    is_plain = all(name is None for _, name, *_ in parts)
    # For each folder and the file's name: literals and names, alternating.
    segments: list[list[str]] = [[""]]
    for literal, name, form, conversion in parts:
        first, *others = literal.split("/")
        segments[-1][-1] += first
        segments += [[other] for other in others]
        if name is None:
            continue
        plain = "label" if name == _OPTIONAL else name.removesuffix(_LONG)
        if form or conversion or not plain.isidentifier():
            raise _error(text, f"{{{name}}} is not a name; use letters, digits and underscores")
        if plain in names or name in _TAKEN:
            why = "occurs twice" if plain in names else "is what the file holds"
            raise _error(text, f"{{{name}}} {why}; choose another name")
        segments[-1] += [name, ""]
        if plain != _DROPPED:
            names.append(plain)
    if is_plain:
        raise _error(text, "it has no names; write it as '{label}_{speaker}_{index}'")
    return PathPattern(
        text=text, names=tuple(names), regex=_regex(segments), by_name="/" not in text
    )


def literal(text: str) -> str:
    """Return the pattern that matches a path; a folder named "**" is any folder."""
    folders = ("{_}" if each == _FOLDERS else _without_names(each) for each in text.split("/"))
    return "/".join(folders)


def _without_names(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _regex(segments: list[list[str]]) -> re.Pattern[str]:
    """Compile a pattern with atomic groups, so that matching never backtracks."""
    blocks = [""]
    for segment in segments[:-1]:
        if segment == [_FOLDERS]:
            blocks.append("")
        elif segment == ["", _OPTIONAL, ""]:
            blocks[-1] += "(?>(?:([^/]+)/)?)"
        else:
            blocks[-1] += f"{_segment(*segment)}/"
    blocks[-1] += _segment(*segments[-1])
    for number in range(1, len(blocks)):
        is_last = number == len(blocks) - 1
        blocks[number] = f"({'?:' if is_last else '?>'}{_ANY_FOLDERS}{blocks[number]})"
    return re.compile("".join(blocks))


def _segment(first: str, *others: str) -> str:
    """Return the expression for a folder's or file's name; its last name matches the rest."""
    text = re.escape(first)
    for at in range(0, len(others), 2):
        name, after = others[at], re.escape(others[at + 1])
        is_last = at == len(others) - 2
        characters = "[^/]+" if is_last or name.endswith(_LONG) else "[^/]+?"
        if name == "split" and not is_last and not after:
            characters = SPLIT_WORDS  # one character would be no split
        found = characters if name.removesuffix(_LONG) == _DROPPED else f"({characters})"
        text += f"{found}{after}" if is_last else f"(?>{found}{after})"
    return text


def _error(text: str, why: str) -> ConfigError:
    return ConfigError(f"--path-pattern {text!r} cannot be used: {why}")
