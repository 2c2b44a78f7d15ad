"""What a listing holds, and which files fit a pattern."""

import dataclasses
import itertools
import operator
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# What a listing hands on at once.
NAMES_AT_ONCE = 1024

# What operating systems leave in folders; never data, so not even rejected.
_LITTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX"})

_WILDCARD = re.compile(r"[*?[]")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file, or a link to one that is not there.

    Attributes:
        path: Absolute path or URL.
        relative: The path below the listed root, with forward slashes.
    """

    path: str
    relative: str


class FileNames(NamedTuple):
    """Some of the files of one folder.

    Attributes:
        folder: Its path below the listed root; "" is the root itself.
        names: Some hundreds at most.
    """

    folder: str
    names: list[str]


class FolderNames(NamedTuple):
    """The names of what one folder holds, sorted."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Status(NamedTuple):
    """What is known of a file without reading it.

    Attributes:
        size: Bytes.
        version: What changes when the file does.
    """

    size: int
    version: str


def is_litter(name: str) -> bool:
    """Whether a file or folder of this name is hidden, or left behind by an operating system."""
    return name.startswith(".") or name in _LITTER


def names_by_folder(relatives: Iterable[str]) -> Iterator[FileNames]:
    """The files of these paths, but hidden ones, with those of a folder that follow each other."""
    pairs = (path.rpartition("/")[::2] for path in relatives if path)
    for folder, group in itertools.groupby(pairs, key=operator.itemgetter(0)):
        if any(map(is_litter, folder.split("/"))) and folder:
            continue
        names = (name for _, name in group if not is_litter(name))
        while some := list(itertools.islice(names, NAMES_AT_ONCE)):
            yield FileNames(folder, some)


def fixed_folder(pattern: str) -> str:
    """The folder above the first part of `pattern` that has a wildcard."""
    return _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def pattern_regex(pattern: str) -> re.Pattern[str]:
    """The paths that `pattern` means: `*`, `?` and `[abc]` within a name, `**/` for folders."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^]/]+\])", pattern)
    return re.compile("".join(map(_part_regex, parts)))


def _part_regex(part: str) -> str:
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in wildcards:
        return wildcards[part]
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inner = part[1:-1].replace("\\", "\\\\")
        return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(part)
