"""Read and write files by path, local or remote.

Local paths go to the operating system; gs://, s3://, az:// and http(s):// to a store library that
reads exact ranges. Workers that read only local files do not load it. When reading, a file's own
fault rejects its record, and any other fault fails the job.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.archive_backend import Archives
from beam_pipeline.files.archive.content import span, whole
from beam_pipeline.files.archive.member_paths import inside
from beam_pipeline.files.backend import Backend, UnknownSchemeError, as_record_error
from beam_pipeline.files.compressed import suffix_of, unpacking
from beam_pipeline.files.local import LOCAL
from beam_pipeline.records import FileRef
from tfrecord_dataset.format.frames import FRAME_BYTES, MAX_PAYLOAD_BYTES
from tfrecord_dataset.store.listing import NAMES_AT_ONCE as NAMES_AT_ONCE
from tfrecord_dataset.store.listing import FileNames as FileNames
from tfrecord_dataset.store.listing import FolderNames as FolderNames
from tfrecord_dataset.store.listing import KeyRange as KeyRange
from tfrecord_dataset.store.listing import Status as Status
from tfrecord_dataset.store.listing import StoredFile as StoredFile
from tfrecord_dataset.store.listing import is_litter, paths_in
from tfrecord_dataset.store.urls import is_object, join_url, local_path, scheme_of
from tfrecord_dataset.store.urls import is_remote as is_remote

_BUFFER_BYTES = 1 << 18
# The largest record with its frame, and so the largest single read.
_MAX_BYTES = MAX_PAYLOAD_BYTES + FRAME_BYTES

ReadFile = Callable[..., bytes]
"""A function that reads a FileRef of limited size, such as `read_bytes`."""


def files_of(path: str) -> Backend:
    """Return the backend of a path; the store library is imported on first use.

    Raises:
        UnknownSchemeError: No backend supports the path's scheme.
    """
    if ":" in path and inside(path):
        return ARCHIVES
    if not is_remote(path):
        return LOCAL
    if not is_object(path):
        raise UnknownSchemeError(
            f"{scheme_of(path)}:// is not supported; copy the data to a folder or a "
            "bucket (gs://, s3://, az://)"
        )
    from beam_pipeline.files.remote import REMOTE

    return REMOTE


ARCHIVES = Archives(files_of)


def absolute(path: str | os.PathLike[str]) -> str:
    """Make a user's path absolute and expand `~`, so that workers elsewhere can open it."""
    path = local_path(os.fspath(path))
    return path if is_remote(path) else os.path.abspath(os.path.expanduser(path))  # keeps links


def join(base: str, *parts: str) -> str:
    """Join `parts` to `base`; an absolute part replaces `base`, as in os.path.join."""
    for part in map(local_path, parts):
        if is_remote(part) or part.startswith("/"):
            base = part
        else:
            base = join_url(base, part) if is_remote(base) else os.path.join(base, part)
    return base if is_remote(base) else os.path.normpath(base)


def read_bytes(file: FileRef, at_most: int = _MAX_BYTES) -> bytes:
    """Read the bytes that `file` refers to; refuse a range of more than `at_most` bytes.

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
        name, end = file.path.rpartition("/")[2], file.offset + file.length
        missing = file.length - len(data)
        raise RecordError("truncated file", f"{name} ends {missing} bytes before byte {end}")
    return data


class PrefetchingReader:
    """Reader that prefetches ranges of remote `files`, neighbouring ones with one request."""

    def __init__(self, files: Iterable[FileRef] = ()):
        ranges = [remote_range for file in files if (remote_range := _remote_range(file))]
        self._held: Any = None
        if len(ranges) > 1:
            from beam_pipeline.files import remote

            self._held = remote.Ranges(ranges)

    def read(self, file: FileRef, at_most: int = _MAX_BYTES) -> bytes:
        """Like `read_bytes`."""
        data = self._fetched(file, at_most)
        return read_bytes(file, at_most) if data is None else data

    def _fetched(self, file: FileRef, at_most: int) -> bytes | None:
        """Return prefetched bytes, or None."""
        remote_range = _remote_range(file) if self._held else None
        if not remote_range or remote_range[2] > at_most:
            return None
        archive, begin, _ = remote_range
        head: bytes | None = self._held.get(*remote_range)
        where = inside(file.path)
        if head is None or where is None or where.place is None:
            return head

        def read(offset: int, length: int) -> bytes:
            if offset == begin:
                return head
            return files_of(archive).read(archive, offset, length, length)

        return whole(where.place, file.path.rpartition("/")[2], read)


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

    Errors raised inside the context count as the file's fault, so do not write there.

    Raises:
        RecordError: "missing file" or "unreadable file".
        OSError: Reading failed for another reason, even after retries.
    """
    with _faults_of(path), files_of(path).open_reader(path) as handle:
        yield handle


