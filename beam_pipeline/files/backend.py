"""Protocol of a file backend, local or remote."""

import abc
import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from beam_pipeline.files.faults import as_record_error
from tfrecord_dataset.store.listing import FileNames, FolderNames, Status
from tfrecord_dataset.store.threads import run_in_threads


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
