"""Files by path, local or remote; remote ones go through Beam's FileSystems.

Local paths take the short way through the standard library: opening 50,000 small files with
FileSystems costs three times what `open` does, and worker processes that read local files
alone need not load Beam (0.8 s, 100 MB).
"""

import concurrent.futures
import contextlib
import hashlib
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files.listing import StoredFile as StoredFile
from beam_pipeline.files.listing import list_files as list_files
from beam_pipeline.files.listing import match_files as match_files
from beam_pipeline.files.urls import file_systems, local_path
from beam_pipeline.files.urls import is_remote as is_remote
from beam_pipeline.records import FileRef

# So many calls to a remote store are under way at once: each waits some 50 ms for an answer.
_REMOTE_CALLS = 64

_T = TypeVar("_T")
_U = TypeVar("_U")

# Beam's name for a file that is read and written as it is, whatever its suffix.
_AS_IT_IS = "uncompressed"


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
            base = (
                file_systems(base).join(base, part) if is_remote(base) else os.path.join(base, part)
            )
    return base if is_remote(base) else os.path.normpath(base)


def exists(path: str) -> bool:
    """Whether a file or local folder is there."""
    if not is_remote(path):
        return os.path.exists(path)
    return bool(file_systems(path).exists(path))


def is_directory(path: str) -> bool:
    """Whether `path` is a local folder, or a remote prefix with anything below it."""
    if not is_remote(path):
        return os.path.isdir(path)
    limited = file_systems(path).match([join(path, "*")], limits=[1])
    return bool(limited[0].metadata_list) or any(True for _ in list_files(path))


def read_bytes(file: FileRef, at_most: int = sys.maxsize) -> bytes:
    """The bytes that `file` refers to.

    Args:
        file: A range of a file.
        at_most: Bytes; nothing of a longer range is read.

    Raises:
        RecordError: "missing file" or "unreadable file", "truncated file" where the file ends
            before the range does, or "file too large". The detail names the file without its
            folders: it goes into rejects.jsonl, which must not tell where the input lay.
    """
    with opened(file.path) as handle:
        data = _read_range(handle, file, at_most)
    if file.length is not None and len(data) != file.length:
        raise RecordError(
            "truncated file",
            f"{file.path.rpartition('/')[2]} ends {file.length - len(data)} bytes before byte "
            f"{file.offset + file.length}",
        )
    return data


def sha256_of(path: str) -> str:
    """Hex digest of a file of any size.

    Raises:
        RecordError: As `read_bytes`.
    """
    digest = hashlib.sha256()
    with opened(path) as handle:
        while data := handle.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """The file at `path`, to read and to seek in; it is read as it is, whatever its suffix.

    What fails until it is closed becomes a RecordError: "missing file" or "unreadable file".
    So nothing is to be written meanwhile: a full disk is no fault of the file that is read.
    """
    name = path.rstrip("/").rpartition("/")[2]
    try:
        if is_remote(path):
            with file_systems(path).open(path, compression_type=_AS_IT_IS) as handle:
                yield handle
        else:
            with open(path, "rb", buffering=0) as handle:
                yield handle
    except FileNotFoundError as error:
        raise RecordError("missing file", name) from error
    except ConfigError as error:
        raise RecordError("unreadable file", f"{name}: {error}") from error
    except OSError as error:
        if is_remote(path) and not exists(path):
            raise RecordError("missing file", name) from error
        raise RecordError("unreadable file", f"{name}: {error.strerror or error}") from error


def _read_range(handle, file: FileRef, at_most: int) -> bytes:  # type: ignore[no-untyped-def]
    length = -1 if file.length is None else file.length
    if at_most < sys.maxsize:
        handle.seek(0, os.SEEK_END)
        there = handle.tell() - file.offset
        if min(there, length if length >= 0 else there) > at_most:
            raise RecordError(
                "file too large", f"{file.path.rpartition('/')[2]} has over {at_most:,} bytes"
            )
        handle.seek(0)
    if file.offset:
        handle.seek(file.offset)
    return bytes(handle.read(length))


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


