"""Files of the operating system.

Reading 50,000 small files must cost little more than the system's own calls; that is why ranges
are read by `os.pread`, not through file objects.
"""

import contextlib
import errno
import functools
import glob
import io
import os
import re
import shutil
import stat
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from beam_pipeline.files.faults import as_record_error, retry, too_large
from tfrecord_dataset import durable, regular_files
from tfrecord_dataset.store.at_once import at_once
from tfrecord_dataset.store.listing import NAMES_AT_ONCE, FileNames, FolderNames, Status, is_litter

# A network file system answers in a millisecond or more.
_CALLS = 8

# A file system or a file of which there cannot be another link.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})

_UNFINISHED = re.compile(r"(.+)\.[0-9a-f]{32}\.partial")


@retry
def read(
    path: str,
    offset: int,
    length: int | None,
    at_most: int,
    note: Callable[[Status], None] | None = None,
) -> bytes:
    """The bytes of a range, fewer where the file ends before it does."""
    descriptor = regular_files.descriptor_of(path)
    try:
        facts = os.fstat(descriptor)
        if note:
            note(_status(facts))
        rest = max(0, facts.st_size - offset)
        length = rest if length is None else min(length, rest)
        if length > at_most:
            raise too_large(path, at_most)
        return _read_at(descriptor, offset, length)
    finally:
        os.close(descriptor)


