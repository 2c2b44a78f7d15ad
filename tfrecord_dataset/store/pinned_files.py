"""Files pinned to their state when they were opened, and read by offset.

A few local files stay open; more are identified by inode and time.
"""

import contextlib
import errno
import functools
import os
import resource
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import (
    BeamTFRecordsError,
    ConfigError,
    DatasetChangedError,
    DatasetDamagedError,
)

# One split may use this fraction of the process's open files.
_SHARE_OF_OPEN_FILES = 8
# On a network file system each call waits for a response.
_OPENED_AT_ONCE = 16
_DESCRIPTORS = "/proc/self/fd"
_NO_MORE = (errno.EMFILE, errno.ENFILE)
# Errors for a file that is missing, also on a network, or no longer regular.
_REPLACED = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.EISDIR, errno.EINVAL)

# (bytes, offset) -> the bytes there; fewer at the end of the file.
ReadRange = Callable[[int, int], bytes]


class Files(Protocol):
    """Files pinned to their state when they were opened.

    A read of other content raises DatasetChangedError.

    Attributes:
        names: Paths or URLs.
        is_remote: Whether a read is a network request.
        paths_stay: Whether `paths` still name these files when others take their names.
    """

    names: tuple[str, ...]
    is_remote: bool

    @property
    def paths_stay(self) -> bool: ...

    def num_bytes(self, number: int) -> int:
        """Return the size of a file."""

    def identity(self, number: int) -> str:
        """Return a unique identity of the file as it was opened."""

    def open(
        self, number: int, wanted: int | None = None
    ) -> contextlib.AbstractContextManager[ReadRange]:
        """Open a function that reads ranges of a file; `wanted` bytes in all, or the whole file.

        Raises:
            DatasetChangedError: The file has changed, now or by the end of the context.
            BeamTFRecordsError: The file cannot be read.
        """

    def paths(self, numbers: Sequence[int]) -> list[str]:
        """Return local paths from which other programs can read these files.

        After a damaged record there, call `open` for the reason.

        Raises:
            DatasetChangedError, BeamTFRecordsError: As in `open`.
        """

    def fits(self, num_bytes: int) -> bool:
        """Whether so many bytes of the files have local paths at the same time."""

    def fetch_ahead(self, numbers: Sequence[int]) -> None:
        """Begin to prepare the paths of files, which are needed soon."""

    def renew(self, number: int) -> bool:
        """Whether a damaged copy of a file was found and deleted, so that a retry may succeed.

        Raises:
            DatasetChangedError: The file has changed.
        """


def changed(name: str) -> DatasetChangedError:
    """Return the error for a file that has changed since it was opened."""
    return DatasetChangedError(
        f"{name} was changed or deleted while it was read; start again to read what is there now"
    )


class _State(NamedTuple):
    """Facts that change when a file is replaced or written."""

    device: int
    inode: int
    num_bytes: int
    changed_ns: int


class LocalFiles:
    """Local files, as `store.pinned_files.Files`.

    Up to an eighth of the process's limit of open files (`ulimit -n`) stay open, and remain
    readable even if their names are taken. More files are opened for each use.

    Raises:
        FileNotFoundError: A file does not exist.
        DatasetDamagedError: A file is not regular.
        BeamTFRecordsError: A file cannot be opened.
    """

    is_remote = False

    def __init__(
        self,
        paths: Sequence[str],
        explain: Callable[[str], DatasetChangedError] = changed,
        shown: Sequence[str] = (),
    ) -> None:
        self.names = tuple(shown or paths)
        # Independent of the working directory, and of links to folders.
        self._paths = [*map(os.path.realpath, paths)]
        self._explain = explain
        self._held: dict[int, int] = {}
        end = weakref.finalize(self, _close, self._held)
        end.atexit = False  # other threads may read until the process ends
        self._holds = _SHARE_OF_OPEN_FILES * len(paths) <= most_open_files()
        with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
            self._states = [*pool.map(self._first_state, range(len(paths)))]

    @property
    def paths_stay(self) -> bool:
        return self._holds and os.path.isdir(_DESCRIPTORS)

    def num_bytes(self, number: int) -> int:
        return self._states[number].num_bytes

    def identity(self, number: int) -> str:
        # Some file systems renumber devices and inodes when they are mounted.
        state = self._states[number]
        return f"{self._paths[number]}\n{state.num_bytes}\n{state.changed_ns}"

    @contextlib.contextmanager
    def open(self, number: int, wanted: int | None = None) -> Iterator[ReadRange]:
        held = self._held.get(number)
        descriptor = self._opened(number) if held is None else held
        try:
            try:
                yield functools.partial(os.pread, descriptor)
            except Exception:
                self._check(number, descriptor)  # a change may explain the error
                raise
            self._check(number, descriptor)
        except OSError as error:
            raise unreadable(self.names[number], error) from error
        finally:
            if held is None:
                os.close(descriptor)

    def paths(self, numbers: Sequence[int]) -> list[str]:
        return [*map(self._path, numbers)]

    def fits(self, num_bytes: int) -> bool:
        return True

    def fetch_ahead(self, numbers: Sequence[int]) -> None:
        """Do nothing: the files are local."""

    def _path(self, number: int) -> str:
        with self.open(number):
            held = self._held.get(number)
        if held is None or not os.path.isdir(_DESCRIPTORS):
            return self._paths[number]
        return f"{_DESCRIPTORS}/{held}"  # independent of the name

    def renew(self, number: int) -> bool:
        with self.open(number):
            return False  # local files have no copies

    def _first_state(self, number: int) -> _State:
        try:
            descriptor = regular_files.descriptor_of(self._paths[number])
        except OSError as error:
            if error.errno in _NO_MORE and self._held:
                self._holds = False  # other datasets hold theirs
                _close(self._held)
                return self._first_state(number)
            if isinstance(error, FileNotFoundError):
                raise
            raise unreadable(self.names[number], error) from error
        state = _state(descriptor)
        if self._holds:
            self._held[number] = descriptor
        else:
            os.close(descriptor)
        return state

    def _opened(self, number: int) -> int:
        try:
            return regular_files.descriptor_of(self._paths[number])
        except OSError as error:
            if error.errno in _REPLACED:
                raise self._explain(self.names[number]) from error
            raise unreadable(self.names[number], error) from error

    def _check(self, number: int, descriptor: int) -> None:
        try:
            is_same = _state(descriptor) == self._states[number]
        except OSError:  # deleted on a network file system
            is_same = False
        if not is_same:
            raise self._explain(self.names[number])


def most_open_files() -> int:
    """Return the number of files that this process may open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if limit != resource.RLIM_INFINITY else 1 << 20


def _state(descriptor: int) -> _State:
    facts = os.fstat(descriptor)
    return _State(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def unreadable(name: str, error: OSError) -> BeamTFRecordsError:
    """Return the error for a file that the system does not let this process read."""
    if error.errno in (errno.EINVAL, errno.EISDIR, errno.EFBIG):  # from `regular_files`
        return DatasetDamagedError(f"{name} cannot be read: {error.strerror}; restore it")
    if isinstance(error, PermissionError):
        return ConfigError(f"{name} cannot be read: permission denied; change its permissions")
    if error.errno in _NO_MORE:
        return BeamTFRecordsError(
            f"{name} cannot be opened: this process has too many open files; raise their number "
            "(ulimit -n), or close datasets that are not used"
        )
    return BeamTFRecordsError(f"{name} cannot be read: {error.strerror}")


def _close(held: dict[int, int]) -> None:
    while held:
        os.close(held.popitem()[1])
