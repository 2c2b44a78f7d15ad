"""Local files that are regular: a pipe, a device or a folder in their place is an error."""

import contextlib
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator


def descriptor_of(path: str | os.PathLike[str], folder: int | None = None) -> int:
    """A descriptor to read a file, as `descriptor_with_facts`."""
    return descriptor_with_facts(path, folder)[0]


def descriptor_with_facts(
    path: str | os.PathLike[str], folder: int | None = None
) -> tuple[int, os.stat_result]:
    """A descriptor to read a file, which the caller closes, and its status; waits for no pipe.

    Args:
        path: Of the file.
        folder: A descriptor of the folder that the path is relative to.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    try:
        # A pipe that nobody writes to would not open.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device that is not there
            raise _irregular(path) from error
        raise
    facts = os.fstat(descriptor)
    if stat.S_ISREG(facts.st_mode):
        return descriptor, facts
    os.close(descriptor)
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise _irregular(path)


def _irregular(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "Not a regular file", os.fspath(path))


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], folder: int | None = None) -> Iterator[io.BufferedReader]:
    """A handle to read a file, as `descriptor_of`."""
    with open(descriptor_of(path, folder), "rb") as handle:
        yield handle


def read(path: str | os.PathLike[str], max_bytes: int, folder: int | None = None) -> bytes:
    """The content of a file.

    Args:
        path: Of the file.
        max_bytes: That it may have.
        folder: A descriptor of the folder that the path is relative to.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger.
    """
    with opened(path, folder) as handle:
        size = os.fstat(handle.fileno()).st_size
        if size > max_bytes:
            reason = f"it has {size:,} bytes, more than the {max_bytes:,} that are read"
            raise OSError(errno.EFBIG, reason, os.fspath(path))
        return handle.read(max_bytes)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Hex digest of a file of any size.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    with opened(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
