"""Files that lie beside what is read: which of them may hold data, and what is said of these.

A README beside the images is nobody's loss; a table of their labels is. Both are told by their
names alone, so that a million of them cost no more than their listing.
"""

import glob
import heapq
import re
import shlex
from collections.abc import Container, Iterable
from typing import NamedTuple

from beam_pipeline.media.volumes import refusal
from beam_pipeline.records import Rejected
from beam_pipeline.sources.paths import (
    is_submission,
    left_out,
    media_kind,
    stem,
    suffix,
    uncompressed,
)
from beam_pipeline.sources.tree import counted
from tfrecord_dataset.split_names import split_in_name

NOT_READ = "data not read"
# Of documents, programs, settings and pictures of a page: whatever else may hold data.
_NO_DATA = frozenset(
    {"md", "rst", "html", "htm", "pdf", "doc", "docx", "rtf", "tex", "bib", "ppt", "pptx", "svg"}
    | {"py", "ipynb", "sh", "bat", "js", "css", "c", "cc", "cpp", "h", "java", "m", "r", "go"}
    | {"exe", "cff", "ini", "cfg", "toml", "log", "lock", "tmp", "bak"}
    | {"gitignore", "gitattributes", "gitkeep"}
    | {"ttf", "otf", "woff", "ico", "url", "md5", "sha1", "sha256", "asc", "sig", "torrent"}
)
# Settings, a schema; but train.yaml holds the boxes of Bosch's traffic lights.
_SETTINGS = frozenset({"yaml", "yml"})
# Beside files of many records each; JSON and texts there are what their writers say of them.
_TABLES = frozenset(
    {"csv", "tsv", "jsonl", "ndjson", "xlsx", "parquet", "arrow", "feather", "npy", "npz", "mat"}
    | {"h5", "hdf5", "db", "sqlite", "sqlite3"}
)
# What such files are called, if they are texts.
_HARMLESS = re.compile(
    r"read_?me|licen[cs]e|copying|copyright|notice|changelog|changes|citation|attribution|authors"
    r"|credits|acknowledg|requirements|checksum|md5|sha(1|256|512)|terms|url",
    re.IGNORECASE,
)
_NUM_NAMED = 8
_NUM_IGNORED = 3


def may_hold_data(path: str) -> bool:
    """Whether a file may be a table, list, annotation, archive or what nobody here knows.

    Not one that is called like a README, a document, a program or settings.
    """
    ending = suffix(path)
    if not ending or ending in _NO_DATA or media_kind(path) in ("image", "audio"):
        return False
    if ending in _SETTINGS:
        return split_in_name(stem(path)) is not None
    return not (ending == "txt" and _HARMLESS.search(stem(path)))


class Named(NamedTuple):
    """Files, of which however many there are only a few are named.

    Attributes:
        number: How many they are.
        first: Some of them, the first by name and least deep; the same in any order.
        suffixes: Of all.
    """

    number: int = 0
    first: tuple[str, ...] = ()
    suffixes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Named":
        """All of these files."""
        paths = list(paths)
        return cls(len(paths), _first(paths), frozenset(map(suffix, paths)))

    def and_of(self, other: "Named") -> "Named":
        """These files and others."""
        first = _first(self.first + other.first)
        return Named(self.number + other.number, first, self.suffixes | other.suffixes)

    def but_for(self, read: Container[str]) -> "Named":
        """These files without some that are read after all, all of which are among the first."""
        first = tuple(path for path in self.first if path not in read)
        return self._replace(number=self.number - len(self.first) + len(first), first=first)

    def __str__(self) -> str:
        """ "a.csv", "a.csv and b.csv", "3 files such as a.csv"."""
        if self.number <= 2:
            return " and ".join(map(shown, self.first))
        return f"{counted(self.number, 'file')} such as {shown(self.first[0])}"

    def ignoring(self) -> str:
        """The options that leave all of them out."""
        if self.number <= _NUM_IGNORED:
            patterns = [glob.escape(path.rpartition("/")[2]) for path in self.first]
        else:
            patterns = [f"*.{each}" for each in sorted(self.suffixes)]
        return " ".join(f"--ignore {shlex.quote(each)}" for each in dict.fromkeys(patterns))


def shown(path: str) -> str:
    """The path of a file that may lie above the folder that it is relative to."""
    return path.lstrip("./")


NO_FILES = Named()


def _first(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(heapq.nsmallest(_NUM_NAMED, paths, key=lambda path: (path.count("/"), path)))


def unused(relative: str, kind: str = "image") -> Rejected:
    """A file for which its layout of images, or of another kind of files, has no use."""
    if media_kind(relative) == kind:
        what = "images" if kind == "image" else kind
        return left_out(relative, f"unused {kind}", f"it is outside the folders of {what}")
    return passed_over(relative, kind)


def passed_over(relative: str, kind: str) -> Rejected:
    """A file that is no image, audio or array where the records are."""
    if may_hold_data(relative):
        return not_read(relative)
    kind = "a text" if kind == "text" else f"an {kind}"
    return left_out(relative, f"not {kind} file", f"its suffix is not {kind}'s")


def beside_containers(relative: str, noun: str, suffixes: str) -> Rejected:
    """A file beside those of many records each: a table or array may have what these lack."""
    if suffix(uncompressed(relative)) in _TABLES:
        return not_read(relative)
    return left_out(relative, f"not {noun}", f"its suffix is not {suffixes}")


def not_read(relative: str) -> Rejected:
    """A file that may hold data, and that no reader of this layout takes."""
    if is_submission(relative):
        return left_out(relative, "submission", "it is called as what a competition wants")
    usual = "it may hold data; read it as the input, or leave it out with --ignore"
    return left_out(relative, NOT_READ, refusal([relative]) or usual)
