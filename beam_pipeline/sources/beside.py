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

from beam_pipeline.media.volumes import SUFFIXES, refusal
from beam_pipeline.records import Rejected
from beam_pipeline.sources.paths import ARRAY_SUFFIXES, left_out, media_kind, stem, suffix
from beam_pipeline.sources.tree import counted

NOT_READ = "data not read"
_TABLES = frozenset({"csv", "tsv", "psv", "jsonl", "ndjson", "xls", "xlsx", "ods"})
_COLUMNS = frozenset({"parquet", "arrow", "feather", "h5", "hdf5", "mat", "pkl", "pickle", "rds"})
_ANNOTATIONS = frozenset(
    {"json", "geojson", "xml", "txt", "lst", "list", "names", "labels", "dat"}
    | {"lab", "textgrid", "srt", "vtt"}
)
_RECORDS = frozenset({"tfrecord", "tfrecords", "record", "lmdb", "mdb", "db", "sqlite", "sqlite3"})
_ARCHIVES = frozenset({"tar", "zip", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar"})
_DATA = ARRAY_SUFFIXES | _TABLES | _COLUMNS | _ANNOTATIONS | _RECORDS | _ARCHIVES | SUFFIXES
# What such files are called, if they are texts.
_HARMLESS = re.compile(
    r"read_?me|licen[cs]e|copying|copyright|notice|changelog|changes|citation|attribution|authors"
    r"|credits|acknowledg|requirements|checksum|md5|sha(1|256|512)|terms|url",
    re.IGNORECASE,
)
_SUBMISSION = re.compile("submi(t|ssion)", re.IGNORECASE)
_NUM_NAMED = 8
_NUM_IGNORED = 3


def may_hold_data(path: str) -> bool:
    """Whether a file is called like tables, lists, annotations, archives: not like a README."""
    ending = suffix(path)
    return ending in _DATA and not (ending == "txt" and _HARMLESS.search(stem(path)))


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


def is_submission(name: str) -> bool:
    """Whether a table is called as one that a competition wants: it has no data."""
    return _SUBMISSION.search(name.rpartition("/")[2]) is not None


def not_read(relative: str) -> Rejected:
    """A file that may hold data, and that no reader of this layout takes."""
    if is_submission(relative):
        return left_out(
            relative, NOT_READ, "it is called as what a competition wants, which holds no data"
        )
    usual = "it may hold data; read it as the input, or leave it out with --ignore"
    return left_out(relative, NOT_READ, refusal([relative]) or usual)
