"""Reading files: what is a file's own fault rejects a record, any other fault fails the job."""

import contextlib
import hashlib
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.content import span, whole
from beam_pipeline.files.archive.paths import inside
from beam_pipeline.files.backends import files_of
from beam_pipeline.files.compressed import suffix_of, unpacking
from beam_pipeline.files.faults import UnknownSchemeError, as_record_error
from beam_pipeline.records import FileRef
from tfrecord_dataset.store.urls import is_object

_BUFFER_BYTES = 1 << 18

ReadFile = Callable[..., bytes]
"""What reads a FileRef of at most so many bytes, as `read_bytes` does."""


def read_bytes(file: FileRef, at_most: int = sys.maxsize) -> bytes:
    """The bytes that `file` refers to.

    Args:
        file: A range of a file.
        at_most: Bytes; nothing of a longer range is read.

    Raises:
        RecordError: "missing file" or "unreadable file", "truncated file" where the file ends
            before the range does, or "file too large". The detail names the file without its
            folders: it goes into rejects.jsonl, which must not tell where the input lay.
        OSError: Reading failed for another reason, and again when it was tried again.
    """
    _check_name(file.path)
    try:
        data = files_of(file.path).read(file.path, file.offset, file.length, at_most)
    except (OSError, UnknownSchemeError) as error:
        _reject(error, file.path)
        raise
    if file.length is not None and len(data) != file.length:
        raise _truncated(file.path, file.offset, file.length, data)
    return data


class Reader:
    """Reads files, those near each other together.

    Args:
        files: What will be read, as far as that is known. Ranges of one remote file that lie close
            together are fetched at once, and held for as long as this reader is.
    """

    def __init__(self, files: Iterable[FileRef] = ()):
        ranges = [found for file in files if (found := _remote_range(file))]
        self._held: Any = None
        if len(ranges) > 1:
            from beam_pipeline.files import remote

            self._held = remote.Ranges(ranges)

    def read(self, file: FileRef, at_most: int = sys.maxsize) -> bytes:
        """As `read_bytes`."""
        data = self._fetched(file, at_most)
        return read_bytes(file, at_most) if data is None else data

    def _fetched(self, file: FileRef, at_most: int) -> bytes | None:
        """What was fetched together with others; None where it was not."""
        found = _remote_range(file) if self._held else None
        data: bytes | None = self._held.get(*found) if found and found[2] <= at_most else None
        where = inside(file.path)
        place = where.place if where else None
        if data is None or where is None or place is None:
            return data
        head, archive, begin = data, where.archive, place.offset

        def read(offset: int, length: int) -> bytes:
            if offset == begin:
                return head
            return files_of(archive).read(archive, offset, length, length)

        return whole(place, file.path.rpartition("/")[2], read)


def _remote_range(file: FileRef) -> tuple[str, int, int] | None:
    """(URL, offset, length) of what is read of a store for `file`; None where that is not known."""
    if ":" not in file.path or "\0" in file.path:
        return None
    where = inside(file.path)
    if where is None:
        is_known = file.length is not None and is_object(file.path)
        return (file.path, file.offset, file.length or 0) if is_known else None
    if where.place is None or not is_object(where.archive):
        return None
    is_whole = file.offset == 0 and file.length in (None, where.place.length)
    return (where.archive, *span(where.place)) if is_whole else None


def _truncated(path: str, offset: int, length: int, data: bytes) -> RecordError:
    return RecordError(
        "truncated file",
        f"{path.rpartition('/')[2]} ends {length - len(data)} bytes before byte {offset + length}",
    )


@contextlib.contextmanager
def _faults_of(path: str) -> Iterator[None]:
    _check_name(path)
    try:
        yield
    except (OSError, UnknownSchemeError) as error:
        _reject(error, path)
        raise


def _check_name(path: str) -> None:
    """Raises RecordError for a path that no system has; an annotation may state anything."""
    if "\0" in path:
        raise RecordError("missing file", f"{path.rpartition('/')[2]!r} has a NUL in its name")


def _reject(error: OSError | UnknownSchemeError, path: str) -> None:
    """Raises the RecordError that a file's own fault is, if it is one."""
    reject = as_record_error(error, path)
    try:
        if reject:
            raise reject from error
    finally:
        del reject  # it holds this frame, and would be held by it


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """The file at `path`, to read and to seek in; it is read as it is, whatever its suffix.

    What fails until it is closed is taken for the file's fault. So nothing is to be written
    meanwhile.

    Raises:
        RecordError: "missing file" or "unreadable file".
        OSError: Reading failed for another reason, and again when it was tried again.
    """
    with _faults_of(path), files_of(path).open_reader(path) as handle:
        yield handle


@contextlib.contextmanager
def decompressed(path: str, ending: str = "") -> Iterator[Any]:
    """The file at `path`, buffered, to read; where it is compressed, what was.

    Args:
        path: The file.
        ending: The suffix that says how it is compressed; "" believes its name.

    Raises:
        RecordError, OSError: As `opened`. Its `read` raises, where the file is compressed,
            RecordError: "truncated file", "damaged file", or "file too large", where it is far
            larger than its file.
    """
    with opened(path) as raw, io.BufferedReader(raw, _BUFFER_BYTES) as handle:
        if ending := ending or suffix_of(path):
            with unpacking(handle, path, ending) as content:
                yield content
        else:
            yield handle


def read_start(path: str, length: int) -> bytes:
    """The first `length` bytes of a file, fewer where it has no more.

    Raises:
        RecordError, OSError: As `read_bytes`.
    """
    with _faults_of(path):
        return files_of(path).read(path, 0, length, length)


def sha256_of(path: str) -> str:
    """Hex digest of a file of any size.

    Raises:
        RecordError, OSError: As `opened`.
    """
    with opened(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read_text(path: str, at_most: int = sys.maxsize) -> str:
    """A UTF-8 text file of at most so many bytes, with or without a byte order mark.

    Raises:
        RecordError: "missing file", "unreadable file", "file too large", or "not UTF-8".
    """
    return decoded(read_bytes(FileRef(path=path), at_most), path)


def decoded(data: bytes, path: str) -> str:
    """The text of the UTF-8 file at `path`, with or without a byte order mark.

    Raises:
        RecordError: "not UTF-8".
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError("not UTF-8", f"{path.rpartition('/')[2]}: {error}") from error


def version(path: str) -> str:
    """What tells one state of a file from the next: its size and when it changed.

    Raises:
        RecordError: "missing file" or "unreadable file".
    """
    with _faults_of(path):
        return files_of(path).status(path).version
