"""Folder of a dataset pinned to its state when it was opened, so that a rebuild is detected.

A build replaces the old folder by a new one (`--overwrite`), and on a store overwrites the old
objects. So a local folder is pinned by its descriptor; the objects of a store are pinned by their
versions, and the file that a build writes last identifies the build. Objects are read from the
store until they have been copied to this machine.
"""

import contextlib
import dataclasses
import functools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import BeamTFRecordsError, DatasetChangedError, DatasetDamagedError
from tfrecord_dataset.json_file import MAX_BYTES
from tfrecord_dataset.store import objects, storage
from tfrecord_dataset.store.cache import ShardCache
from tfrecord_dataset.store.objects import RemoteFile, read_range
from tfrecord_dataset.store.pinned_files import Files, LocalFiles, ReadRange, changed, unreadable

_FETCHED_AT_ONCE = 8
# A file is copied after a quarter of it was requested.
_WORTH_A_COPY = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Commit:
    """The last file of a build as it was read: its path ("" for none), and its content."""

    path: str = ""
    data: bytes | None = None

    def check(self) -> None:
        """Raise DatasetChangedError if the file, or its folder, was replaced."""
        if not self.path:
            return
        folder = os.path.dirname(self.path)
        now = storage.read(self.path)
        if now is None and self.data is not None:
            raise DatasetChangedError(
                f"{folder} was deleted, or is being built again, while it was read; start again "
                "once it is there"
            )
        if now != self.data:
            raise DatasetChangedError(
                f"{folder} was built again while it was read; start again, or build another "
                "--version, which leaves this one as it is"
            )

    def explain(self, file: str) -> DatasetChangedError:
        """Return the error for a file that has changed since it was opened."""
        try:
            self.check()
        except DatasetChangedError as error:
            return error
        return changed(file)


