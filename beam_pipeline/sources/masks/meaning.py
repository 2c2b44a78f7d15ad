"""What the pixels of maps mean: told by the first of them, and by files that name classes."""

import dataclasses
from collections.abc import Iterable, Sequence

from beam_pipeline.media.maps import BINARY, IGNORED, Seen
from beam_pipeline.sources.masks.names import CLASSES, DEPTH
from beam_pipeline.sources.masks.tables import Classes
from beam_pipeline.sources.tree import counted

_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_BACKGROUND, _FOREGROUND = "background", "foreground"
# A photograph in greys has more levels than a map of classes that nobody has named.
_MOST_NUMBERS = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class Meaning:
    """What the pixels of maps mean.

    Attributes:
        shows: CLASSES or DEPTH.
        names: Of the classes, by number; empty where nothing says them.
        colors: Red, green and blue of each class, where pixels are colours; else empty.
        words: The same, for people.
        doubt: Why the maps cannot be read, and what helps; "" where they can.
    """

    shows: str = CLASSES
    names: tuple[str, ...] = ()
    colors: bytes = b""
    words: str = ""
    doubt: str = ""


def is_map(seen: Seen, shows: str) -> bool:
    """Whether an image where maps should be may be one: a photograph is none."""
    if shows == DEPTH:
        return seen.numbers is not None
    if seen.colors is None:
        return False
    return seen.numbers is None or len(seen.numbers) <= _MOST_NUMBERS


def meaning_of(seen: Iterable[Seen], shows: str, table: Classes | None, where: str) -> Meaning:
    """What maps mean.

    Args:
        seen: The first of them, of which `is_map` holds.
        shows: CLASSES or DEPTH.
        table: The classes, where a file names them, or all know them.
        where: The file that names them, "" where there is none.
    """
    first = list(seen)
    if shows == DEPTH:
        return Meaning(shows=DEPTH, words="depths")
    said = f" of {where}" if where else ""
    colors = frozenset().union(*(each.colors or () for each in first))
    numbers = frozenset().union(*(each.numbers or () for each in first)) - {IGNORED}
    has_numbers = all(each.numbers is not None for each in first)
    if table and table.colors and _are_colors(colors, numbers, has_numbers, table, where):
        return Meaning(
            names=table.names,
            colors=bytes(value for color in table.colors for value in color),
            words=f"{counted(len(table.names), 'class')} by the colours{said}",
        )
    named = table.names if table and (where or not table.colors) else ()
    if (_WHITE in colors or not (named or numbers - {0})) and colors <= {_BLACK, _WHITE}:
        if len(named) > 2:
            what = f"the maps are black and white, but {where} names {len(named)} classes"
            return Meaning(doubt=f"{what}; name two there, or none")
        names = (*((_BACKGROUND,) if len(named) < 2 else ()), *named)
        names = names if len(names) == 2 else (_BACKGROUND, _FOREGROUND)
        return Meaning(
            names=names,
            colors=BINARY,
            words=f"black is the class {names[0]}, white the class {names[1]}",
        )
    if not has_numbers:
        return Meaning(doubt=_doubt_of_colors(colors, table, where))
    if named:
        return Meaning(names=named, words=f"{counted(len(named), 'class')}{said}")
    return Meaning(words="numbers of classes, which no file names")


def _are_colors(
    colors: frozenset[tuple[int, ...]],
    numbers: frozenset[int],
    has_numbers: bool,
    table: Classes,
    where: str,
) -> bool:
    """Whether the pixels stand for classes by their colours, not by their numbers."""
    if where and not has_numbers:
        return colors <= {*table.colors, _BLACK} or bool(colors & {*table.colors})
    is_grey = all(len(set(color)) == 1 for color in colors)
    if where and is_grey and max(numbers, default=0) < len(table.names):
        return False
    return colors <= set(table.colors)


def _doubt_of_colors(colors: frozenset[tuple[int, ...]], table: Classes | None, where: str) -> str:
    color = ",".join(map(str, max(colors)))
    if table and table.colors:
        return f"the maps have the colour {color}, and {where} none of their colours; correct it"
    return (
        f"the maps have colours such as {color}, which no file gives a class; put a "
        "class_dict.csv with the columns name,r,g,b beside the folders, a row per class"
    )


def few(paths: Sequence[str], number: int) -> list[str]:
    """Some of many paths, from the first to the last."""
    return list(paths[:: max(1, len(paths) // number)][:number])
