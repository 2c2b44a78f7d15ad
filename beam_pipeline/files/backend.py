"""The protocol of files by path: what is asked of those of one kind, local or remote."""

import abc
import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from beam_pipeline.files.faults import as_record_error
from tfrecord_dataset.store.at_once import at_once
from tfrecord_dataset.store.listing import FileNames, FolderNames, Status


class Backend(abc.ABC):
    """Files of one kind; `durable` files outlive a loss of power.

    It speaks in OSErrors; `reading` says which of these reject a record.

    Attributes:
        calls: So many wait for their answers at once.
    """

    calls: int

    @abc.abstractmethod
    def read(self, path: str, offset: int, length: int | None, at_most: int) -> bytes:
        """The bytes of a range, fewer where the file ends before it does."""

    @abc.abstractmethod
    def open_reader(self, path: str) -> Any:
        """A handle to read and to seek in, and a context manager."""

    @abc.abstractmethod
    def writing(self, path: str, durable: bool, is_new: bool) -> AbstractContextManager[Any]:
        """A handle of a new file, which lies at `path` once all of it is written."""

    def sync(self, paths: Sequence[str]) -> None:
        """Makes files that were written durable, with their names; remote ones are."""
        del paths

    @abc.abstractmethod
    def status(self, path: str) -> Status:
        """Size and version of a file."""

    def exists(self, path: str) -> bool:
        """Whether a file is there; who may not list a folder is denied what is not there."""
        try:
            self.status(path)
        except OSError as error:
            if as_record_error(error, path):
                return False
            raise
        return True

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """The bytes of each file, or None where there is none."""
        return at_once(self._size, paths, self.calls)

    def _size(self, path: str) -> int | None:
        try:
            return self.status(path).size
        except FileNotFoundError:
            return None

    @abc.abstractmethod
    def is_folder(self, path: str, /) -> bool:
        """Whether a folder is there."""

    @abc.abstractmethod
    def make_folder(self, path: str) -> None:
        """Makes a folder and those above it, where they are missing."""

    @abc.abstractmethod
    def list_names(self, root: str) -> Iterator[FileNames]:
        """Every file below a folder, without hidden ones and litter; folder by folder."""

    @abc.abstractmethod
    def scan_folder(self, path: str, /) -> Iterator[tuple[str, bool]]:
        """The name of what a folder holds, hidden ones too, and whether it is a folder itself."""

    def list_folder(self, path: str, /) -> FolderNames:
        """The names of what a folder holds; none where there is no folder."""
        names = sorted(self.scan_folder(path))
        return FolderNames(
            tuple(name for name, is_folder in names if is_folder),
            tuple(name for name, is_folder in names if not is_folder),
        )

    @abc.abstractmethod
    def match_files(self, pattern: str) -> list[str]:
        """The paths of the files that fit a pattern."""

    def delete_all(self, paths: Sequence[str]) -> None:
        """Deletes files that may be there."""
        at_once(self._delete_file, paths, self.calls)

    def _delete_file(self, path: str) -> None:
        """Deletes a file that may be there."""
        with contextlib.suppress(FileNotFoundError):
            self.delete(path)

    @abc.abstractmethod
    def delete(self, path: str) -> None:
        """Deletes a file, or a folder with all it holds, that may be there."""