class LocalFolder:
    """A local folder pinned to its state when it was opened."""

    def __init__(self, path: str, commit: str = "") -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise unreadable(path, error) from error
        # Other threads may read until the process ends.
        weakref.finalize(self, os.close, self._descriptor).atexit = False
        self.commit = Commit()
        if commit:
            self.commit = Commit(os.path.join(path, commit), self.read(commit))

    def read(self, name: str) -> bytes | None:
        """Read a small file in the folder; None if it is missing.

        Raises:
            DatasetDamagedError: The file is not regular, or too large.
            BeamTFRecordsError: The file cannot be read.
        """
        try:
            return regular_files.read(name, MAX_BYTES, self._descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(os.path.join(self.path, name), error) from error

    def files(self, names: Sequence[str], digests: Sequence[str], what: str) -> Files:
        """Open files in the folder for reads by offset.

        Args:
            names: Paths below the folder.
            digests: The sha256 of each, "" if unknown.
            what: Description of the files for messages.

        Raises:
            DatasetDamagedError: Some are missing or not regular.
            DatasetChangedError: Another build has replaced the folder.
            BeamTFRecordsError: A file cannot be opened.
        """
        del digests  # the shards are checked record by record
        paths = [os.path.join(self.path, name) for name in names]

        def opener(number: int) -> int:
            return regular_files.descriptor_of(names[number], self._descriptor)

        try:
            return LocalFiles(paths, opener, self.commit.explain)
        except FileNotFoundError as error:
            self.commit.check()
            there = functools.partial(os.access, mode=os.F_OK, dir_fd=self._descriptor)
            missing = [name for name in names if not there(name)]
            raise _missing(self.path, missing, len(names), what) from error


class RemoteFolder:
    """A folder on a store, as `LocalFolder`."""

    def __init__(self, url: str, cache: Callable[[], ShardCache], commit: str = "") -> None:
        self.path = url
        self._cache = cache
        path = os.path.join(url, commit)
        self.commit = Commit(path, storage.read(path)) if commit else Commit()

    def read(self, name: str) -> bytes | None:
        return storage.read(os.path.join(self.path, name))

    def files(self, names: Sequence[str], digests: Sequence[str], what: str) -> Files:
        found = objects.describe([os.path.join(self.path, name) for name in names])
        # A build may have been committed between the two requests.
        self.commit.check()
        if missing := [name for name, file in zip(names, found, strict=True) if file is None]:
            raise _missing(self.path, missing, len(names), what)
        files = [
            dataclasses.replace(file, sha256=digest)
            for file, digest in zip(found, digests, strict=True)
            if file
        ]
        return RemoteFiles(files, self._cache(), self.commit.explain)


Folder = LocalFolder | RemoteFolder


def open_folder(path: str, cache: Callable[[], ShardCache], commit: str = "") -> Folder:
    """Open a local or remote folder; `commit` names the file that a build writes last, if any."""
    if storage.is_object(path):
        return RemoteFolder(path, cache, commit)
    return LocalFolder(path, commit)


def _missing(path: str, missing: Sequence[str], count: int, what: str) -> DatasetDamagedError:
    return DatasetDamagedError(
        f"{path} lacks {len(missing)} of {count} {what}, such as {missing[0]}; copy them there, "
        "or build the dataset again"
    )


class RemoteFiles:
    """Files on a store, as `store.pinned_files.Files`, read from complete copies in a cache.

    A range is read from the store if there is no copy and little of the file has been requested so
    far, or if copies do not fit into the cache.
    """

    is_remote = True

    def __init__(
        self,
        files: Sequence[RemoteFile],
        cache: ShardCache,
        explain: Callable[[str], DatasetChangedError] = changed,
    ) -> None:
        self.names = tuple(file.url for file in files)
        self._files = files
        self._cache = cache
        self._explain = explain
        self._fit_cache = sum(file.num_bytes for file in files) <= cache.max_bytes
        self._wanted = [0] * len(files)  # requested bytes per file
        self._pool = ThreadPoolExecutor(_FETCHED_AT_ONCE, "fetch-shards")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self._files, self._cache, self._explain)

    def num_bytes(self, number: int) -> int:
        return self._files[number].num_bytes

    def identity(self, number: int) -> str:
        return self._files[number].local_name

    @contextlib.contextmanager
    def open(self, number: int, wanted: int | None = None) -> Iterator[ReadRange]:
        file = self._files[number]
        try:
            with contextlib.ExitStack() as until_read:
                copy = None
                if path := self._copied(number, wanted):
                    with contextlib.suppress(FileNotFoundError):  # deleted by another process
                        copy = until_read.enter_context(open(path, "rb", buffering=0))
                if copy:
                    yield functools.partial(os.pread, copy.fileno())
                else:
                    yield lambda num_bytes, offset: read_range(file, offset, num_bytes)
        except DatasetChangedError as error:
            raise self._explain(file.url) from error
        except OSError as error:
            raise BeamTFRecordsError(
                f"the copy of {file.url} cannot be read: {error.strerror}; delete "
                f"{self._cache.path(file)}"
            ) from error

    def _copied(self, number: int, wanted: int | None) -> str | None:
        file = self._files[number]
        self._wanted[number] += file.num_bytes if wanted is None else wanted
        is_worth_it = self._fit_cache and _WORTH_A_COPY * self._wanted[number] >= file.num_bytes
        if file.num_bytes > self._cache.max_bytes or not (wanted is None or is_worth_it):
            return self._cache.find(file)
        if wanted is None:  # a reader of a whole file usually reads the next one
            self._pool.map(self._cache.fetch, self._files[number + 1 : number + 2])
        return self._cache.fetch(file)

    def paths(self, numbers: Sequence[int]) -> list[str]:
        if not self._fit_cache:
            return [""] * len(numbers)  # each window would evict the copies of the last one
        return list(self._pool.map(self._fetched, numbers))

    def _fetched(self, number: int) -> str:
        try:
            return self._cache.fetch(self._files[number])
        except DatasetChangedError as error:
            raise self._explain(self.names[number]) from error

    def renew(self, number: int) -> bool:
        return self._cache.discard_damaged(self._files[number])
