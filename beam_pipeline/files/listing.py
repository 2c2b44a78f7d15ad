"""The files of a folder, or those that fit a pattern."""

import dataclasses
import glob
import os
from collections.abc import Iterator

from beam_pipeline.files.urls import file_systems, is_remote

# What operating systems leave in folders; never data, so not even rejected.
_LITTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file, or a link to one that is not there.

    Attributes:
        path: Absolute path or URL.
        relative: The path below the listed root, with forward slashes.
        size: Bytes.
    """

    path: str
    relative: str
    size: int


def list_files(root: str) -> Iterator[StoredFile]:
    """Every file below `root`, but hidden ones and what operating systems leave behind.

    Links to files and folders are followed; one that leads nowhere is a file that cannot be read,
    so that whoever reads it tells of it. The order is the file system's own.

    Raises:
        FileNotFoundError: `root` is not a local folder.
    """
    if is_remote(root):
        return _list_remote(root.rstrip("/"))
    if not os.path.isdir(root):
        raise FileNotFoundError(f"{root} is not a folder")
    return _list_local(root, "", frozenset({os.path.realpath(root)}))


def _is_litter(name: str) -> bool:
    return name.startswith(".") or name in _LITTER


def _list_local(folder: str, prefix: str, ancestors: frozenset[str]) -> Iterator[StoredFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_litter(entry.name):
                continue
            if entry.is_symlink() and not os.path.exists(entry.path):
                yield StoredFile(path=entry.path, relative=prefix + entry.name, size=0)
            elif entry.is_dir():
                real = os.path.realpath(entry.path)
                if real not in ancestors:  # a link back up would never end
                    yield from _list_local(entry.path, f"{prefix}{entry.name}/", ancestors | {real})
            elif entry.is_file():
                yield StoredFile(
                    path=entry.path, relative=prefix + entry.name, size=entry.stat().st_size
                )


def _list_remote(root: str) -> Iterator[StoredFile]:
    for match in file_systems(root).match([f"{root}/**"]):
        for metadata in match.metadata_list:
            relative = metadata.path[len(root) + 1 :]
            if relative and not any(map(_is_litter, relative.split("/"))):
                yield StoredFile(path=metadata.path, relative=relative, size=metadata.size_in_bytes)


def match_files(pattern: str) -> list[str]:
    """The paths of the files that fit `pattern`, sorted; hidden ones do not.

    `*`, `?` and `[abc]` stand for parts of one name, `**` for folders, as in a shell.
    """
    if is_remote(pattern):
        found = [
            each.path
            for match in file_systems(pattern).match([pattern])
            for each in match.metadata_list
        ]
    else:
        found = [path for path in glob.iglob(pattern, recursive=True) if os.path.isfile(path)]
    return sorted(path for path in found if not _is_litter(path.rpartition("/")[2]))
