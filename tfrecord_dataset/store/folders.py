"""Files and folders pinned to their state when they were opened, local or on a store.

A build replaces the old folder with a new one (`--overwrite`). The file that it writes last
identifies it, and is compared after others were opened. Local files stay open, and those of a store
are pinned by their versions. Objects are read from the store until they have been copied to this
machine.
"""

import contextlib
import dataclasses
import errno
import functools
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from tfrecord_dataset.errors import BeamTFRecordsError, DatasetChangedError, DatasetDamagedError
from tfrecord_dataset.store import objects, storage
from tfrecord_dataset.store.cache import ShardCache
from tfrecord_dataset.store.objects import RemoteFile, read_range
from tfrecord_dataset.store.pinned_files import Files, LocalFiles, ReadRange, changed

_FETCHED_AT_ONCE = 8
# Copy a file once a quarter of it was requested.
_WORTH_A_COPY = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """A local or remote folder, pinned to the build that it had when it was opened.

    Attributes:
        path: Path or URL, for messages.
        place: The same, but independent of the working directory and of links.
        commit: Name of the file that a build writes last.
        content: Content of that file as it was read; None if it was missing.
        cache: Opens the cache for copies of remote files.
    """

    path: str
    place: str
    commit: str
    content: bytes | None
    cache: Callable[[], ShardCache]

    def read(self, name: str) -> bytes | None:
        """Read a small file as `storage.read`, perhaps of a later build."""
        return storage.read(os.path.join(self.place, name))

    def files(self, names: Sequence[str], digests: Sequence[str], what: str) -> Files:
        """Open files for reads by offset.

        Args:
            names: Paths below the folder.
            digests: The sha256 of each file, "" if unknown.
            what: Description of the files for messages.

        Raises:
            DatasetDamagedError: Some are missing or not regular.
            DatasetChangedError: Another build has replaced the folder.
            BeamTFRecordsError: A file cannot be opened.
        """
        paths = [os.path.join(self.place, name) for name in names]
        shown = [os.path.join(self.path, name) for name in names]
        try:
            files = open_pinned(paths, self.cache, digests, self.explain, shown)
        except FileNotFoundError as error:
            self.check()
            missing = storage.missing(paths)
            raise DatasetDamagedError(
                f"{self.path} lacks {len(missing)} of {len(names)} {what}, such as "
                f"{missing[0] if missing else error.filename}; copy them there, or build the "
                "dataset again"
            ) from error
        self.check()  # a build may have been committed before the files were opened
        return files

    def check(self) -> None:
        """Raise DatasetChangedError if the build was replaced."""
        now = self.read(self.commit)
        if now is None and self.content is not None:
            raise DatasetChangedError(
                f"{self.path} was deleted, or is being built again, while it was read; start again "
                "once it is there"
            )
        if now != self.content:
            raise DatasetChangedError(
                f"{self.path} was built again while it was read; start again, or build another "
                "--version, which leaves this one as it is"
            )

    def explain(self, file: str) -> DatasetChangedError:
        """Return the error for a file that has changed since it was opened."""
        try:
            self.check()
        except DatasetChangedError as error:
            return error
        return changed(file)


def open_folder(path: str, commit: str, cache: Callable[[], ShardCache]) -> Folder:
    """Open a local or remote folder; `commit` names the file that a build writes last."""
    place = path if storage.is_object(path) else os.path.realpath(path)
    return Folder(path, place, commit, storage.read(os.path.join(place, commit)), cache)


def open_pinned(
    paths: Sequence[str],
    cache: Callable[[], ShardCache],
    digests: Sequence[str],
    explain: Callable[[str], DatasetChangedError] = changed,
    shown: Sequence[str] = (),
) -> Files:
    """Open local or remote files, each with its sha256 or "", for reads by offset.

    `shown` are the paths of local files for messages, if they differ.

    Raises:
        FileNotFoundError: A file does not exist.
        DatasetDamagedError, BeamTFRecordsError: As in `LocalFiles`, `objects.describe`.
    """
    if not any(map(storage.is_object, paths)):
        return LocalFiles(paths, explain, shown)
    files = []
    for path, file, sha256 in zip(paths, objects.describe(paths), digests, strict=True):
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "No such object", path)
        files.append(dataclasses.replace(file, sha256=sha256))
    return RemoteFiles(files, cache(), explain)


class RemoteFiles:
    """Files on a store, as `store.pinned_files.Files`, read from complete copies in a cache.

    A range is read from the store if there is no copy and little of the file has been requested so
    far, or if copies of all files do not fit into the cache.
    """

    is_remote = True
    paths_stay = True

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
        self._fit_cache = self.fits(sum(file.num_bytes for file in files))
        self._wanted = [0] * len(files)  # requested bytes per file
        self._pool = ThreadPoolExecutor(_FETCHED_AT_ONCE, "fetch-shards")

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
        paths = {number: self._cache.find(self._files[number]) for number in numbers}
        missing = [number for number, path in paths.items() if path is None]
        paths |= zip(missing, self._pool.map(self._fetched, missing), strict=True)
        return [str(path) for path in paths.values()]

    def fits(self, num_bytes: int) -> bool:
        return num_bytes <= self._cache.max_bytes

    def fetch_ahead(self, numbers: Sequence[int]) -> None:
        # Those that are there are marked as used before copies of others take their space.
        ahead = iter([each for each in numbers if not self._cache.find(self._files[each])])
        for _ in range(_FETCHED_AT_ONCE):
            self._pool.submit(self._fetch_next, ahead)

    def _fetch_next(self, numbers: Iterator[int]) -> None:
        """Copy the next of these files, and then another; `paths` raises the errors.

        One after the other, so that a process that ends waits for no more than those begun.
        """
        for number in itertools.islice(numbers, 1):
            self._cache.fetch(self._files[number])
            self._pool.submit(self._fetch_next, numbers)

    def _fetched(self, number: int) -> str:
        try:
            return self._cache.fetch(self._files[number])
        except DatasetChangedError as error:
            raise self._explain(self.names[number]) from error

    def renew(self, number: int) -> bool:
        return self._cache.discard_damaged(self._files[number])
