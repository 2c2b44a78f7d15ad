"""The modules that files go through, one a kind: `local`, `remote`, `through_beam`.

They speak in OSErrors; `reading` says which of these reject a record.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from beam_pipeline.files import local
from tfrecord_dataset.store.listing import FileNames, FolderNames, Status
from tfrecord_dataset.store.urls import is_object, is_remote


class Backend(Protocol):
    """Files of one kind, by path; `durable` files outlive a loss of power."""

    def read(
        self,
        path: str,
        offset: int,
        length: int | None,
        at_most: int,
        note: Callable[[Status], None] | None = None,
        /,
    ) -> bytes:
        """The bytes of a range, fewer where the file ends before it does.

        Args:
            note: Is told the file's status, as it was when it was read or earlier.
        """

    def open_reader(self, path: str, /) -> Any:
        """A handle to read and to seek in, and a context manager."""

    def create(self, path: str, /) -> Any:
        """A handle to write and to close."""

    def writing(self, path: str, durable: bool, /) -> AbstractContextManager[Any]:
        """A handle of a new file, which lies at `path` once all of it is written."""

    def write(self, path: str, data: bytes, durable: bool, /) -> None:
        """Writes a file whole."""

    def sync(self, paths: Sequence[str], /) -> None:
        """Makes files that were written durable, with their names."""

    def status(self, path: str, /) -> Status:
        """Size and version of a file."""

    def exists(self, path: str, /) -> bool:
        """Whether a file is there."""

    def is_folder(self, path: str, /) -> bool:
        """Whether a folder is there."""

    def make_folder(self, path: str, /) -> None:
        """Makes a folder and those above it, where they are missing."""

    def list_names(self, root: str, /) -> Iterator[FileNames]:
        """Every file below a folder, without hidden ones and litter; folder by folder."""

    def scan_folder(self, path: str, /) -> Iterator[tuple[str, bool]]:
        """The name of what a folder holds, hidden ones too, and whether it is a folder itself."""

    def sample_folder(self, path: str, /) -> Iterator[tuple[str, bool]]:
        """As `scan_folder`, but some files may be left out, which an empty name says."""

    def list_folder(self, path: str, /) -> FolderNames:
        """The names of what a folder holds; none where there is no folder."""

    def match_files(self, pattern: str, /) -> list[str]:
        """The paths of the files that fit a pattern."""

    def place_all(self, pairs: Sequence[tuple[str, str]], /) -> None:
        """Gives files a second name, or a new one."""

    def delete_all(self, paths: Sequence[str], /) -> None:
        """Deletes files that may be there."""

    def delete(self, path: str, /) -> None:
        """Deletes a file, or a folder with all it holds, that may be there."""

    def sizes(self, paths: Sequence[str], /) -> list[int | None]:
        """The bytes of each file, or None where there is none."""

    def newest_change(self, folder: str, /) -> float:
        """When a file below a folder changed last, in seconds since 1970; 0 for none."""


def files_of(path: str) -> Backend:
    if not is_remote(path):
        return local
    if is_object(path):
        from beam_pipeline.files import remote

        return remote
    from beam_pipeline.files import through_beam

    return through_beam
