"""Files by path, local or remote: every file that this package reads or writes.

Local paths go to the operating system; gs://, s3://, az:// and http(s):// to a store library that
reads exact ranges; other schemes to Beam's FileSystems. Worker processes that read local files
alone load neither Beam (0.8 s, 100 MB) nor the library.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import local
from beam_pipeline.files.backend import Backend
from beam_pipeline.files.faults import UnknownSchemeError, as_record_error
from beam_pipeline.files.listing import FolderNames as FolderNames
from beam_pipeline.files.listing import StoredFile as StoredFile
from beam_pipeline.files.listing import is_litter
from beam_pipeline.files.urls import OBJECT_SCHEMES, joined, local_path, scheme_of
from beam_pipeline.files.urls import is_remote as is_remote
from beam_pipeline.records import FileRef


def _files_of(path: str) -> Backend:
    if not is_remote(path):
        return local
    if scheme_of(path) in OBJECT_SCHEMES:
        from beam_pipeline.files import remote

        return remote
    from beam_pipeline.files import through_beam

    return through_beam


def absolute(path: str) -> str:
    """`path` as workers with another working directory can open it."""
    path = local_path(path)
    return path if is_remote(path) else os.path.abspath(path)  # keeps links


def join(base: str, *parts: str) -> str:
    """`parts` below `base`; an absolute part stands alone, as with os.path.join."""
    for part in map(local_path, parts):
        if is_remote(part) or part.startswith("/"):
            base = part
        else:
            base = joined(base, part) if is_remote(base) else os.path.join(base, part)
    return base if is_remote(base) else os.path.normpath(base)


def exists(path: str) -> bool:
    """Whether a file or local folder is there."""
    return _files_of(path).exists(path)


def is_directory(path: str) -> bool:
    """Whether `path` is a local folder, or a remote prefix with anything below it."""
    return _files_of(path).is_folder(path)


def list_files(root: str) -> Iterator[StoredFile]:
    """Every file below `root`, but hidden ones and what operating systems leave behind.

    Links to files and folders are followed; one that leads nowhere is a file that cannot be read,
    so that whoever reads it tells of it. The order is the file system's own.

    Raises:
        FileNotFoundError: `root` is not a local folder.
    """
    return _files_of(root).list_files(root)


def list_folder(path: str) -> FolderNames:
    """The names of the folders and files of one level, sorted, but what `list_files` leaves out.

    None where there is no folder.
    """
    names = _files_of(path).list_folder(path)
    return FolderNames(*(tuple(name for name in each if not is_litter(name)) for each in names))


def list_dir(path: str) -> list[str]:
    """The names of what a folder holds, hidden ones too, sorted; none where there is no folder."""
    folders, files = _files_of(path).list_folder(path)
    return sorted({*folders, *files})


def match_files(pattern: str) -> list[str]:
    """The paths of the files that fit `pattern`, sorted; hidden ones do not.

    `*`, `?` and `[abc]` stand for parts of one name, `**` for folders, as in a shell.
    """
    paths = _files_of(pattern).match_files(pattern)
    return sorted(path for path in paths if not is_litter(path.rpartition("/")[2]))


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
    try:
        data = _files_of(file.path).read(file.path, file.offset, file.length, at_most)
    except (OSError, UnknownSchemeError) as error:
        _reject(error, file.path)
        raise
    if file.length is not None and len(data) != file.length:
        raise _truncated(file.path, file.offset, file.length, data)
    return data


def read_ranges(path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """The bytes of each (offset, length) of a file, in their order.

    Remote ranges that lie close together are fetched at once.

    Raises:
        RecordError, OSError: As `read_bytes`.
    """
    with _faults_of(path):
        parts = _files_of(path).read_ranges(path, ranges)
    for (offset, length), data in zip(ranges, parts, strict=True):
        if len(data) != length:
            raise _truncated(path, offset, length, data)
    return parts


def _truncated(path: str, offset: int, length: int, data: bytes) -> RecordError:
    return RecordError(
        "truncated file",
        f"{path.rpartition('/')[2]} ends {length - len(data)} bytes before byte {offset + length}",
    )


@contextlib.contextmanager
def _faults_of(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UnknownSchemeError) as error:
        _reject(error, path)
        raise


def _reject(error: OSError | UnknownSchemeError, path: str) -> None:
    """Raises the RecordError that a file's own fault is, if it is one."""
    if reject := as_record_error(error, path):
        raise reject from error


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """The file at `path`, to read and to seek in; it is read as it is, whatever its suffix.

    What fails until it is closed is taken for the file's fault. So nothing is to be written
    meanwhile.

    Raises:
        RecordError: "missing file" or "unreadable file".
        OSError: Reading failed for another reason, and again when it was tried again.
    """
    with _faults_of(path), _files_of(path).open_reader(path) as handle:
        yield handle


