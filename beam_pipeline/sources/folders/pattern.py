"""`--path-pattern`: what the paths of files say, such as "{label}_{speaker}_{index}"."""

import dataclasses
import string
from collections.abc import Sequence

from beam_pipeline.errors import ConfigError

# The features that a file itself is, or that no name can state.
_TAKEN = ("image", "audio", "array", "text", "boxes")
_DROPPED = "_"


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """What one folder, or the file's name, is to be: literal texts with a name between each two.

    Attributes:
        literals: One more than there are names.
        kept: Of each name, whether its text is found or dropped.
    """

    literals: tuple[str, ...] = ("",)
    kept: tuple[bool, ...] = ()

    def match(self, text: str) -> tuple[str, ...] | None:
        """The text of each kept name, as short as fits; in one go, whatever `text` is.

        Where a literal is found first, all that follows has the most room: nothing is tried again.
        """
        first, last = self.literals[0], self.literals[-1]
        if not self.kept:
            return () if text == first else None
        if not text.startswith(first) or not text.endswith(last):
            return None
        texts = []
        start = len(first)
        for literal in self.literals[1:-1]:
            end = text.find(literal, start + 1)
            if end < 0:
                return None
            texts.append(text[start:end])
            start = end + len(literal)
        end = len(text) - len(last)
        if end <= start:
            return None
        texts.append(text[start:end])
        return tuple(each for each, kept in zip(texts, self.kept, strict=True) if kept)


# "**/": any number of folders.
_FOLDERS = Segment(("**",))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """A pattern that paths are held against.

    Attributes:
        text: As the user wrote it.
        names: What it finds, in its order, dropped parts excepted.
        segments: What each folder and the name are to be.
        by_name: Whether only the file's name is matched, in any folder.
    """

    text: str
    names: tuple[str, ...]
    segments: tuple[Segment, ...]
    by_name: bool

    def match(self, relative: str) -> tuple[str, ...] | None:
        """The text of each name in the path of a file."""
        return _match(self.segments, self.matched_part(relative).split("/"))

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
    segments = [Segment()]
    for literal, name, form, conversion in parts:
        head, *others = literal.split("/")
        *before, last = segments[-1].literals
        segments[-1] = Segment((*before, last + head), segments[-1].kept)
        segments += [Segment((other,)) for other in others]
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise _error(text, f"{{{name}}} is not a name; use letters, digits and underscores")
        if name in names or name in _TAKEN:
            why = "occurs twice" if name in names else "is what the file holds"
            raise _error(text, f"{{{name}}} {why}; choose another name")
        open_ = segments[-1]
        segments[-1] = Segment((*open_.literals, ""), (*open_.kept, name != _DROPPED))
        if name != _DROPPED:
            names.append(name)
    if not names:
        raise _error(text, "it has no names; write it as '{label}_{speaker}_{index}'")
    return PathPattern(
        text=text,
        names=tuple(names),
        segments=tuple(segments),
        by_name="/" not in text,
    )


def _match(segments: Sequence[Segment], parts: Sequence[str]) -> tuple[str, ...] | None:
    """What the segments find in the parts of a path; each pair of them is looked at once."""
    # What the segments behind find in the parts from each on; None where these do not fit.
    rest: list[tuple[str, ...] | None] = [*(None for _ in parts), ()]
    for number, segment in reversed(list(enumerate(segments))):
        of_rest, rest = rest, [None] * len(rest)
        if segment == _FOLDERS and number < len(segments) - 1:
            rest = of_rest
            for part in reversed(range(len(parts))):
                rest[part] = rest[part] if rest[part + 1] is None else rest[part + 1]
            continue
        for part, text in enumerate(parts):
            behind = of_rest[part + 1]
            if behind is not None and (texts := segment.match(text)) is not None:
                rest[part] = (*texts, *behind)
    return rest[0]


def _error(text: str, why: str) -> ConfigError:
    return ConfigError(f"--path-pattern {text!r} cannot be used: {why}")
