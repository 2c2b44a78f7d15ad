"""Files of the operating system.

Ranges are read with `os.pread` instead of file objects, so that reading 50,000 small files costs
little more than the system calls.
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

from beam_pipeline.files.backend import Backend, as_record_error, bytes_to_read, retry
from tfrecord_dataset import regular_files
from tfrecord_dataset.durable import make_folders, replacing, sync
from tfrecord_dataset.store.listing import NAMES_AT_ONCE, FileNames, Status, is_litter
from tfrecord_dataset.store.threads import run_in_threads

# The file system or the file does not support another link.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})

_UNFINISHED = re.compile(r"(.+)\.[0-9a-f]{32}\.partial")

# A read of so many bytes is compared with the size of the file, as Python allocates them first.
_LARGE_READ_BYTES = 16 << 20


class Local(Backend):
    """Files of the operating system."""

    calls = 8  # a network file system answers in a millisecond or more

    @retry
    def read(self, path: str, offset: int, length: int | None, at_most: int) -> bytes:
        descriptor, facts = regular_files.descriptor_with_facts(path)
        try:
            length = bytes_to_read(path, facts.st_size, offset, length, at_most)
            return read_at(descriptor, offset, length)
        finally:
            os.close(descriptor)

    @retry
    def open_reader(self, path: str) -> io.RawIOBase:
        return _Reader(path, opener=lambda path, _: regular_files.descriptor_of(path))

    @contextlib.contextmanager
    def writing(self, path: str, durable: bool, is_new: bool) -> Iterator[Any]:
        del is_new  # two builds never write to one folder
        self.make_folder(os.path.dirname(path))
        partial = f"{path}.{uuid.uuid4().hex}.partial"  # several workers may write the same file
        with replacing(path, partial, synced=durable) as handle:
            yield handle

    def sync(self, paths: Sequence[str]) -> None:
        for path in (*paths, *{os.path.dirname(path) for path in paths}):
            sync(path)

    @retry
    def status(self, path: str) -> Status:
        return _status(os.stat(path))

    def exists(self, path: str) -> bool:
        return _mode(path) is not None

    def is_folder(self, path: str) -> bool:
        mode = _mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def make_folder(self, path: str) -> None:
        make_folders(path)

    def list_names(self, root: str) -> Iterator[FileNames]:
        if not os.path.isdir(root):
            raise FileNotFoundError(errno.ENOENT, f"{root} is not a folder")
        return _list_below(root)

    def scan_folder(self, path: str) -> Iterator[tuple[str, bool]]:
        try:
            entries = retry(os.scandir)(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        with entries:
            for entry in entries:
                yield entry.name, _is_folder(entry)

    def match_files(self, pattern: str) -> list[str]:
        return [path for path in glob.iglob(pattern, recursive=True) if os.path.isfile(path)]

    def link_all(
        self, pairs: Sequence[tuple[str, str]], instead: Callable[[str, str], object]
    ) -> None:
        """Link files to second names.

        Args:
            pairs: (file, new name); the name must be unused or already link to the file.
            instead: Called for a pair if the file system has no links, such as os.rename.

        Raises:
            OSError: The first failure, after all were tried.
        """
        for folder in {os.path.dirname(name) for _, name in pairs}:
            self.make_folder(folder)
        run_in_threads(functools.partial(_link, instead=instead), pairs, self.calls)

    @retry
    def _delete_file(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.remove(path)

    def _size(self, path: str) -> int | None:
        try:
            return self.status(path).size
        except OSError as error:
            if as_record_error(error, path):  # includes circular links
                return None
            raise

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.remove)(path)

    def delete_unfinished(self, paths: Collection[str]) -> None:
        """Delete partial files of killed writers."""
        for folder in {os.path.dirname(path) for path in paths}:
            for name in self.list_folder(folder).files:
                file = _UNFINISHED.fullmatch(name)
                if file and os.path.join(folder, file[1]) in paths:
                    self.delete(os.path.join(folder, name))


LOCAL = Local()


class _Reader(io.FileIO):
    """A file with retried reads; a failed read leaves the position unchanged."""

    @retry
    def read(self, size: int | None = -1, /) -> bytes | Any:
        """Read at most `size` bytes; a damaged file may ask for more than the memory holds."""
        if size is not None and size > _LARGE_READ_BYTES:
            size = max(0, min(size, os.fstat(self.fileno()).st_size - self.tell()))
        return super().read(size)

    readall = retry(io.FileIO.readall)
    readinto = retry(io.FileIO.readinto)


def read_at(descriptor: int, offset: int, length: int) -> bytes:
    """Read `length` bytes from an open file, fewer at its end."""
    data = os.pread(descriptor, length, offset)
    while data and len(data) < length:  # one call reads at most 2 GiB
        more = os.pread(descriptor, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def _status(facts: os.stat_result) -> Status:
    """Return size and version; the version includes the ctime, which users cannot set."""
    version = f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"
    return Status(facts.st_size, version)


@retry
def _mode(path: str) -> int | None:
    # os.path.exists() also returns False if a busy file system fails to look the file up.
    try:
        return os.stat(path).st_mode
    except ValueError:  # not a valid file name
        return None
    except OSError as error:
        if as_record_error(error, path):
            return None
        raise


def _list_below(root: str) -> Iterator[FileNames]:
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
    while waiting:  # no recursion: there may be thousands of levels
        relative, ancestors = waiting.pop()
        folder = os.path.join(root, relative)
        try:
            facts, entries = os.stat(folder), retry(os.scandir)(folder)
        except (FileNotFoundError, NotADirectoryError):  # deleted since its parent was listed
            continue
        identity = (facts.st_dev, facts.st_ino)
        folders, names = [], []
        with entries:
            if identity in ancestors:  # a link to a parent would never end
                continue
            for entry in entries:
                if is_litter(entry.name):
                    continue
                if _is_folder(entry):
                    folders.append(entry.name)
                else:  # including pipes and devices, which the reader reports
                    names.append(entry.name)
                    if len(names) == NAMES_AT_ONCE:
                        yield FileNames(relative, names)
                        names = []
        if names:
            yield FileNames(relative, names)
        prefix, here = f"{relative}/" if relative else "", ancestors | {identity}
        waiting += [(prefix + name, here) for name in reversed(folders)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # Unlike entry.is_dir(), this handles a link to itself.
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


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