@contextlib.contextmanager
def decompressed(path: str, ending: str = "") -> Iterator[Any]:
    """Open the file at `path`, buffered, and decompress it by its suffix or by `ending`.

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
    """Read the first `length` bytes of a file, or all if shorter; raises as `read_bytes`."""
    with _faults_of(path):
        return files_of(path).read(path, 0, length, length)


def sha256_of(path: str) -> str:
    """Return the hex digest of a file of any size; raises as `opened`."""
    with opened(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read_text(path: str, at_most: int = _MAX_BYTES) -> str:
    """Read a file of limited size as `decoded` text; raises as `read_bytes`."""
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
    """Return the version of a file, its size and when it changed; raises as `opened`."""
    with _faults_of(path):
        return files_of(path).status(path).version


def exists(path: str) -> bool:
    """Whether a file or local folder exists."""
    return files_of(path).exists(path)


def is_directory(path: str) -> bool:
    """Whether `path` is a local folder or a non-empty remote prefix."""
    return files_of(path).is_folder(path)


def list_files(root: str) -> Iterator[StoredFile]:
    """Yield all files below `root`, without hidden files and those of operating systems.

    Links are followed; a broken link is listed as a file, so that its reader reports it. Files are
    in the file system's order.

    Raises:
        FileNotFoundError: `root` is not a local folder.
    """
    top, parts = root.rstrip("/"), list_names(root)  # raises here, not at the first file
    return (StoredFile(path=f"{top}/{path}", relative=path) for path in paths_in(parts))


def list_names(root: str, ranges: Sequence[KeyRange] | None = None) -> Iterator[FileNames]:
    """Yield the files of `list_files` as names per folder, a few hundred at a time.

    `ranges` are those of the keys of a store to list, from `list_parts`.
    """
    if ranges is None:
        return files_of(root).list_names(root)
    from tfrecord_dataset.store import objects

    return objects.list_names(root, ranges)


def list_parts(url: str) -> Iterator[FileNames | KeyRange]:
    """Yield the files below a URL until many ranges of keys are left, and then these."""
    from tfrecord_dataset.store import objects

    return objects.list_parts(url)


def scan_folder(path: str) -> Iterator[tuple[str, bool]]:
    """Yield (name, whether it is a folder) for a folder's entries, filtered as in `list_files`.

    The order is arbitrary; a missing folder has no entries.
    """
    return (entry for entry in files_of(path).scan_folder(path) if not is_litter(entry[0]))


def list_folder(path: str) -> FolderNames:
    """Sorted names of the folders and files of one level, filtered as in `list_files`.

    Empty if the folder is missing.
    """
    names = files_of(path).list_folder(path)
    return FolderNames(*(tuple(name for name in each if not is_litter(name)) for each in names))


def list_dir(path: str) -> list[str]:
    """Sorted names of all entries of a folder, including hidden ones; empty if it is missing."""
    folders, files = files_of(path).list_folder(path)
    return sorted({*folders, *files})


def match_files(pattern: str) -> list[str]:
    """Sorted paths of the files that match `pattern`; hidden files do not match.

    `*`, `?` and `[abc]` match within one name, `**` matches folders, as in a shell.
    """
    paths = files_of(pattern).match_files(pattern)
    return sorted(path for path in paths if not is_litter(path.rpartition("/")[2]))


def make_dirs(path: str) -> None:
    """Create a folder and its missing parents."""
    files_of(path).make_folder(path)


def write_bytes(path: str, data: bytes, *, durable: bool = False, is_new: bool = False) -> None:
    """Write a file as `writing` does: readers see the complete new file or the previous one."""
    with writing(path, durable=durable, is_new=is_new) as handle:
        handle.write(data)


def writing(
    path: str, *, durable: bool = False, is_new: bool = False
) -> AbstractContextManager[Any]:
    """Open a new file for writing; it appears at `path`, in new folders, once it is complete.

    Args:
        durable: Whether the complete file survives a power loss. Remote files always do.
        is_new: Whether to keep an existing object, and raise FileExistsError at the end unless
            its content is the same. Local files are always replaced.
    """
    return files_of(path).writing(path, durable, is_new)


def statuses(folder: str) -> dict[str, Status]:
    """Size and version of each object directly below a URL, by name, in one listing."""
    from beam_pipeline.files import remote

    return remote.statuses(folder)


def put_new(file: str, url: str) -> str:
    """Upload a local file, as `writing` does with `is_new`; return its version in `statuses`."""
    from beam_pipeline.files.remote import put_file
    from tfrecord_dataset.store import requests

    with open(file, "rb") as handle:
        return put_file(handle, url, requests.put_new)


def sync(paths: Iterable[str]) -> None:
    """Wait until written files of one store survive a power loss."""
    if paths := list(paths):
        files_of(paths[0]).sync(paths)


def delete(paths: Iterable[str]) -> None:
    """Delete files and folders with their content; missing ones are ignored."""
    for path in paths:
        files_of(path).delete(path)


def delete_all(paths: Iterable[str]) -> None:
    """Delete files of one store in parallel; missing ones are ignored.

    Raises:
        OSError: The first failure, after all were tried.
    """
    if paths := list(paths):
        files_of(paths[0]).delete_all(paths)


def size(path: str) -> int | None:
    """Size of a file in bytes; None if it is missing."""
    return sizes([path])[0]


def sizes(paths: Iterable[str]) -> list[int | None]:
    """Size of each file of one store, in parallel; None for a missing one."""
    paths = list(paths)
    return files_of(paths[0]).sizes(paths) if paths else []


def resolved(path: str) -> str:
    """Add the location to the path of a file in an archive; other paths are unchanged."""
    return ARCHIVES.resolved(path) if ":" in path and inside(path) else path


def is_compressed(path: str) -> bool:
    """Whether a file is compressed, by its suffix or in its archive; raises as `is_deflated`."""
    return bool(suffix_of(path)) or is_deflated(path)


def is_deflated(path: str) -> bool:
    """Whether a file is compressed in its archive, so that a range takes all bytes before it.

    Raises:
        RecordError: "missing file", or the archive cannot be read.
    """
    return ARCHIVES.is_deflated(path) if ":" in path and inside(path) else False
