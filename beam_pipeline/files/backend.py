"""Protocol of a file backend, local or remote, and faults of files.

Transient faults are retried; a file's own fault rejects its record.
"""

import abc
import contextlib
import errno
import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar

from beam_pipeline.errors import ConfigError, RecordError
from tfrecord_dataset.store.listing import FileNames, FolderNames, Status
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.urls import unsigned

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Transient faults of a busy network file system or machine.
_PASSING = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.EAGAIN, errno.ENOBUFS}
_PASSING |= {errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNABORTED, errno.EREMOTEIO}

# About 6 seconds in total.
_PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

_MISSING = {errno.ENOENT, errno.ENOTDIR}
# Faults that persist on retry and on other machines.
_UNREADABLE = {errno.EACCES, errno.EPERM, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
_UNREADABLE |= {errno.EINVAL, errno.ENXIO, errno.ENODEV}


def retry(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run `call`, and retry it with growing pauses after transient faults.

    Raises:
        OSError: The last failure.
    """

    @functools.wraps(call)
    def call_again(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for pause in _PAUSES_S:
            try:
                return call(*args, **kwargs)
            except OSError as error:
                if error.errno not in _PASSING:
                    raise
                time.sleep(pause * random.uniform(0.5, 1.5))
        return call(*args, **kwargs)

    return call_again


class UnknownSchemeError(ConfigError):
    """No backend opens URLs of this scheme."""


def as_record_error(error: OSError | UnknownSchemeError, path: str) -> RecordError | None:
    """Return the RecordError for a file's own fault, else None.

    The detail names the file without its folders: it goes into rejects.jsonl, which must not
    reveal the input's location.
    """
    name = unsigned(path).rstrip("/").rpartition("/")[2]
    if isinstance(error, UnknownSchemeError):
        return RecordError("unreadable file", f"{name}: {error}")
    if error.errno in _MISSING:
        return RecordError("missing file", name)
    if error.errno in _UNREADABLE:
        return RecordError("unreadable file", f"{name}: {error.strerror or error}")
    return None


def bytes_to_read(path: str, size: int, offset: int, length: int | None, at_most: int) -> int:
    """Return the length of a range of a file of `size` bytes, cut at the end of the file.

    Raises:
        RecordError: The range is longer than `at_most` bytes.
    """
    rest = max(0, size - offset)
    length = rest if length is None else min(length, rest)
    if length > at_most:
        raise too_large(path, at_most)
    return length


def too_large(path: str, at_most: int) -> RecordError:
    """Return the RecordError for a file over a record's size limit."""
    return RecordError(
        "file too large", f"{unsigned(path).rpartition('/')[2]} has over {at_most:,} bytes"
    )


class Backend(abc.ABC):
    """A file backend; files written as `durable` survive a power loss.

    Methods raise OSError; `storage` decides which of these reject a record.

    Attributes:
        calls: Number of calls that may wait at the same time.
    """

    calls: int

    @abc.abstractmethod
    def read(self, path: str, offset: int, length: int | None, at_most: int) -> bytes:
        """Read a range of bytes; fewer at the end of the file."""

    @abc.abstractmethod
    def open_reader(self, path: str) -> Any:
        """Open a seekable handle, also a context manager."""

    @abc.abstractmethod
    def writing(self, path: str, durable: bool, is_new: bool) -> AbstractContextManager[Any]:
        """Open a new file, which appears at `path` once it is complete."""

    def sync(self, paths: Sequence[str]) -> None:
        """Make written files and their names durable; remote files always are."""
        del paths

    @abc.abstractmethod
    def status(self, path: str) -> Status:
        """Return the size and version of a file."""

    def exists(self, path: str) -> bool:
        """Whether a file exists; a store that forbids listing denies access to missing files."""
        try:
            self.status(path)
        except OSError as error:
            if as_record_error(error, path):
                return False
            raise
        return True

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """Size of each file in bytes; None for a missing one."""
        return run_in_threads(self._size, paths, self.calls)

    def _size(self, path: str) -> int | None:
        try:
            return self.status(path).size
        except FileNotFoundError:
            return None

    @abc.abstractmethod
    def is_folder(self, path: str, /) -> bool:
        """Whether a folder exists."""

    @abc.abstractmethod
    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents."""

    @abc.abstractmethod
    def list_names(self, root: str) -> Iterator[FileNames]:
        """Yield all files below `root`, folder by folder, without hidden files and litter."""

    @abc.abstractmethod
    def scan_folder(self, path: str, /) -> Iterator[tuple[str, bool]]:
        """Yield (name, whether it is a folder) for all entries of a folder, even hidden ones."""

    def list_folder(self, path: str, /) -> FolderNames:
        """Names of a folder's entries; empty if the folder is missing."""
        names = sorted(self.scan_folder(path))
        return FolderNames(
            tuple(name for name, is_folder in names if is_folder),
            tuple(name for name, is_folder in names if not is_folder),
        )

    @abc.abstractmethod
    def match_files(self, pattern: str) -> list[str]:
        """Paths of the files that match a pattern."""

    def delete_all(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""
        run_in_threads(self._delete_file, paths, self.calls)

    def _delete_file(self, path: str) -> None:
        """Delete a file, or ignore a missing one."""
        with contextlib.suppress(FileNotFoundError):
            self.delete(path)

    @abc.abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its content; ignore a missing one."""
