"""Reading of files: a file's own fault rejects its record, any other fault fails the job."""

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
"""A function that reads a FileRef of limited size, such as `read_bytes`."""


def read_bytes(file: FileRef, at_most: int = sys.maxsize) -> bytes:
    """Read the bytes that `file` refers to.

    Args:
        file: A range of a file.
        at_most: Size limit in bytes; a longer range is not read at all.

    Raises:
        RecordError: "missing file", "unreadable file", "truncated file" if the file ends within
            the range, or "file too large". The detail names the file without its folders: it goes
            into rejects.jsonl, which must not reveal the input's location.
        OSError: Reading failed for another reason, even after retries.
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
    """Reader of files that fetches neighbouring ranges together.

    Args:
        files: The files to read, as far as known. Ranges of one remote file that are close together
            are fetched in one request, and kept as long as this reader.
    """

    def __init__(self, files: Iterable[FileRef] = ()):
        ranges = [remote_range for file in files if (remote_range := _remote_range(file))]
        self._held: Any = None
        if len(ranges) > 1:
            from beam_pipeline.files import remote

            self._held = remote.Ranges(ranges)

    def read(self, file: FileRef, at_most: int = sys.maxsize) -> bytes:
        """As `read_bytes`."""
        data = self._fetched(file, at_most)
        return read_bytes(file, at_most) if data is None else data

    def _fetched(self, file: FileRef, at_most: int) -> bytes | None:
        """Return bytes that were fetched ahead, or None."""
        remote_range = _remote_range(file) if self._held else None
        data: bytes | None = (
            self._held.get(*remote_range) if remote_range and remote_range[2] <= at_most else None
        )
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
    """Return (URL, offset, length) of the range to fetch for `file`; None if it is unknown."""
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
    """Raise RecordError for a path that no system allows; annotations may contain anything."""
    if "\0" in path:
        raise RecordError("missing file", f"{path.rpartition('/')[2]!r} has a NUL in its name")


def _reject(error: OSError | UnknownSchemeError, path: str) -> None:
    """Raise the fault as a RecordError if it is the file's own."""
    reject = as_record_error(error, path)
    try:
        if reject:
            raise reject from error
    finally:
        del reject  # breaks the reference cycle with this frame


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open the file at `path` as a seekable handle, without decompression.

    Errors inside the context are taken for the file's fault, so do not write in it.

    Raises:
        RecordError: "missing file" or "unreadable file".
        OSError: Reading failed for another reason, even after retries.
    """
    with _faults_of(path), files_of(path).open_reader(path) as handle:
        yield handle


@contextlib.contextmanager
def decompressed(path: str, ending: str = "") -> Iterator[Any]:
    """Open the file at `path`, buffered and decompressed.

    Args:
        path: The file.
        ending: The suffix of its compression; "" takes it from the path.

    Raises:
        RecordError, OSError: As in `opened`. For a compressed file, `read` raises RecordError
            "truncated file", "damaged file", or "file too large" if the content is far larger than
            the file.
    """
    with opened(path) as raw, io.BufferedReader(raw, _BUFFER_BYTES) as handle:
        if ending := ending or suffix_of(path):
            with unpacking(handle, path, ending) as content:
                yield content
        else:
            yield handle


def read_start(path: str, length: int) -> bytes:
    """Read the first `length` bytes of a file, fewer if it is shorter.

    Raises:
        RecordError, OSError: As in `read_bytes`.
    """
    with _faults_of(path):
        return files_of(path).read(path, 0, length, length)


def sha256_of(path: str) -> str:
    """Hex digest of a file of any size.

    Raises:
        RecordError, OSError: As in `opened`.
    """
    with opened(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read_text(path: str, at_most: int = sys.maxsize) -> str:
    """Read a UTF-8 text file of limited size, with or without a byte order mark.

    Raises:
        RecordError: "missing file", "unreadable file", "file too large", or "not UTF-8".
    """
    return decoded(read_bytes(FileRef(path=path), at_most), path)


def decoded(data: bytes, path: str) -> str:
    """Decode the UTF-8 text of the file at `path`, with or without a byte order mark.

    Raises:
        RecordError: "not UTF-8".
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError("not UTF-8", f"{path.rpartition('/')[2]}: {error}") from error


def version(path: str) -> str:
    """Return the version of a file: its size and when it changed.

    Raises:
        RecordError: "missing file" or "unreadable file".
    """
    with _faults_of(path):
        return files_of(path).status(path).version