def make_dirs(path: str) -> None:
    """Makes a folder and those above it, where they are missing."""
    if is_remote(path):
        with contextlib.suppress(OSError):  # it is there, or needs no making
            file_systems(path).mkdirs(path)
    else:
        os.makedirs(path, exist_ok=True)


def write_bytes(path: str, data: bytes) -> None:
    """Writes a file whole; a reader sees all of it or, if it was new, nothing."""
    if is_remote(path):  # objects appear when they are complete
        with file_systems(path).create(path, compression_type=_AS_IT_IS) as handle:
            handle.write(data)
        return
    with writing(path) as handle:
        handle.write(data)


@contextlib.contextmanager
def writing(path: str) -> Iterator[Any]:
    """A new file, written piece by piece; it lies at `path` once all of it is written.

    Whatever fails before leaves nothing there.
    """
    make_dirs(path.rpartition("/")[0])
    temporary = f"{path}.{uuid.uuid4().hex}.partial"
    try:
        with (
            file_systems(temporary).create(temporary, compression_type=_AS_IT_IS)
            if is_remote(path)
            else open(temporary, "wb")
        ) as handle:
            yield handle
        move(temporary, path)
    except BaseException:
        delete([temporary])
        raise


def version(path: str) -> str:
    """What tells one state of a file from the next: its size and when it changed.

    Raises:
        RecordError: "missing file" or "unreadable file".
    """
    with opened(path) as handle:
        if is_remote(path):
            [match] = file_systems(path).match([path])
            [metadata] = match.metadata_list
            return f"{metadata.size_in_bytes} {metadata.last_updated_in_seconds}"
        status = os.fstat(handle.fileno())
        return f"{status.st_size} {status.st_mtime_ns}"


def move(source: str, destination: str) -> None:
    """Renames a file; done already (source gone, destination there) is done."""
    if not exists(source) and exists(destination):
        return
    make_dirs(destination.rpartition("/")[0])
    if is_remote(source):
        file_systems(source).rename([source], [destination])
    else:
        os.replace(source, destination)


def delete(paths: Iterable[str]) -> None:
    """Deletes files and folders with all they hold; those that are not there stay so."""
    for path in paths:
        if is_remote(path):
            if exists(path):
                file_systems(path).delete([path])
        else:
            with contextlib.suppress(FileNotFoundError):
                (shutil.rmtree if os.path.isdir(path) else os.remove)(path)


def move_all(pairs: Iterable[tuple[str, str]]) -> None:
    """Renames files, many at once.

    Args:
        pairs: (source, destination), each as in `move`. A pair that is done already (source gone,
            destination there) is done, so that the whole may be repeated.

    Raises:
        OSError: The first that failed; the others were tried, too.
    """
    _at_once(lambda pair: move(*pair), pairs)


def delete_all(paths: Iterable[str]) -> None:
    """Deletes files, many at once; those that are not there stay so.

    Raises:
        OSError: The first that failed; the others were tried, too.
    """
    _at_once(lambda path: delete([path]), paths)


def size(path: str) -> int | None:
    """The bytes of a file, or None where there is none."""
    if not is_remote(path):
        try:
            return os.stat(path).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
    matches = file_systems(path).match([path])
    return next((int(each.size_in_bytes) for each in matches[0].metadata_list), None)


def sizes(paths: Iterable[str]) -> list[int | None]:
    """`size` of each file, in their order, asked for many at once."""
    return _at_once(size, paths)


def _at_once(call: Callable[[_T], _U], items: Iterable[_T]) -> list[_U]:
    with concurrent.futures.ThreadPoolExecutor(_REMOTE_CALLS) as pool:
        calls = [pool.submit(call, item) for item in items]
        return [each.result() for each in calls]


def list_dir(path: str) -> list[str]:
    """The names of files in a folder, hidden ones too, sorted; none where there is no folder."""
    if not is_remote(path):
        return sorted(os.listdir(path)) if os.path.isdir(path) else []
    names: set[str] = set()
    for match in file_systems(path).match([join(path, "*")]):
        names.update(metadata.path[len(path) :].lstrip("/") for metadata in match.metadata_list)
    return sorted(names)