def _read_at(descriptor: int, offset: int, length: int) -> bytes:
    data = os.pread(descriptor, length, offset)
    while data and len(data) < length:  # one call reads 2 GiB at most
        more = os.pread(descriptor, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


class _Reader(io.FileIO):
    """A file whose reads are tried again; a read that failed has not moved its position."""

    read = retry(io.FileIO.read)
    readall = retry(io.FileIO.readall)
    readinto = retry(io.FileIO.readinto)


@retry
def open_reader(path: str) -> io.RawIOBase:
    """The file, unbuffered."""
    return _Reader(path, opener=lambda path, _: regular_files.descriptor_of(path))


@contextlib.contextmanager
def writing(path: str, is_durable: bool) -> Iterator[Any]:
    """A handle of a new file, which lies at `path` once all of it is written."""
    make_folder(os.path.dirname(path))
    partial = f"{path}.{uuid.uuid4().hex}.partial"  # workers may write the same file at once
    with durable.replacing(path, partial, synced=is_durable) as handle:
        yield handle


def delete_unfinished(paths: Collection[str]) -> None:
    """Deletes what killed writers of files left beside them."""
    for folder in {os.path.dirname(path) for path in paths}:
        _, names = list_folder(folder)
        for name in names:
            file = _UNFINISHED.fullmatch(name)
            if file and os.path.join(folder, file[1]) in paths:
                delete(os.path.join(folder, name))


def create(path: str) -> Any:
    """A handle of a new file, which lies at `path` at once."""
    make_folder(os.path.dirname(path))
    return open(path, "wb")


def write(path: str, data: bytes, is_durable: bool) -> None:
    """Writes a file whole."""
    with writing(path, is_durable) as handle:
        handle.write(data)


def sync(paths: Sequence[str]) -> None:
    """Waits until files and their names are on disk."""
    for path in (*paths, *{os.path.dirname(path) for path in paths}):
        durable.sync(path)


@retry
def status(path: str) -> Status:
    """Size and version of a file."""
    return _status(os.stat(path))


def _status(facts: os.stat_result) -> Status:
    """By its ctime, too, which whoever puts another file in its place cannot set."""
    version = f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"
    return Status(facts.st_size, version)


def exists(path: str) -> bool:
    """Whether a file or folder is there."""
    return _mode(path) is not None


def is_folder(path: str) -> bool:
    """Whether a folder is there."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


@retry
def _mode(path: str) -> int | None:
    # os.path.exists() calls a file missing that a loaded file system only fails to look up.
    try:
        return os.stat(path).st_mode
    except ValueError:  # a name that no file can have
        return None
    except OSError as error:
        if as_record_error(error, path):
            return None
        raise


def make_folder(path: str) -> None:
    """Makes a folder and those above it, where they are missing."""
    durable.make_folders(path)


def list_names(root: str) -> Iterator[FileNames]:
    """Every file below `root`, folder by folder, in the file system's own order.

    Raises:
        FileNotFoundError: `root` is no folder.
    """
    if not os.path.isdir(root):
        raise FileNotFoundError(errno.ENOENT, f"{root} is not a folder")
    return _list_below(root, "", frozenset())


def _list_below(
    folder: str, relative: str, ancestors: frozenset[tuple[int, int]]
) -> Iterator[FileNames]:
    facts = os.stat(folder)
    identity = (facts.st_dev, facts.st_ino)
    if identity in ancestors:  # a link back up would never end
        return
    folders, names = [], []
    with retry(os.scandir)(folder) as entries:
        for entry in entries:
            if is_litter(entry.name):
                continue
            if _is_folder(entry):
                folders.append(entry.name)
            else:  # a pipe or a device, too: whoever reads it tells of it
                names.append(entry.name)
                if len(names) == NAMES_AT_ONCE:
                    yield FileNames(relative, names)
                    names = []
    if names:
        yield FileNames(relative, names)
    for name in folders:
        below = os.path.join(folder, name)
        inner = f"{relative}/{name}" if relative else name
        yield from _list_below(below, inner, ancestors | {identity})


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # Unlike entry.is_dir(), this bears a link to itself.
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def list_folder(path: str) -> FolderNames:
    """The names of what a folder holds, hidden ones too; none where there is no folder."""
    folders: list[str] = []
    files: list[str] = []
    for name, is_folder_ in scan_folder(path):
        (folders if is_folder_ else files).append(name)
    return FolderNames(tuple(sorted(folders)), tuple(sorted(files)))


def scan_folder(path: str) -> Iterator[tuple[str, bool]]:
    """The names of what a folder holds, and which are folders; none where there is no folder."""
    try:
        entries = retry(os.scandir)(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            yield entry.name, _is_folder(entry)


sample_folder = scan_folder


def match_files(pattern: str) -> list[str]:
    """The paths of the files that fit `pattern`."""
    return [path for path in glob.iglob(pattern, recursive=True) if os.path.isfile(path)]


def place_all(pairs: Sequence[tuple[str, str]]) -> None:
    """Links files to second names; renames them where the file system has no links."""
    _link_all(pairs, instead=os.rename)


def keep_all(pairs: Sequence[tuple[str, str]]) -> None:
    """Links files to second names; copies them where the file system has no links."""
    _link_all(pairs, instead=functools.partial(shutil.copy2, follow_symlinks=False))


def _link_all(pairs: Sequence[tuple[str, str]], instead: Callable[[str, str], object]) -> None:
    for folder in {os.path.dirname(name) for _, name in pairs}:
        make_folder(folder)
    at_once(functools.partial(_link, instead=instead), pairs, _CALLS)


@retry
def _link(pair: tuple[str, str], instead: Callable[[str, str], object]) -> None:
    path, name = pair
    try:
        os.link(path, name, follow_symlinks=False)
    except FileExistsError:
        if not os.path.samestat(os.lstat(path), os.lstat(name)):
            raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        instead(path, name)


def newest_change(folder: str) -> float:
    """When a file below a folder changed last, in seconds since 1970; 0 for none."""
    files = (os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)
    return max((os.stat(path).st_mtime for path in files), default=0.0)


def delete_all(paths: Sequence[str]) -> None:
    """Deletes files that may be there."""
    at_once(_delete, paths, _CALLS)


@retry
def _delete(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.remove(path)


def sizes(paths: Sequence[str]) -> list[int | None]:
    """The bytes of each file, or None where there is none, or a link that leads in a circle."""
    return at_once(_size, paths, _CALLS)


def _size(path: str) -> int | None:
    try:
        return status(path).size
    except OSError as error:
        if as_record_error(error, path):
            return None
        raise


def delete(path: str) -> None:
    """Deletes a file, or a folder with all it holds, that may be there."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.remove)(path)
