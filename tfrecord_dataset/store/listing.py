"""Listings of files, and glob patterns."""

import dataclasses
import fnmatch
import itertools
import operator
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Number of files per batch of a listing.
NAMES_AT_ONCE = 1024

# Files of operating systems: never data, so not even rejects.
_LITTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX"})

_WILDCARD = re.compile(r"[*?[]")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file, or a broken link: its path or URL, and its path below the listed root."""

    path: str
    relative: str


class FileNames(NamedTuple):
    """Names of up to hundreds of files of a folder below the listed root ("" is the root)."""

    folder: str
    names: list[str]


class FolderNames(NamedTuple):
    """Sorted names of a folder's entries."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class KeyRange(NamedTuple):
    """The keys of a store after `after`, up to `end`; empty for no limit."""

    after: str = ""
    end: str = ""


class Status(NamedTuple):
    """Size of a file in bytes, and a value that changes with its content."""

    size: int
    version: str


def is_litter(name: str) -> bool:
    """Whether a file or folder is hidden, or left by an operating system."""
    return name.startswith(".") or name in _LITTER


def names_by_folder(relatives: Iterable[str]) -> Iterator[FileNames]:
    """Group the files of these paths, except hidden ones, by consecutive folders."""
    pairs = (path.rpartition("/")[::2] for path in relatives if path)
    for folder, group in itertools.groupby(pairs, key=operator.itemgetter(0)):
        if any(map(is_litter, folder.split("/"))) and folder:
            continue
        names = (name for _, name in group if not is_litter(name))
        while some := list(itertools.islice(names, NAMES_AT_ONCE)):
            yield FileNames(folder, some)


def paths_in(parts: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Join the names of each folder to paths: the inverse of `names_by_folder`."""
    for folder, names in parts:
        prefix = f"{folder}/" if folder else ""
        yield from (prefix + name for name in names)


def fixed_folder(pattern: str) -> str:
    """Return the folder above the first part of `pattern` with a wildcard."""
    return _WILDCARD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def pattern_regex(pattern: str) -> re.Pattern[str]:
    """Compile `pattern`: `*`, `?` and `[abc]` match within a name, `**/` matches folders."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^]/]+\])", pattern)
    return re.compile("".join(map(_part_regex, parts)))


def _part_regex(part: str) -> str:
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in wildcards:
        return wildcards[part]
    if part.startswith("["):
        return "(?!/)" + fnmatch.translate(part)[len("(?s:") : -len(r")\Z")]
    return re.escape(part)