def sha256_of(path: str) -> str:
    """Hex digest of a file of any size.

    Raises:
        RecordError, OSError: As `opened`.
    """
    digest = hashlib.sha256()
    with opened(path) as handle:
        while data := handle.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


def read_text(path: str) -> str:
    """A UTF-8 text file, with or without a byte order mark.

    Raises:
        RecordError: "missing file", "unreadable file", or "not UTF-8".
    """
    data = read_bytes(FileRef(path=path))
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
        return _files_of(path).status(path).version


def make_dirs(path: str) -> None:
    """Makes a folder and those above it, where they are missing."""
    _files_of(path).make_folder(path)


def write_bytes(path: str, data: bytes, *, durable: bool = False) -> None:
    """Writes a file whole; a reader sees all of it or, if it was new, nothing.

    Args:
        path: Where; missing folders are made.
        data: All of the file.
        durable: Whether it is to outlive a loss of power from when this returns. Remote files
            always do.
    """
    _files_of(path).write(path, data, durable)


@contextlib.contextmanager
def writing(path: str, *, durable: bool = False) -> Iterator[Any]:
    """A new file, written piece by piece; it lies at `path` once all of it is written.

    Whatever fails before leaves nothing there.

    Args:
        path: Where; missing folders are made.
        durable: As in `write_bytes`.
    """
    with _files_of(path).writing(path, durable) as handle:
        yield handle


def create(path: str) -> Any:
    """A handle of a new file, to write and close; a local one lies at `path` before that."""
    return _files_of(path).create(path)


def move(source: str, destination: str) -> None:
    """Renames a file; done already (source gone, destination there) is done."""
    _files_of(source).move_all([(source, destination)])


def move_all(pairs: Iterable[tuple[str, str]]) -> None:
    """Renames files of one store, many at once.

    A remote file is copied, and deleted when all are copied.

    Args:
        pairs: (source, destination). A pair that is done already (source gone, destination there)
            is done, so that the whole may be repeated.

    Raises:
        OSError: The first that failed; the others were tried, too.
    """
    if pairs := list(pairs):
        _files_of(pairs[0][0]).move_all(pairs)


def delete(paths: Iterable[str]) -> None:
    """Deletes files and folders with all they hold; those that are not there stay so."""
    for path in paths:
        _files_of(path).delete(path)


def delete_all(paths: Iterable[str]) -> None:
    """Deletes files of one store, many at once; those that are not there stay so.

    Raises:
        OSError: The first that failed; the others were tried, too.
    """
    if paths := list(paths):
        _files_of(paths[0]).delete_all(paths)


def size(path: str) -> int | None:
    """The bytes of a file, or None where there is none."""
    return sizes([path])[0]


def sizes(paths: Iterable[str]) -> list[int | None]:
    """The bytes of each file of one store, or None where there is none; many are asked at once."""
    paths = list(paths)
    return _files_of(paths[0]).sizes(paths) if paths else []
