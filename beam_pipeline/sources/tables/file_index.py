"""Resolve the names of media files in tables and annotations to files."""

import functools
import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Sequence

from beam_pipeline.files import storage
from beam_pipeline.records import composed
from beam_pipeline.sources.paths import joined, media_kind, stem, without_upload_prefix
from beam_pipeline.sources.tables.stored_paths import StoredPaths
from beam_pipeline.sources.tree import NOTHING, Ignored
from tfrecord_dataset.format.split_names import is_split, split_in_name

# Files of one name that are compared if none of them is in the folder that is named.
_MOST_ALIKE = 1000
_LOG = logging.getLogger(__name__)
# What the numbers of `StoredPaths` have room for; a store lists them with 10^5 requests.
_MOST_FILES = 100_000_000
_DRIVE = re.compile(r"[A-Za-z]:(?=/)")


class FileIndex:
    """Media files of a tree by their names.

    A name may be a path below the tree, a path from another machine (`C:\\data\\cat\\1.jpg`,
    `/kaggle/input/pets/cat/1.jpg`, `../../media/1.jpg`), a bare name, or a stem (an id). It matches
    the file that shares the most parent folders; a file with another suffix must share at least
    one, unless all files are in one folder. The name of an upload to Label Studio
    (`fb7ad4ef-1.jpg`) that no file has is the name without its prefix.

    Args:
        keys: Paths of the files, relative to the tree.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._paths = StoredPaths(keys)

    @classmethod
    def of(cls, root: str, ignored: Ignored = NOTHING) -> "FileIndex":
        """Index the images, audio and arrays below a folder, once per build (`forget`).

        The index of a folder of too many files is empty, with a warning.
        """
        return _index_of(root, ignored)

    @staticmethod
    def forget() -> None:
        """Forget the indexes of an earlier build in this process, whose files may have changed."""
        _index_of.cache_clear()

    def __len__(self) -> int:
        return self._paths.number

    def find(self, name: str, split: str = "") -> str | None:
        """Return the file that a name matches; None unless there is exactly one."""
        matches = self.matches(name, split)
        return matches[0] if len(matches) == 1 else None

    def matches(self, name: str, split: str = "") -> Sequence[str]:
        """Return all files that a name may match, relative to the tree.

        Args:
            name: Name in a table or annotation.
            split: In a tie, a file in a folder of this split wins.
        """
        wanted = _normal(name)
        base = wanted.rpartition("/")[2]
        # Looks up one of possibly thousands of folders with a file of this name.
        tail = "/".join(wanted.split("/")[-2:])
        same: Sequence[str] = [*self._paths.with_tail(tail)] if "/" in tail else []
        alike = self._paths.with_stem(stem(base) if media_kind(base) else base)
        keys = same or [*itertools.islice(alike, _MOST_ALIKE + 1)]
        if not keys and media_kind(base) and (bare := without_upload_prefix(wanted)):
            return self.matches(bare, split)
        if len(keys) > _MOST_ALIKE and not same:
            return keys
        same = same or [key for key in keys if composed(key).rpartition("/")[2] == base]
        must_share = bool(not same and media_kind(base) and not self._paths.is_one_folder)
        nearest = self._nearest(same or keys, wanted.split("/")[:-1], int(must_share))
        in_split = [key for key in nearest if split and split in _splits_of(key)]
        return in_split if len(in_split) == 1 else nearest

    def _nearest(self, keys: Sequence[str], folders: Sequence[str], least: int) -> Sequence[str]:
        """Return the files that share the most folders; none if `folders` exist elsewhere."""
        shared = [_num_shared(key.split("/")[:-1], folders) for key in keys]
        most = max(shared, default=0)
        if most < least or (folders and not most and folders[-1] in self._paths.folders):
            return []
        splits = set(filter(is_split, folders))
        nearest = [key for key, number in zip(keys, shared, strict=True) if number == most]
        return [
            key for key in nearest if not splits or splits >= set(filter(is_split, key.split("/")))
        ]


@functools.lru_cache(maxsize=4)
def _index_of(root: str, ignored: Ignored) -> FileIndex:
    def keys() -> Iterator[str]:
        number = 0
        for folder, names in storage.list_names(root):
            number += len(names)
            if number > _MOST_FILES:
                raise _TooManyError
            paths = (joined(folder, name) for name in names)
            yield from (key for key in paths if media_kind(key) and not ignored(key))

    if not storage.is_directory(root):
        return FileIndex(())
    try:
        return FileIndex(keys())
    except _TooManyError:
        _LOG.warning(
            "%s has over %s files, so names are not looked up in it; pass --image-root FOLDER, the "
            "folder of the named files",
            *(root, f"{_MOST_FILES:,}"),
        )
        return FileIndex(())


class _TooManyError(Exception):
    """A folder has more files than an index can hold."""


def _normal(name: str) -> str:
    """Normalize a path to forward slashes, without drive, `.` and `..`."""
    path = _DRIVE.sub("", composed(name.strip().replace("\\", "/")), count=1)
    return "/".join(part for part in path.split("/") if part not in ("", ".", ".."))


def _num_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the trailing folders that two paths share."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return len([*itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)])


def _splits_of(key: str) -> set[str | None]:
    return set(map(split_in_name, key.split("/")[:-1]))
