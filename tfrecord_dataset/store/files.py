"""Files as they were when they were opened: read by offset, and nothing that took their place.

Those of this machine are held open where they are few, and told by their inode and time.
"""

import contextlib
import errno
import os
import resource
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import (
    BeamTFRecordsError,
    ConfigError,
    DatasetChangedError,
    DatasetDamagedError,
)

# Of the files that this process may have open, those of one split.
_SHARE_OF_OPEN_FILES = 8
# On a file system of a network each waits for an answer.
_OPENED_AT_ONCE = 16
_DESCRIPTORS = "/proc/self/fd"
_NO_MORE = (errno.EMFILE, errno.ENFILE)
# A file is gone, also one of a network's, or is no regular file any more.
_REPLACED = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.EISDIR, errno.EINVAL)

# (bytes, offset) -> the bytes there; fewer at the end of the file.
ReadRange = Callable[[int, int], bytes]


class Files(Protocol):
    """Files that are read as they were when they were opened.

    Whoever reads another content than that gets a DatasetChangedError.

    Attributes:
        names: Paths or URLs.
        is_remote: Whether a read is a request.
    """

    names: tuple[str, ...]
    is_remote: bool

    def num_bytes(self, number: int) -> int:
        """The size of a file."""

    def identity(self, number: int) -> str:
        """What tells a file, as it was opened, from all others."""

    def open(
        self, number: int, wanted: int | None = None
    ) -> contextlib.AbstractContextManager[ReadRange]:
        """A function that reads ranges of a file.

        Args:
            number: Of the file.
            wanted: The bytes that will be read; None for all.

        Raises:
            DatasetChangedError: It is another file now, or was changed until the block ended.
            BeamTFRecordsError: It cannot be read.
        """

    def paths(self, numbers: Sequence[int]) -> list[str]:
        """Paths on this machine by which other programs read the bytes of these files.

        Whoever finds no whole record there asks `open`, which knows why.

        Raises:
            DatasetChangedError, BeamTFRecordsError: As `open`.
        """

    def renew(self, number: int) -> bool:
        """Whether a damaged copy of a file was found, and deleted: it may be read again.

        Raises:
            DatasetChangedError: It is another file now.
        """


def changed(name: str) -> DatasetChangedError:
    """The error for a file that is not what was opened."""
    return DatasetChangedError(
        f"{name} was changed or deleted while it was read; start again to read what is there now"
    )


class _State(NamedTuple):
    """What changes when a file is replaced or written."""

    device: int
    inode: int
    num_bytes: int
    changed_ns: int


class LocalFiles:
    """Files of this machine, as `store.files.Files`.

    As few as an eighth of the open files that this process may have (`ulimit -n`) stay open, so
    they can be read to the end whatever takes their names. Of more, each is opened for each use.

    Args:
        names: Their paths.
        opener: Opens the file of a number; None opens `names`.
        explain: The error for a file that changed.

    Raises:
        FileNotFoundError: One is not there.
        DatasetDamagedError: One is no regular file.
        BeamTFRecordsError: One cannot be opened.
    """

    is_remote = False

    def __init__(
        self,
        names: Sequence[str],
        opener: Callable[[int], int] | None = None,
        explain: Callable[[str], DatasetChangedError] = changed,
    ) -> None:
        self.names = tuple(names)
        self._opener = opener or self._open_by_name
        self._explain = explain
        self._held: dict[int, int] = {}
        end = weakref.finalize(self, _close, self._held)
        end.atexit = False  # other threads may read until the process ends
        self._holds = _SHARE_OF_OPEN_FILES * len(names) <= most_open_files()
        with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
            self._states = [*pool.map(self._first_state, range(len(names)))]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Descriptors are no other process's: it opens the names, whose states are compared."""
        return _opened_again, (self.names, self._states, self._explain)

    def num_bytes(self, number: int) -> int:
        return self._states[number].num_bytes

    def identity(self, number: int) -> str:
        # Some file systems number devices and inodes anew when they are mounted.
        state = self._states[number]
        return f"{os.path.abspath(self.names[number])}\n{state.num_bytes}\n{state.changed_ns}"

    @contextlib.contextmanager
    def open(self, number: int, wanted: int | None = None) -> Iterator[ReadRange]:
        held = self._held.get(number)
        descriptor = self._opened(number) if held is None else held
        try:
            try:
                yield lambda num_bytes, offset: os.pread(descriptor, num_bytes, offset)
            except Exception:
                self._check(number, descriptor)  # which may be why
                raise
            self._check(number, descriptor)
        except OSError as error:
            raise unreadable(self.names[number], error) from error
        finally:
            if held is None:
                os.close(descriptor)

    def paths(self, numbers: Sequence[int]) -> list[str]:
        return [*map(self._path, numbers)]

    def _path(self, number: int) -> str:
        with self.open(number):
            held = self._held.get(number)
        if held is None or not os.path.isdir(_DESCRIPTORS):
            return os.path.abspath(self.names[number])
        return f"{_DESCRIPTORS}/{held}"  # whatever takes the name

    def renew(self, number: int) -> bool:
        with self.open(number):
            return False  # there is no copy

    def _open_by_name(self, number: int) -> int:
        return regular_files.descriptor_of(self.names[number])

    def _first_state(self, number: int) -> _State:
        try:
            descriptor = self._opener(number)
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
            return self._opener(number)
        except OSError as error:
            if error.errno in _REPLACED:
                raise self._explain(self.names[number]) from error
            raise unreadable(self.names[number], error) from error

    def _check(self, number: int, descriptor: int) -> None:
        try:
            is_same = _state(descriptor) == self._states[number]
        except OSError:  # a network's file that was deleted
            is_same = False
        if not is_same:
            raise self._explain(self.names[number])


def _opened_again(
    names: Sequence[str], states: list[_State], explain: Callable[[str], DatasetChangedError]
) -> LocalFiles:
    """The files that another process has open, if they still have their names."""
    try:
        files = LocalFiles(names, explain=explain)
    except FileNotFoundError as error:
        raise explain(names[0]) from error
    files._states = states
    return files


def most_open_files() -> int:
    """The files that this process may have open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if limit != resource.RLIM_INFINITY else 1 << 20


def _state(descriptor: int) -> _State:
    facts = os.fstat(descriptor)
    return _State(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def unreadable(name: str, error: OSError) -> BeamTFRecordsError:
    """The error for a file that the system does not let this process read."""
    if error.errno in (errno.EINVAL, errno.EISDIR, errno.EFBIG):  # as `regular_files` has it
        return DatasetDamagedError(f"{name} cannot be read: {error.strerror}; restore it")
    if isinstance(error, PermissionError):
        return ConfigError(f"{name} may not be read: permission denied; change its permissions")
    if error.errno in _NO_MORE:
        return BeamTFRecordsError(
            f"{name} cannot be opened: this process has too many open files; raise their number "
            "(ulimit -n), or drop datasets that are not used"
        )
    return BeamTFRecordsError(f"{name} cannot be read: {error.strerror}")


def _close(held: dict[int, int]) -> None:
    while held:
        os.close(held.popitem()[1])
