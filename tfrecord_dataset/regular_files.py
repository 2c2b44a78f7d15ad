"""Opens local files, and refuses pipes, devices and folders in their place."""

import contextlib
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator


def descriptor_of(path: str | os.PathLike[str]) -> int:
    """Open a file for reading, like `descriptor_with_facts`."""
    return descriptor_with_facts(path)[0]


def descriptor_with_facts(path: str | os.PathLike[str]) -> tuple[int, os.stat_result]:
    """Open a regular file for reading, and return its descriptor and status; never blocks.

    The caller closes the descriptor.

    Raises:
        OSError: The file cannot be opened, or is not a regular file.
    """
    try:
        # A pipe without a writer would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a missing device
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
def opened(path: str | os.PathLike[str]) -> Iterator[io.BufferedReader]:
    """Open a handle for reading, like `descriptor_of`."""
    with open(descriptor_of(path), "rb") as handle:
        yield handle


def read_bytes(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Read a file, opened by `descriptor_of`.

    Raises:
        OSError: The file cannot be read, is not a regular file, or is too large.
    """
    with opened(path) as handle:
        size = os.fstat(handle.fileno()).st_size
        if size > max_bytes:
            reason = f"it has {size:,} bytes, more than the {max_bytes:,} that are read"
            raise OSError(errno.EFBIG, reason, os.fspath(path))
        return handle.read(max_bytes)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the hex digest of a file of any size.

    Raises:
        OSError: The file cannot be read, or is not a regular file.
    """
    with opened(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
